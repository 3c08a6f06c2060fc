# SPDX-License-Identifier: Apache-2.0
"""dma -> gstreamer: memories behind descriptors of GStreamer's own."""

from __future__ import annotations

from functools import cache
from typing import Any

from samebytes import Access, Fd, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import OwnedPointer, Refused, is_dma_buf, memory_size

from .._abi.gi import pointer_of
from .._abi.libraries import allocators, glib
from .._memory.loans import append, attach_loan, dmabuf_memory, fd_memory, new_loan
from .._memory.plane import GStreamerPlane
from .writing import (
    buffer_of,
    check_picture,
    describe_buffer,
    mark_readonly,
    memory_object,
)

__all__ = ["DMAToBuffer", "DMAToMemory"]


class DMAToMemory(MemoryMapper):
    """A Gst.Memory of the whole buffer, in a GStreamerPlane with the place of the array."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[GStreamerPlane, TensorInfo | None, Storage | None]:
        """The plane; the descriptor in it is a duplicate, closed after the memory."""
        memory, _ = _memory(item.native, item.handle("dma_fd"), access)
        return GStreamerPlane(memory_object(memory), item.info, item.handle("offset")), None, None


class DMAToBuffer(MemoryMapper):
    """A Gst.Buffer with a memory for each buffer that the planes lie in."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer; the descriptors in it are duplicates, closed after its memories."""
        info = item.meta.info
        if not isinstance(info, ImageInfo):
            raise Refused("it is not a picture; map its tensors one by one")
        pitches = [plane.handle("pitch") for plane in item.planes]
        check_picture(info, pitches)
        starts: dict[int, int] = {}
        end = 0
        buffer = buffer_of(())
        for plane in item.planes:
            fd = plane.handle("dma_fd")
            if fd not in starts:
                memory, size = _memory(item.native, fd, access)
                append(pointer_of(buffer), memory)
                starts[fd] = end
                end += size
        offsets = [starts[p.handle("dma_fd")] + p.handle("offset") for p in item.planes]
        describe_buffer(buffer, item.meta, offsets, pitches)
        return buffer, None, None


def _memory(native: object, fd: int, access: Access) -> tuple[OwnedPointer, int]:
    """A GstMemory* of all the memory behind a descriptor, and its size."""
    # GStreamer could close the descriptor; but for a moment, it would have two owners then.
    own = Fd.borrow(fd)
    size = memory_size(fd)
    if is_dma_buf(fd):
        memory = dmabuf_memory(_dmabuf_allocator(), own.fileno(), size)
    else:
        memory = fd_memory(_fd_allocator(), own.fileno(), size)
    with new_loan((native, own)) as loan:
        attach_loan(loan, memory, _quark())
    if access == "r":
        mark_readonly(memory)
    return memory, size


@cache
def _dmabuf_allocator() -> int:
    allocator: int = allocators.gst_dmabuf_allocator_new()
    return allocator


@cache
def _fd_allocator() -> int:
    allocator: int = allocators.gst_fd_allocator_new()
    return allocator


@cache
def _quark() -> int:
    """The name under which a memory keeps the object that it was made from."""
    quark: int = glib.g_quark_from_string(b"samebytes-lender")
    return quark
