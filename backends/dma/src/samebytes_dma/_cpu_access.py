# SPDX-License-Identifier: Apache-2.0
"""DMA_BUF_IOCTL_SYNC: tells the kernel when the CPU begins and ends to use a DMA-BUF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.errors import NativeError

from ._abi import dma_buf
from ._ioctl import ioctl

if TYPE_CHECKING:
    from samebytes import Access, Fd

__all__ = ["begin_access", "end_access", "sync_flags"]

_FLAGS = {
    "r": dma_buf.DMA_BUF_SYNC_READ,
    "w": dma_buf.DMA_BUF_SYNC_WRITE,
    "rw": dma_buf.DMA_BUF_SYNC_RW,
}


def sync_flags(access: Access) -> int:
    """DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE or both."""
    return _FLAGS[access]


def begin_access(fd: Fd, access: Access) -> None:
    """Wait for devices that write (for access "r") or use the buffer, and refresh the CPU's view.

    Raises:
        NativeError: the exporter refuses.
    """
    _sync(fd, dma_buf.DMA_BUF_SYNC_START | sync_flags(access))


def end_access(fd: Fd, access: Access) -> None:
    """Make what the CPU wrote visible to devices.

    Raises:
        NativeError: the exporter refuses.
    """
    _sync(fd, dma_buf.DMA_BUF_SYNC_END | sync_flags(access))


def _sync(fd: Fd, flags: int) -> None:
    try:
        ioctl(fd.fileno(), dma_buf.DMA_BUF_IOCTL_SYNC, dma_buf.dma_buf_sync(flags))
    except OSError as error:
        raise NativeError("DMA_BUF_IOCTL_SYNC", error.errno or 0, error.strerror or "") from error
