# SPDX-License-Identifier: Apache-2.0
"""From tensors that have a cl_mem or a USM pointer: OpenVINO's on a GPU, OpenCV's UMats."""

from __future__ import annotations

from typing import Any

from samebytes import Access, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import DeviceMismatchError, LayoutError
from samebytes.plugins import Refused

from ._context import OpenCLContext
from ._images import IMAGE2D, layout_of_image
from ._library import call, in_our_words
from ._natives import pinned_buffer
from ._parts import check_extent, sub_buffer
from ._queues import working_queue
from ._usm import wrap_usm_pointer
from ._wrapping import native_over_mem

__all__ = ["FrameHandleToOpenCL", "HandleToOpenCL"]


class HandleToOpenCL(MemoryMapper):
    """The same cl_mem, with our own reference, or the same USM pointer.

    Work on both queues is waited for: on the other framework's, if its context has one, and on
    that of the OpenCL context.
    """

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The native over the handle; a sub-buffer where the tensor begins at an offset."""
        return _native_or_refused(_finished(self, item), item, item.info)


class FrameHandleToOpenCL(MemoryMapper):
    """The same for the planes of an image, which become (rows, columns[, channels]) again."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, None]:
        """A tuple of natives, each with the layout of its plane."""
        image = item.meta.info
        if not isinstance(image, ImageInfo):
            raise Refused("it is not an image: map its tensors one by one")
        context = _finished(self, item)
        infos = [TensorInfo(layout.dtype, layout.shape) for layout in image.plane_layouts()]
        for plane, info in zip(item.planes, infos, strict=True):
            if plane.info.nbytes != info.nbytes or (
                plane.strides is not None and not plane.info.is_contiguous
            ):
                raise Refused(f"a plane {plane.info} is not the dense plane {info} of {image}")
        natives = [
            _native_or_refused(context, p, i)[0] for p, i in zip(item.planes, infos, strict=True)
        ]
        return tuple(natives), None, None


def _finished(mapper: MemoryMapper, item: Tensor | Frame) -> OpenCLContext:
    """The target, which has the source's cl_context, after a wait for the work on both queues."""
    context = mapper.target
    assert isinstance(context, OpenCLContext)
    ours, theirs = context.handle("cl_context"), mapper.source.handle("cl_context")
    if ours != theirs:
        raise Refused(
            f"it belongs to the cl_context {theirs:#x}, the target is on {ours:#x}: use "
            'source.context.derive("opencl")'
        )
    queue = working_queue(context)
    if not queue.ordered:
        item.wait()
        pending = mapper.source.find_handle("cl_queue")
        if pending and pending != queue.handle:
            call("clFinish", pending)
        queue.finish()
    return context


def _native_or_refused(
    context: OpenCLContext, item: Tensor, info: TensorInfo
) -> tuple[Any, TensorInfo, Storage]:
    try:
        return _native(context, item, info)
    except (LayoutError, DeviceMismatchError) as error:
        raise Refused(str(error)) from error


@in_our_words
def _native(
    context: OpenCLContext, item: Tensor, info: TensorInfo
) -> tuple[Any, TensorInfo, Storage]:
    offset = item.find_handle("offset") or 0
    pointer = item.find_handle("usm_ptr")
    if pointer is not None:
        nbytes = check_extent(info, 1 << 63, "memory")
        native = wrap_usm_pointer(context, pointer + offset, nbytes)
        storage = Storage(nbytes=nbytes)
        native.pin, native.layout = (storage, item.storage), info
        return native, info, storage
    handle = item.find_handle("cl_mem")
    if handle is None:
        raise Refused("it has neither a cl_mem nor a USM pointer")
    mem, whole, kind = native_over_mem(context, handle, info)
    whole.keep = item.storage
    if kind == IMAGE2D:
        return mem, layout_of_image(mem), whole
    nbytes = check_extent(info, mem.size - offset, f"the buffer after byte {offset}")
    if not offset:
        return mem, info, whole
    part = sub_buffer(context, handle, offset, nbytes, whole)
    return pinned_buffer(part.handle, part, info), info, part
