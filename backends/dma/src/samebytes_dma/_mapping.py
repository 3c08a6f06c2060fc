# SPDX-License-Identifier: Apache-2.0
"""Buffers in the address space of the CPU: mmap between the begin and end of an access."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from ctypes import c_void_p
from functools import partial
from mmap import PAGESIZE
from typing import TYPE_CHECKING

from samebytes import Fd, Storage
from samebytes.errors import LayoutError, NativeError
from samebytes.plugins import Refused, memory_size

from . import _abi
from ._cpu_access import begin_access, end_accesses, publish

if TYPE_CHECKING:
    from samebytes import Access

    from ._buffer import DMABuffer

__all__ = ["lasting_mapping", "map_buffer", "map_buffers"]

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
        buffers: the buffers, which may be gone while they are mapped.
        access: the CPU's access.
        source: the storage of the mapped object; the access holds it.

    Returns:
        The owner of the mapping, and the offset of each buffer in it, in bytes.

    Raises:
        Refused: an exporter does not let the CPU map its memory, or a file was cut short.
        NativeError: mmap or DMA_BUF_IOCTL_SYNC fails.
    """
    if len(buffers) == 1 and _has_kept(buffers[0], access):
        return _over_kept(buffers[0], access, source), (0,)
    starts, end = [], 0
    for buffer in buffers:
        _check_mappable(buffer)
        starts.append(end)
        end += -(-buffer.size // PAGESIZE) * PAGESIZE
    cell = c_void_p()
    # The owner comes before the mapping, which no exception can lose then. No function of Python's:
    # mappings that live to the end of the process outlive those. Of a null pointer nothing is
    # unmapped (munmap(2)).
    storage = Storage(partial(_abi.munmap, cell, end), readonly=access == "r")
    _map(cell, buffers, starts, end, access)
    storage.keep = _begin([b for b in buffers if b.is_dma_buf], access, source)
    storage.expose(cell.value or 0, end)
    return storage, tuple(starts)


def lasting_mapping(buffer: DMABuffer, access: Access) -> Storage | None:
    """The owner of a use of memory, if arrays can lie in it as they are, with no access to end.

    That is only for reading memory that stays mapped and needs no ioctl: not for DMA-BUFs, and not
    if the owner is also that of writers.

    Args:
        buffer: the buffer to be read.
        access: the CPU's access.

    Returns:
        The buffer's own storage, which knows the address from then on; None if each access has to
        be mapped, or to end.

    Raises:
        Refused: the exporter does not let the CPU map its memory.
        NativeError: mmap fails.
    """
    kept, use = buffer.kept, buffer.storage
    if kept is None or access != "r" or buffer.is_dma_buf or not use.readonly:
        return None
    if use.holds is None:  # of several threads each does the same
        mapped = kept.of(buffer)
        use.expose(mapped.address, mapped.nbytes)
        use.holds = mapped
    return use


def _has_kept(buffer: DMABuffer, access: Access) -> bool:
    kept = buffer.kept
    return kept is not None and (access == "r" or kept.writable)


def _over_kept(buffer: DMABuffer, access: Access, source: Storage) -> Storage:
    """An access to memory that stays mapped: it begins and ends like any other."""
    assert buffer.kept is not None
    if not buffer.mappable:
        _check_mappable(buffer)
    mapped = buffer.kept.of(buffer)
    begun = _begin([buffer], access, source) if buffer.is_dma_buf else None
    return Storage(
        address=mapped.address, nbytes=mapped.nbytes, keep=begun, holds=mapped,
        readonly=access == "r",
    )  # fmt: skip


def _begin(buffers: Sequence[DMABuffer], access: Access, source: Storage) -> Storage | None:
    """The owner of an access, which ends at the exit of the process at the latest."""
    if not buffers:
        return None
    begun: list[Fd] = []
    # The owner comes before the accesses, none of which an exception can lose then.
    storage = Storage(
        partial(end_accesses, begun, access), keep=source, at_exit=True,
        flush=partial(publish, begun, access),
    )  # fmt: skip
    try:
        for buffer in buffers:
            begin_access(buffer.dup(), access, begun)
    except NativeError:
        with suppress(NativeError):  # that says no more than the first one
            end_accesses(begun, access)
        raise
    return storage


def _map(
    cell: c_void_p, buffers: Sequence[DMABuffer], starts: list[int], nbytes: int, access: Access
) -> None:
    if len(buffers) == 1:
        # The kernel chooses an address that suits the exporter (huge pages are aligned).
        map_buffer(cell, buffers[0], None, access)
        return
    flags = _abi.MAP_PRIVATE | _abi.MAP_ANONYMOUS | _abi.MAP_NORESERVE
    _call_mmap(cell, None, nbytes, _abi.PROT_NONE, flags, -1)
    for buffer, start in zip(buffers, starts, strict=True):
        map_buffer(c_void_p(), buffer, (cell.value or 0) + start, access)


def map_buffer(cell: c_void_p, buffer: DMABuffer, address: int | None, access: Access) -> None:
    """Map a buffer whole; the cell, which an owner unmaps, gets the address.

    Args:
        cell: the cell of an existing owner.
        buffer: the buffer, which may be gone while it is mapped.
        address: an address in reserved address space; None lets the kernel choose.
        access: the CPU's access.

    Raises:
        Refused: the exporter does not let the CPU map its memory.
        NativeError: mmap fails.
    """
    protection = _abi.PROT_READ if access == "r" else _abi.PROT_READ | _abi.PROT_WRITE
    flags = _abi.MAP_SHARED if address is None else _abi.MAP_SHARED | _abi.MAP_FIXED
    try:
        _call_mmap(cell, address, buffer.size, protection, flags, buffer.fileno())
    except NativeError as error:
        if error.code not in _NO_MMAP:
            raise
        who, instead = f"the {buffer.kind}", ""
        if buffer.is_dma_buf:
            who, instead = f"exporter {buffer.exporter or 'unknown'}", ": use it on a device"
        raise Refused(
            f"{who} does not let the CPU map this memory ({_NO_MMAP[error.code]}){instead}",
            out_of_reach=True,
        ) from error


def _call_mmap(
    cell: c_void_p, address: int | None, nbytes: int, protection: int, flags: int, fd: int
) -> None:
    cell.value = _abi.mmap(address, nbytes, protection, flags, fd, 0)
    if cell.value == _abi.MAP_FAILED:
        code = ctypes.get_errno()
        cell.value = None
        raise NativeError("mmap", code, os.strerror(code))


def _check_mappable(buffer: DMABuffer) -> None:
    """Raise Refused if mapping cannot work, or reading the mapping would end the process."""
    if not buffer.mappable:
        reason = "the driver that exported this memory does not let the CPU map it"
        raise Refused(reason, out_of_reach=True)
    _check_size(buffer)


def _check_size(buffer: DMABuffer) -> None:
    """Raise Refused for a file cut short: reading past its end ends the process with SIGBUS."""
    try:
        nbytes = buffer.size if buffer.is_dma_buf else memory_size(buffer.fileno())
    except LayoutError as error:  # somebody closed the descriptor
        raise Refused(str(error)) from error
    if nbytes < buffer.size:
        raise Refused(f"the {buffer.kind} is now shorter than the {buffer.size} bytes it had")
