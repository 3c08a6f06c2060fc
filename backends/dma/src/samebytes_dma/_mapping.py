# SPDX-License-Identifier: Apache-2.0
"""Buffers in the address space of the CPU: mmap between the begin and end of an access."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from mmap import PAGESIZE
from typing import TYPE_CHECKING

from samebytes.errors import NativeError
from samebytes.plugins import Fd, Refused, Storage

from . import _abi
from ._cpu_access import begin_access, end_access

if TYPE_CHECKING:
    from samebytes import Access

    from ._buffer import DMABuffer

__all__ = ["map_buffers"]

# linux/errno.h: of the kernel's inside, but drivers without mmap let it out.
_ENOTSUPP = 524
_NO_MMAP = {
    _ENOTSUPP: "ENOTSUPP",
    **{e: errno.errorcode[e] for e in (errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP, errno.EPERM,
                                       errno.EACCES, errno.ENXIO)},
}  # fmt: skip


def map_buffers(
    buffers: Sequence[DMABuffer], access: Access, source: Storage
) -> tuple[Storage, tuple[int, ...]]:
    """Map each buffer whole, all of them in one piece of address space, and begin the access.

    Releasing the storage unmaps and ends the access; flush() ends the access and begins a new one.

    Args:
        buffers: they may be gone while they are mapped.
        access: what the CPU will do.
        source: of what is mapped; the access holds it.

    Returns:
        The owner of the mapping, and where each buffer begins in it, in bytes.

    Raises:
        Refused: an exporter does not let the CPU map its memory, or a file was cut short.
        NativeError: mmap or DMA_BUF_IOCTL_SYNC fails.
    """
    starts, end = [], 0
    for buffer in buffers:
        _check_mappable(buffer)
        starts.append(end)
        end += -(-buffer.size // PAGESIZE) * PAGESIZE
    address = _map(buffers, starts, end, access)
    # No function of Python's: mappings that live to the end of the process outlive those.
    unmap = partial(_abi.munmap, address, end)
    try:
        begun = _begin([b for b in buffers if b.is_dma_buf], access, source)
    except BaseException:
        unmap()
        raise
    storage = Storage(unmap, address=address, nbytes=end, keep=begun, readonly=access == "r")
    return storage, tuple(starts)


def _begin(buffers: Sequence[DMABuffer], access: Access, source: Storage) -> Storage | None:
    """The owner of an access, which ends at the exit of the process at the latest."""
    if not buffers:
        return None
    with ExitStack() as undo:
        fds = [undo.enter_context(b.dup()) for b in buffers]
        for fd in fds:
            begin_access(fd, access)
            undo.callback(end_access, fd, access)
        release = undo.pop_all().close
    return Storage(release, keep=source, flush=partial(_publish, fds, access), at_exit=True)


def _map(buffers: Sequence[DMABuffer], starts: list[int], nbytes: int, access: Access) -> int:
    if len(buffers) == 1:
        # The kernel chooses an address that suits the exporter (huge pages are aligned).
        return _map_buffer(buffers[0], None, access)
    address = _call_mmap(
        None, nbytes, _abi.PROT_NONE, _abi.MAP_PRIVATE | _abi.MAP_ANONYMOUS | _abi.MAP_NORESERVE, -1
    )
    try:
        for buffer, start in zip(buffers, starts, strict=True):
            _map_buffer(buffer, address + start, access)
    except BaseException:
        _abi.munmap(address, nbytes)
        raise
    return address


def _map_buffer(buffer: DMABuffer, address: int | None, access: Access) -> int:
    protection = _abi.PROT_READ if access == "r" else _abi.PROT_READ | _abi.PROT_WRITE
    flags = _abi.MAP_SHARED if address is None else _abi.MAP_SHARED | _abi.MAP_FIXED
    try:
        return _call_mmap(address, buffer.size, protection, flags, buffer.fileno())
    except NativeError as error:
        if error.code not in _NO_MMAP:
            raise
        who, instead = f"the {buffer.kind}", ""
        if buffer.is_dma_buf:
            who, instead = f"exporter {buffer.exporter or 'unknown'}", ": use it on a device"
        raise Refused(
            f"{who} does not let the CPU map this memory ({_NO_MMAP[error.code]}){instead}"
        ) from error


def _call_mmap(address: int | None, nbytes: int, protection: int, flags: int, fd: int) -> int:
    found = _abi.mmap(address, nbytes, protection, flags, fd, 0)
    if found == _abi.MAP_FAILED:
        code = ctypes.get_errno()
        raise NativeError("mmap", code, os.strerror(code))
    return int(found)


def _publish(fds: Sequence[Fd], access: Access) -> None:
    for fd in fds:
        end_access(fd, access)
        begin_access(fd, access)


def _check_mappable(buffer: DMABuffer) -> None:
    """Raise Refused where mapping cannot work, or reading what was mapped would end the process."""
    if not buffer.mappable:
        raise Refused("the driver that exported this memory does not let the CPU map it")
    _check_size(buffer)


def _check_size(buffer: DMABuffer) -> None:
    """Reading past the end of a file ends the process with SIGBUS."""
    if not buffer.is_dma_buf and os.fstat(buffer.fileno()).st_size < buffer.size:
        raise Refused(f"the {buffer.kind} is now shorter than the {buffer.size} bytes it had")
