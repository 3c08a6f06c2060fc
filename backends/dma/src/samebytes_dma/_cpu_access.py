# SPDX-License-Identifier: Apache-2.0
"""The CPU's access to a DMA-BUF: wait for devices, begin and end it by DMA_BUF_IOCTL_SYNC."""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from fcntl import ioctl
from functools import partial
from typing import TYPE_CHECKING

from samebytes.errors import NativeError

from . import _abi

if TYPE_CHECKING:
    from samebytes import Access, Fd

__all__ = ["begin_access", "end_accesses", "publish", "sync_flags", "wait_for_devices"]

_FLAGS = {
    "r": _abi.DMA_BUF_SYNC_READ,
    "w": _abi.DMA_BUF_SYNC_WRITE,
    "rw": _abi.DMA_BUF_SYNC_RW,
}


def sync_flags(access: Access) -> int:
    """DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE or both."""
    return _FLAGS[access]


def begin_access(fd: Fd, access: Access, begun: list[Fd]) -> None:
    """Wait for devices that write (for access "r") or use the buffer, and refresh the CPU's view.

    Args:
        fd: the descriptor of a DMA-BUF.
        access: the CPU's access.
        begun: gets the descriptor, for the code that ends the accesses.

    Raises:
        NativeError: the exporter refuses.
    """
    sync = _syncing(fd, _abi.DMA_BUF_SYNC_START | sync_flags(access))
    begun.append(fd)  # first: an access that was not begun may be ended, but not the other way
    try:
        _answered(sync)
    except NativeError:
        begun.pop()
        raise


def end_accesses(begun: list[Fd], access: Access) -> None:
    """Make the CPU's writes visible to devices. All accesses are ended, even if one cannot be.

    Args:
        begun: descriptors of DMA-BUFs; each leaves the list with the call.
        access: the access with which they were begun.

    Raises:
        NativeError: an exporter refuses; the last error.
    """
    failed: list[NativeError] = []
    try:
        _end_each(begun, access, failed)
    finally:
        _end_each(begun, access, failed)  # what an exception of a signal handler left
    if failed:
        raise failed.pop()  # of a list that is empty then: else its traceback would hold itself


def _end_each(begun: list[Fd], access: Access, failed: list[NativeError]) -> None:
    while begun:
        try:
            _answered(_syncing(begun[-1], _abi.DMA_BUF_SYNC_END | sync_flags(access)))
        except NativeError as error:
            failed[:] = [error]
        begun.pop()


def publish(begun: Sequence[Fd], access: Access) -> None:
    """End each access and begin it again.

    Raises:
        NativeError: an exporter refuses.
    """
    for fd in begun:
        for step in (_abi.DMA_BUF_SYNC_END, _abi.DMA_BUF_SYNC_START):
            _answered(_syncing(fd, step | sync_flags(access)))


def wait_for_devices(fd: Fd) -> None:
    """Wait until no device reads or writes the DMA-BUF any more.

    Linux, Documentation/driver-api/dma-buf.rst, "Implicit Fence Poll Support": POLLOUT waits for
    all fences.
    """
    waiting = select.poll()
    waiting.register(fd.fileno(), select.POLLOUT)
    waiting.poll()


def _syncing(fd: Fd, flags: int) -> partial[int]:
    return partial(ioctl, fd.fileno(), _abi.DMA_BUF_IOCTL_SYNC, _abi.dma_buf_sync(flags))


def _answered(ask: Callable[[], object]) -> None:
    try:
        _abi.until_answered(ask)
    except OSError as error:
        raise NativeError("DMA_BUF_IOCTL_SYNC", error.errno or 0, error.strerror or "") from error
