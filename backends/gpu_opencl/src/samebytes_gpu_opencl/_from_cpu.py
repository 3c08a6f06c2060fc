# SPDX-License-Identifier: Apache-2.0
"""cpu -> opencl: a buffer over the same pages, or a copy in the device's memory."""

from __future__ import annotations

from ctypes import c_size_t
from functools import partial
from typing import Any

from samebytes import Access, Context, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, NoRouteError
from samebytes.plugins import MapperSpec, Refused, data_address

from ._context import OpenCLContext
from ._host_memory import host_buffer, show_host
from ._library import call, making
from ._natives import pinned_buffer
from ._parts import MemStorage, sub_buffer
from ._queues import WorkQueue, working_queue

__all__ = ["CpuCopyToOpenCL", "CpuToOpenCL"]

_READ_WRITE = 1 << 0
"""CL/cl.h: CL_MEM_READ_WRITE."""
_NO_ROWS = "its elements are neither dense nor in padded rows: no single command copies that"


class CpuToOpenCL(MemoryMapper):
    """A buffer over the array's own pages, on devices that share the host's memory.

    The memory belongs to the device while it is mapped. The host sees the device's writes after
    flush(), and when the last mapping of the memory is gone; the host should only write to it when
    no enqueued work uses it.
    """

    __slots__ = ()

    def __init__(self, spec: MapperSpec, source: Context, target: Context) -> None:
        super().__init__(spec, source, target)
        assert isinstance(target, OpenCLContext)
        device = target.native_device
        if not device.host_unified_memory:
            # Refused before anything is mapped: a route that leads here may begin with a copy.
            reason = (
                f"{device.name.strip()} has memory of its own (CL_DEVICE_HOST_UNIFIED_MEMORY is "
                "false), so it uses a copy"
            )
            raise NoRouteError(spec.source, spec.target, [reason])

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer, or a sub-buffer of the one over all of the memory."""
        context, info = self.target, item.info
        assert isinstance(context, OpenCLContext)
        queue = working_queue(context)
        nbytes = _bytes_of(info)
        whole, offset = host_buffer(context, item, nbytes, queue)
        storage: Storage
        if offset or nbytes < whole.nbytes:
            try:
                storage = part = sub_buffer(context, whole.handle, offset, nbytes, whole)
            except LayoutError as error:
                raise Refused(str(error)) from error
            handle = part.handle
        else:
            storage, handle = Storage(keep=whole, nbytes=nbytes), whole.handle
        if not item.readonly:
            # One for each mapping: others of the same buffer may work on other queues.
            storage.flush = partial(show_host, queue, whole.handle, whole.nbytes)
        if queue.ordered:
            storage.wait = queue.finish
        return pinned_buffer(handle, storage, info), info, storage


class CpuCopyToOpenCL(MemoryMapper):
    """A new dense buffer with the array's elements. Takes dense arrays and padded rows."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """Other layouts are made dense on the host first, by a separate edge."""
        return None if _rows_of(item.info) is not None else _NO_ROWS

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer; the array is kept until it was read."""
        context, info = self.target, item.info
        assert isinstance(context, OpenCLContext)
        layout = _rows_of(info)
        if layout is None:
            raise Refused(_NO_ROWS)
        rows, row_nbytes, pitch = layout
        queue = working_queue(context)
        dense = TensorInfo(info.dtype, info.shape)
        size = max(dense.nbytes, 1)
        make = making("clCreateBuffer", context.native.int_ptr, _READ_WRITE, size, None)
        storage = MemStorage(context, make, size, item.storage if queue.ordered else None)
        handle = storage.handle
        where = data_address(item.native)
        if rows == 1:
            call("clEnqueueWriteBuffer", queue.handle, handle, 0, 0, row_nbytes, where, 0, None,
                 None)  # fmt: skip
        elif rows:
            origin, region = (c_size_t * 3)(), (c_size_t * 3)(row_nbytes, rows, 1)
            call(
                "clEnqueueWriteBufferRect", queue.handle, handle, 0, origin, origin, region,
                row_nbytes, 0, pitch, 0, where, 0, None, None,
            )  # fmt: skip
        if queue.ordered:
            storage.wait = queue.finish
            storage.release = partial(_finish_and_release, queue, storage.release)
        else:
            queue.finish()
        return pinned_buffer(handle, storage, dense), dense, storage


def _finish_and_release(queue: WorkQueue, release: Any) -> None:
    """Release when the queue has read the array, which is kept until then."""
    try:
        queue.finish()
    except Exception:
        release()
        raise
    release()


def _bytes_of(info: TensorInfo) -> int:
    """Return the number of bytes that the array spans.

    Raises:
        Refused: no buffer can have that layout.
    """
    low, high = info.extent
    if low < 0:
        raise Refused(f"strides {info.strides} are negative: a buffer begins with its tensor")
    if info.overlaps:
        raise Refused(f"elements overlap (strides {info.strides})")
    if not high:
        raise Refused("OpenCL does not support empty buffers")
    return high


def _rows_of(info: TensorInfo) -> tuple[int, int, int] | None:
    """(rows, bytes of a row, pitch) as clEnqueueWriteBufferRect takes them, if it can."""
    if info.is_contiguous:
        return (1 if info.size else 0), info.nbytes, 0
    row = TensorInfo(info.dtype, info.shape[1:])
    strides = info.strides
    if strides is None or strides[1:] != row.strides or strides[0] < row.nbytes:
        return None
    return info.shape[0], row.nbytes, strides[0]
