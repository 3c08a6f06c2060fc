# SPDX-License-Identifier: Apache-2.0
"""Fences of a DMA-BUF: import and export them as sync files."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from samebytes import Fd
from samebytes.errors import LayoutError, NativeError, UnsupportedObjectError
from samebytes.plugins import check_access

from . import _abi
from ._cpu_access import sync_flags

if TYPE_CHECKING:
    from samebytes import Access

    from ._buffer import DMABuffer

__all__ = ["export_sync_file", "import_sync_file"]


def export_sync_file(buffer: DMABuffer, access: Access = "rw") -> Fd:
    """The fences that an access must wait for, as a sync file; it becomes readable when all passed.

    Args:
        buffer: a DMA-BUF.
        access: the access to come: "r" waits for writers, "w" and "rw" for all users.

    Returns:
        The owner of a new descriptor. Fences added to the buffer later are not in it.

    Raises:
        UnsupportedObjectError: the buffer is not a DMA-BUF.
        NativeError: the kernel refuses; before Linux 6.0 it does not know the call.
    """
    check_access(access)
    _check_dma_buf(buffer)
    argument = _abi.dma_buf_export_sync_file(sync_flags(access))
    _call("DMA_BUF_IOCTL_EXPORT_SYNC_FILE", buffer, argument)
    return Fd(argument.fd)


def import_sync_file(buffer: DMABuffer, sync_file: Fd | int, access: Access = "w") -> None:
    """Let all later users of the buffer wait for a sync file.

    Args:
        buffer: a DMA-BUF.
        sync_file: a sync file, for instance of a Vulkan or OpenCL semaphore. It stays the caller's.
        access: the access of the work behind it to the buffer: later readers do not wait for "r".

    Raises:
        UnsupportedObjectError: the buffer is not a DMA-BUF.
        LayoutError: `sync_file` is not a descriptor of a sync file.
        NativeError: the kernel refuses; before Linux 6.0 it does not know the call.
    """
    check_access(access)
    _check_dma_buf(buffer)
    number = sync_file.fileno() if isinstance(sync_file, Fd) else sync_file
    argument = _abi.dma_buf_import_sync_file(sync_flags(access), number)
    try:
        _call("DMA_BUF_IOCTL_IMPORT_SYNC_FILE", buffer, argument)
    except NativeError as error:
        # sync_file_get_fence() finds nothing behind any other descriptor.
        if error.code in (errno.EINVAL, errno.EBADF):
            raise LayoutError(f"descriptor {number} is not a sync file") from error
        raise


def _check_dma_buf(buffer: DMABuffer) -> None:
    if not buffer.is_dma_buf:
        raise UnsupportedObjectError(
            f"a {buffer.kind} is not a DMA-BUF and has no fences: allocate from "
            '"dma:heap" or "dma:udmabuf"'
        )


def _call(name: str, buffer: DMABuffer, argument: _abi.SyncFileArgument) -> None:
    try:
        _abi.ioctl(buffer.fileno(), getattr(_abi, name), argument)
    except OSError as error:
        meaning = error.strerror or ""
        if error.errno == errno.ENOTTY:
            meaning = "this kernel does not know it: Linux 6.0 or later is needed"
        raise NativeError(name, error.errno or 0, meaning) from error
