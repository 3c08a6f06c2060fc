# SPDX-License-Identifier: Apache-2.0
"""dma -> gstreamer: memories behind descriptors of GStreamer's own."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from samebytes import ImageInfo
from samebytes.plugins import (
    Access,
    Fd,
    Frame,
    MemoryMapper,
    Refused,
    Storage,
    Tensor,
    TensorInfo,
)

from ._abi.allocators import GST_FD_MEMORY_FLAG_NONE
from ._lending import CLEAR, Loan
from ._libraries import allocators, glib, gst
from ._plane import GStreamerPlane
from ._writing import (
    append,
    buffer_of,
    check_picture,
    describe_buffer,
    mark_readonly,
    memory_object,
)

__all__ = ["DMAToBuffer", "DMAToMemory"]


class DMAToMemory(MemoryMapper):
    """A Gst.Memory of the whole buffer, in a GStreamerPlane that says where the array lies."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[GStreamerPlane, TensorInfo | None, Storage | None]:
        """The plane; the descriptor in it is GStreamer's own, and is closed with the memory."""
        with Loan(item.native) as loan:
            memory, _ = _memory(loan, item.handle("dma_fd"), access)
        return GStreamerPlane(memory_object(memory), item.info, item.handle("offset")), None, None


class DMAToBuffer(MemoryMapper):
    """A Gst.Buffer with a memory for each buffer that the planes lie in."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer; the descriptors in it are GStreamer's own."""
        info = item.meta.info
        if not isinstance(info, ImageInfo):
            raise Refused("it is no picture; map its tensors one by one")
        pitches = [plane.handle("pitch") for plane in item.planes]
        check_picture(info, pitches)
        starts: dict[int, int] = {}
        end = 0
        buffer = buffer_of(())
        with Loan(item.native) as loan:
            for plane in item.planes:
                fd = plane.handle("dma_fd")
                if fd not in starts:
                    memory, size = _memory(loan, fd, access)
                    append(buffer, memory)
                    starts[fd] = end
                    end += size
        offsets = [starts[p.handle("dma_fd")] + p.handle("offset") for p in item.planes]
        describe_buffer(buffer, item.meta, offsets, pitches)
        return buffer, None, None


def _memory(loan: Loan, fd: int, access: Access) -> tuple[int, int]:
    """A GstMemory* of all that is behind a descriptor, which the caller owns, and its size."""
    # GStreamer closes what it is given.
    own = Fd.borrow(fd)
    dmabuf = str(Path(f"/proc/self/fd/{fd}").readlink()).startswith("/dmabuf:")
    # Kernels before 5.3 tell the size of a DMA-BUF by seeking alone; it has no position to move.
    size = os.lseek(fd, 0, os.SEEK_END) if dmabuf else os.fstat(fd).st_size
    if dmabuf:
        memory = allocators.gst_dmabuf_allocator_alloc(_dmabuf_allocator(), own.fileno(), size)
    else:
        memory = allocators.gst_fd_allocator_alloc(
            _fd_allocator(), own.fileno(), size, GST_FD_MEMORY_FLAG_NONE
        )
    if not memory:
        raise Refused("GStreamer has no memory behind descriptors on this system")
    own.detach()
    gst.gst_mini_object_set_qdata(memory, _quark(), loan.slot(), CLEAR)
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
    """The name under which a memory keeps what it was made from."""
    quark: int = glib.g_quark_from_string(b"samebytes-lender")
    return quark
