# SPDX-License-Identifier: Apache-2.0
"""dma -> opencl by import, opencl -> dma by the descriptor that Intel's driver reports."""

from __future__ import annotations

from ctypes import c_uint64, c_void_p
from functools import partial
from typing import Any

import pyopencl

from samebytes import Access, Fd, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, MissingDependencyError, NativeError
from samebytes.formats import is_linear_modifier
from samebytes.plugins import ImportCache, Refused, memory_size

from ._abi.external_memory import CL_MEM_ALLOCATION_HANDLE_INTEL
from ._context import OpenCLContext
from ._external import ExternalBuffer, import_dma_buf
from ._handles import mem_info
from ._natives import pinned_buffer
from ._parts import check_extent, sub_buffer
from ._queues import WorkQueue, working_queue
from ._tensor import OpenCLTensor

__all__ = ["DmaToOpenCL", "OpenCLToDma"]

# By (cl_context, id of the DMA-BUF's storage, readonly, queue, ordered by its caller): an import is
# acquired and released on one queue, and others have imports of theirs.
_imports: ImportCache[ExternalBuffer] = ImportCache()


class DmaToOpenCL(MemoryMapper):
    """A buffer over the DMA-BUF, imported once for all tensors in it, which are sub-buffers.

    It is acquired on the context's queue when it is mapped, and released when the last mapping is
    gone; flush() releases and acquires it. In between only OpenCL may use the memory.
    """

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A sub-buffer of the import."""
        context, info = self.target, item.info
        assert isinstance(context, OpenCLContext)
        modifier = item.handle("drm_modifier")
        if not is_linear_modifier(modifier):
            raise Refused(
                f"its layout (DRM modifier {modifier:#x}) is not linear, as a buffer must be"
            )
        fd, offset = item.handle("dma_fd"), item.handle("offset")
        queue = working_queue(context)
        if not queue.ordered:
            item.wait()
        try:
            size = memory_size(fd)
            nbytes = check_extent(info, size - offset, f"the DMA-BUF after byte {offset}")
            whole = _imported(context, item, fd, size, queue)
            part = sub_buffer(context, whole.handle, offset, nbytes, whole)
        except (LayoutError, MissingDependencyError, NativeError) as error:
            raise Refused(str(error)) from error
        if queue.ordered:
            part.wait = queue.finish
        return pinned_buffer(part.handle, part, info), info, part


class OpenCLToDma(MemoryMapper):
    """The DMA-BUF behind a buffer. No extension exports memory, but one driver does."""

    __slots__ = ()

    def connect(
        self, item: OpenCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A plane of a new DMA buffer with a duplicate of the driver's descriptor."""
        if item.kind != "buffer":
            raise Refused(f"{item.kind} memory has no descriptor that the driver reports")
        context, handle = item.context, item.native.int_ptr
        try:
            # A sub-buffer is a place in its buffer, whose descriptor it is.
            root = mem_info(handle, pyopencl.mem_info.ASSOCIATED_MEMOBJECT, c_void_p) or handle
            offset = mem_info(handle, pyopencl.mem_info.OFFSET)
            fd = mem_info(root, CL_MEM_ALLOCATION_HANDLE_INTEL, c_uint64)
        except NativeError as error:
            raise Refused(
                f"{context.native_device.name.strip()} reports no descriptor for its buffers "
                f"(CL_MEM_ALLOCATION_HANDLE_INTEL): {error}"
            ) from error
        queue = working_queue(context)
        queue.hand_over()
        target: Any = self.target
        try:
            buffer = target.import_fd(Fd.borrow(fd), keep=item.storage)
        except LayoutError as error:
            raise Refused(f"the driver reported descriptor {fd}: {error}") from error
        return buffer.plane(item.info, offset=offset), None, buffer.storage


def _imported(
    context: OpenCLContext, item: Tensor, fd: int, size: int, queue: WorkQueue
) -> ExternalBuffer:
    storage = item.storage
    cl_context = context.handle("cl_context")
    key = (cl_context, id(storage), item.readonly, queue.handle, queue.ordered)
    make = partial(import_dma_buf, context, fd, size, queue, readonly=item.readonly, keep=storage)
    return _imports.in_use(key, make, None if queue.ordered else _see_writes)


def _see_writes(imported: ExternalBuffer) -> None:
    """Make writes that others made since the last mapping visible."""
    if imported.flush is not None:
        imported.flush()
