# SPDX-License-Identifier: Apache-2.0
"""Ask the system whether an address is mapped, since reading it could end the process.

An answer is true for the moment only. It finds mistakes; it does not make a number safe.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from pathlib import Path

from .fd import Fd

__all__ = ["bytes_at", "is_mapped"]

_MAPS = Path("/proc/self/maps")
_MEMORY = "/proc/self/mem"


def is_mapped(address: int, nbytes: int, *, writable: bool = False) -> bool:
    """True if a range of this process' memory can be read, and written if `writable`.

    Also True where the system does not say: on systems without /proc/self/maps.

    Args:
        address: where the memory begins.
        nbytes: its size in bytes.
        writable: whether it must be possible to write there.
    """
    end = address + max(nbytes, 1)
    needed = "rw" if writable else "r"
    try:
        lines = _MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return True
    # A process with large libraries has thousands of lines, of which few are looked at: those from
    # the last one that begins at the address or below.
    for line in lines[max(bisect_right(lines, address, key=_begin) - 1, 0) :]:
        bounds, permissions = line.split(maxsplit=2)[:2]
        first, _, last = bounds.partition("-")
        if not int(first, 16) <= address < int(last, 16) or not permissions.startswith(needed):
            return False
        address = int(last, 16)
        if address >= end:
            return True
    return False


def _begin(line: str) -> int:
    """The address where a line's range begins.

    The lines are "start-end perms ...", by rising address: proc_pid_maps(5).
    """
    return int(line.partition("-")[0], 16)


def bytes_at(address: int, nbytes: int) -> bytes | None:
    """The bytes at an address, or None if there is no memory.

    The system reads pages too that are protected from reading.

    Args:
        address: where the memory begins.
        nbytes: how many.

    Raises:
        OSError: the system has no /proc/self/mem, or it cannot be opened.
    """
    # Not by ctypes: a read of unmapped memory must fail, not end the process.
    with Fd(os.open(_MEMORY, os.O_RDONLY | os.O_CLOEXEC)) as memory:
        try:
            data = os.pread(memory.fileno(), nbytes, address)
        except (OSError, OverflowError, ValueError):
            return None
    return data if len(data) == nbytes else None
