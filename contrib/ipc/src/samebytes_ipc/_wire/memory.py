# SPDX-License-Identifier: Apache-2.0
"""Memory of "dma": how items lie in it, and which received descriptors may be used as it.

Memory that somebody can cut short under a mapping ends the process that reads it (SIGBUS). A
DMA-BUF keeps its size, and so does a memfd that is sealed against shrinking. Huge pages are
refused: their pool is small, and a hole that is punched into such a memfd gives a page back to it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import TYPE_CHECKING, Any

from samebytes import Fd, Frame
from samebytes.errors import LayoutError
from samebytes.plugins import file_behind
from samebytes_dma import (
    DMA,
    DMABuffer,
    DMAContext,
    DMAPlane,
    DMATensor,
    exporter_of,
    seals_of,
)

from .message import PlaneDescription, named, shown

if TYPE_CHECKING:
    from samebytes_dma import KeptMapping

__all__ = ["buffer_behind", "is_dma", "natives_of", "plane_in", "tensor_over"]


def is_dma(item: Any) -> bool:
    """True for a tensor or frame in memory of "dma"."""
    return isinstance(item, DMATensor) or (
        isinstance(item, Frame) and isinstance(item.context, DMAContext)
    )


def natives_of(item: Any) -> list[DMAPlane]:
    """The native planes of a frame in memory of "dma", or the one of a tensor."""
    return [p.native for p in (item if isinstance(item, Frame) else (item,))]


def buffer_behind(
    fd: Fd, field: str, trusted: bool, *, kept: KeptMapping | None = None
) -> DMABuffer:
    """The buffer of a descriptor that was received, which becomes the buffer's.

    Raises:
        MessageError: it is nothing that a message may have; `field` is its name.
    """
    with named(field):
        if not trusted:
            _check_untrusted(fd)
        return DMABuffer(fd, kept=kept)


def plane_in(plane: PlaneDescription, buffers: list[DMABuffer]) -> DMAPlane:
    """The plane that a message describes, in one of its buffers.

    Raises:
        LayoutError: it does not lie there.
    """
    buffer = buffers[plane.buffer]
    return DMAPlane(buffer, plane.info, plane.offset, plane.pitch, plane.modifier)


def tensor_over(native: DMAPlane, readonly: bool) -> DMATensor:
    """A tensor that holds the buffer of its plane."""
    storage = native.buffer.storage
    readonly = native.buffer.readonly or readonly
    return DMATensor.borrowed(native, DMA, keep=storage, readonly=readonly)


def _check_untrusted(fd: Fd) -> None:
    """Refuse memory whose pages somebody can take away.

    All calls made here are answered by the kernel alone. Others, such as fstat(), could wait
    forever for a file system that the sender itself runs (FUSE).

    Raises:
        LayoutError: neither a DMA-BUF nor a sealed memfd, or one of huge pages.
    """
    number = fd.fileno()
    seals = seals_of(number)
    # Only a memfd can have this seal: files that are opened by name have F_SEAL_SEAL from the
    # beginning, and most file systems know no seals.
    if seals & fcntl.F_SEAL_SHRINK:
        _check_pages(number)
        return
    if exporter_of(number):
        return
    link = file_behind(number)
    if link.startswith("/memfd:"):
        raise LayoutError(
            "is a memfd that its sender can still cut short, which would end this process: the "
            "sender must seal it, fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK); or, if "
            "you trust the sender, call receive(sock, trusted=True)"
        )
    what = shown(link) if link else "of unknown kind"
    raise LayoutError(
        f"is {what}, neither a DMA-BUF nor a memfd that is sealed against shrinking: to take "
        "files, call receive(sock, trusted=True)"
    )


def _check_pages(number: int) -> None:
    # Linux, fs/hugetlbfs/inode.c: hugetlbfs_statfs() reports the size of its pages.
    size = os.fstatvfs(number).f_bsize
    if size != mmap.PAGESIZE:
        raise LayoutError(
            f"is a memfd of huge pages ({size} bytes each), which its sender can take away, and "
            "that would end this process: the sender must make it without MFD_HUGETLB; or, if "
            "you trust the sender, call receive(sock, trusted=True)"
        )
