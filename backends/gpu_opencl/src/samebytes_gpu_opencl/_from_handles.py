# SPDX-License-Identifier: Apache-2.0
"""From tensors that have a cl_mem or a USM pointer: OpenVINO's on a GPU, OpenCV's UMats."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from samebytes.errors import DeviceMismatchError, LayoutError, UnknownNameError
from samebytes.plugins import Access, MemoryMapper, Refused, Storage, Tensor, TensorInfo

from ._context import OpenCLContext
from ._images import IMAGE2D, layout_of_image
from ._natives import pinned_buffer
from ._parts import check_extent, sub_buffer
from ._queues import working_queue
from ._usm import wrap_usm_pointer
from ._wrapping import native_over_mem

__all__ = ["HandleToOpenCL"]


class HandleToOpenCL(MemoryMapper):
    """The same cl_mem, with a reference of our own, or the same USM pointer.

    Work that the other framework enqueued on the context's queue is waited for. A context derived
    from the other one has that framework's queue, if it tells it.
    """

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The native over the handle; a sub-buffer where the tensor begins at an offset."""
        context = self.target
        assert isinstance(context, OpenCLContext)
        ours, theirs = context.handle("cl_context"), item.context.handle("cl_context")
        if ours != theirs:
            raise Refused(
                f"it belongs to the cl_context {theirs:#x}, the target is on {ours:#x}: use "
                'source.context.derive("opencl")'
            )
        queue = working_queue(context)
        if not queue.ordered:
            queue.finish()
        try:
            return self._over(context, item)
        except (LayoutError, DeviceMismatchError) as error:
            raise Refused(str(error)) from error

    def _over(
        self, context: OpenCLContext, item: Tensor
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        offset = _handle(item, "offset") or 0
        pointer = _handle(item, "usm_ptr")
        if pointer is not None:
            nbytes = check_extent(item.info, 1 << 63, "memory")
            native = wrap_usm_pointer(context, pointer + offset, nbytes)
            storage = Storage(nbytes=nbytes)
            native.pin, native.layout = (storage, item.storage), item.info
            return native, item.info, storage
        handle = _handle(item, "cl_mem")
        if handle is None:
            raise Refused("it has neither a cl_mem nor a USM pointer")
        mem, whole, kind = native_over_mem(context, handle, item.info)
        whole.keep = item.storage
        if kind == IMAGE2D:
            return mem, layout_of_image(mem), whole
        nbytes = check_extent(item.info, mem.size - offset, f"the buffer after byte {offset}")
        if not offset:
            return mem, item.info, whole
        part = sub_buffer(context, handle, offset, nbytes, whole)
        return pinned_buffer(part.handle, part, item.info), item.info, part


def _handle(item: Tensor, key: str) -> int | None:
    with suppress(UnknownNameError):
        return item.handle(key)
    return None
