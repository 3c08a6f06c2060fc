# SPDX-License-Identifier: Apache-2.0
"""DMA_BUF_IOCTL_SYNC: begin and end the CPU's access to a DMA-BUF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.errors import NativeError

from . import _abi
from ._abi import ioctl

if TYPE_CHECKING:
    from samebytes import Access, Fd

__all__ = ["begin_access", "end_access", "sync_flags"]

_FLAGS = {
    "r": _abi.DMA_BUF_SYNC_READ,
    "w": _abi.DMA_BUF_SYNC_WRITE,
    "rw": _abi.DMA_BUF_SYNC_RW,
}


def sync_flags(access: Access) -> int:
    """DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE or both."""
    return _FLAGS[access]


def begin_access(fd: Fd, access: Access) -> None:
    """Wait for devices that write (for access "r") or use the buffer, and refresh the CPU's view.

    Raises:
        NativeError: the exporter refuses.
    """
    _sync(fd, _abi.DMA_BUF_SYNC_START | sync_flags(access))


def end_access(fd: Fd, access: Access) -> None:
    """Make what the CPU wrote visible to devices.

    Raises:
        NativeError: the exporter refuses.
    """
    _sync(fd, _abi.DMA_BUF_SYNC_END | sync_flags(access))


def _sync(fd: Fd, flags: int) -> None:
    try:
        ioctl(fd.fileno(), _abi.DMA_BUF_IOCTL_SYNC, _abi.dma_buf_sync(flags))
    except OSError as error:
        raise NativeError("DMA_BUF_IOCTL_SYNC", error.errno or 0, error.strerror or "") from error
