# SPDX-License-Identifier: Apache-2.0
"""Buffers over memory of the CPU (CL_MEM_USE_HOST_PTR), one for each piece of memory.

OpenCL forbids two buffers over the same host memory (specification, clCreateBuffer: results are
undefined), so that all tensors in a piece of memory share one, as sub-buffers of it.

A driver works on the memory itself only where host memory is unified, and the piece begins at a
page and is a multiple of 64 bytes long. Elsewhere it works on its own copy, and still hands
the host's address out.
"""

from __future__ import annotations

from ctypes import c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any

from pyopencl import map_flags, mem_flags

from samebytes import Tensor
from samebytes.errors import NativeError
from samebytes.plugins import ImportCache, Refused, data_address

from ._library import call, making
from ._parts import MemStorage

if TYPE_CHECKING:
    from ._context import OpenCLContext
    from ._queues import WorkQueue

__all__ = ["HostBuffer", "host_buffer", "show_host"]

_PAGE = 4096
_LINE = 64
_NO_EVENTS = 0, None, None


class HostBuffer(MemStorage):
    """The owner of a buffer over host memory, which it keeps alive.

    Attributes:
        queues: the queues of its mappings, by handle: all are waited for at the end.
    """

    __slots__ = ("queues",)

    queues: dict[int, WorkQueue]


# By (cl_context, address, bytes, readonly). The buffer holds the memory: its address is not used
# again meanwhile.
_buffers: ImportCache[HostBuffer] = ImportCache()


def host_buffer(
    context: OpenCLContext, item: Tensor, nbytes: int, queue: WorkQueue
) -> tuple[HostBuffer, int]:
    """The buffer over the memory in which a CPU tensor lies, and the tensor's offset in it.

    Memory that samebytes allocated is used as a whole; of other memory, only the tensor's bytes.

    Raises:
        Refused: the device would work on a copy.
    """
    where, owner = data_address(item.native), item.storage
    start, size = where, nbytes
    # A piece of memory that ends in the middle of a page still has the whole page.
    if owner.address and owner.address <= where and where + nbytes <= owner.address + owner.nbytes:
        start, size = owner.address, owner.nbytes
    if start % _PAGE or size % _LINE:
        raise Refused(
            f"the memory begins {start % _PAGE} bytes after a page of {_PAGE} and is {size} bytes "
            f"long: only memory that begins at a page and is a multiple of {_LINE} bytes long is "
            'shared without a copy; samebytes.context("cpu").allocate() gives such memory'
        )
    key = (context.handle("cl_context"), start, size, item.readonly)
    found = _buffers.in_use(key, partial(_make, context, start, size, item))
    found.queues.setdefault(queue.handle, queue)
    return found, where - start


def _make(context: OpenCLContext, start: int, size: int, item: Tensor) -> HostBuffer:
    access = mem_flags.READ_ONLY if item.readonly else mem_flags.READ_WRITE
    flags = int(access | mem_flags.USE_HOST_PTR)
    creating = making("clCreateBuffer", context.native.int_ptr, flags, size, start)
    try:
        made = HostBuffer(context, creating, size, item.storage)
    except NativeError as error:
        raise Refused(f"no buffer over {size} bytes of host memory: {error}") from error
    made.queues = {}
    written = 0 if item.readonly else size
    made.release = partial(_give_back, made.queues, made.handle, written, made.release)
    return made


def show_host(queue: WorkQueue, handle: int, size: int) -> None:
    """Make the device's writes visible to the host, as they are while a buffer is mapped."""
    flags, pointer = int(map_flags.READ), c_void_p()
    try:
        making("clEnqueueMapBuffer", queue.handle, handle, 0, flags, 0, size, *_NO_EVENTS)(pointer)
    finally:
        if pointer.value:
            call("clEnqueueUnmapMemObject", queue.handle, handle, pointer.value, *_NO_EVENTS)
    queue.hand_over()


def _give_back(queues: dict[int, WorkQueue], handle: int, written: int, release: Any) -> None:
    """Give the host its memory back, after a wait, since no enqueued work may use it then."""
    try:
        for queue in queues.values():
            queue.finish()
        if written and queues:  # without one, nothing was enqueued
            queue = next(iter(queues.values()))
            show_host(queue, handle, written)
            queue.finish()
    except Exception:
        release()
        raise
    release()
