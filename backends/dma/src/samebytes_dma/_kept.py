# SPDX-License-Identifier: Apache-2.0
"""KeptMapping: memory that is used again and again stays in the address space."""

from __future__ import annotations

from ctypes import c_void_p
from functools import partial
from typing import TYPE_CHECKING

from samebytes import Storage

from . import _abi
from ._mapping import map_buffer

if TYPE_CHECKING:
    from ._buffer import DMABuffer

__all__ = ["KeptMapping"]


class KeptMapping:
    """The one mapping of a buffer, made when it is first wanted: `DMABuffer(fd, kept=...)`.

    It is for memory that is used again and again, such as that of a pool: each access begins and
    ends, but maps nothing.

    Args:
        writable: True to map it for writing, too.
    """

    __slots__ = ("_made", "writable")

    def __init__(self, *, writable: bool) -> None:
        self.writable = writable
        # Of one entry at most: setdefault() is atomic, so two threads agree without a lock.
        self._made: dict[None, Storage] = {}

    @property
    def is_made(self) -> bool:
        """True if the mapping exists."""
        return bool(self._made)

    def of(self, buffer: DMABuffer) -> Storage:
        """The owner of the mapping, which ends with its last holder.

        Args:
            buffer: the buffer that was made with this mapping; the first call maps it.

        Raises:
            Refused: the exporter does not let the CPU map its memory.
            NativeError: mmap fails.
        """
        found = self._made.get(None)
        if found is None:
            cell = c_void_p()
            found = Storage(partial(_abi.munmap, cell, buffer.size))  # before the mapping
            map_buffer(cell, buffer, None, "rw" if self.writable else "r")
            found.expose(cell.value or 0, buffer.size)
            # Where two threads map at a time, both get what came first.
            found = self._made.setdefault(None, found)
        return found
