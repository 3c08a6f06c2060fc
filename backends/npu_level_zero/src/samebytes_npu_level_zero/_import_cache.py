# SPDX-License-Identifier: Apache-2.0
"""The memory that a context knows already: what comes round again is not imported again."""

from __future__ import annotations

import threading
import time
import weakref

from samebytes.errors import LayoutError
from samebytes.plugins import Fd, Storage

from ._abi.results import Result
from ._allocation import Allocation
from ._errors import LevelZeroError
from ._imports import file_size, import_fd, import_pages
from ._native_context import NativeContext

__all__ = ["ImportCache", "Imported"]


_TRIES = 20
_PAUSE = 0.001
"""Seconds. A release takes microseconds; twenty of these pauses are for a busy machine."""


class Imported:
    """Memory of somebody else that was made known to a context, until the last holder is gone.

    Attributes:
        allocation: where it is.
        storage: its owner.
    """

    __slots__ = ("__weakref__", "allocation", "storage")

    def __init__(self, allocation: Allocation, keep: object = None) -> None:
        self.allocation = allocation
        self.storage = allocation.storage(keep)

    def let_go(self) -> None:
        """Nothing. What holds this method holds the import."""


class ImportCache:
    """What lies in one context, and what was imported into it."""

    __slots__ = ("_buffers", "_known", "_lock", "_pages")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: weakref.WeakKeyDictionary[Storage, Allocation] = weakref.WeakKeyDictionary()
        # By the storage that owns the descriptor, and its number: a number alone is soon another
        # file's. The driver holds the memory itself, so an import needs no reference to its source.
        self._buffers: weakref.WeakKeyDictionary[Storage, dict[int, Imported]] = (
            weakref.WeakKeyDictionary()
        )
        # Weak, since pages must outlive their import, which therefore holds them. A driver knows a
        # page only once, so that two mappings of one array must share the import.
        self._pages: weakref.WeakValueDictionary[tuple[int, int], Imported] = (
            weakref.WeakValueDictionary()
        )

    def owned(self, allocation: Allocation, keep: object = None) -> Storage:
        """The owner of memory that was made in the context; `keep` is what it lies in."""
        return self._note(allocation.storage(keep), allocation)

    def mapping(self, imported: Imported) -> Storage:
        """An owner for one mapping of an import.

        One of its own, since an import may outlive its mappings, and must not hold the source that
        each of them holds.
        """
        address, nbytes = imported.storage.address, imported.storage.nbytes
        storage = Storage(imported.let_go, address=address, nbytes=nbytes)
        return self._note(storage, imported.allocation)

    def known(self, storage: Storage) -> Allocation | None:
        """The USM of this context that `storage` owns, if it does."""
        with self._lock:
            return self._known.get(storage)

    def buffer(self, native: NativeContext, source: Storage, fd: int) -> Imported:
        """The import of a DMA-BUF whose descriptor `source` owns: of the whole, and only once.

        Raises:
            LayoutError: the descriptor is of nothing that has a size.
            LevelZeroError: the driver does not take it.
        """
        with self._lock:
            imports = self._buffers.setdefault(source, {})
            if fd not in imports:
                with Fd.borrow(fd) as borrowed:
                    imports[fd] = Imported(import_fd(native, borrowed, file_size(fd)))
            return imports[fd]

    def pages(
        self, native: NativeContext, address: int, nbytes: int, source: Storage
    ) -> tuple[Imported, int]:
        """The import of pages that `source` owns, or a living one that has all of them.

        Returns:
            (the import, where in it the pages begin, in bytes).

        Raises:
            LayoutError: these are not whole pages, or only some of them are imported already. A
                driver takes no page twice.
            LevelZeroError: the driver does not take them.
        """
        for _ in range(_TRIES):
            try:
                return self._pages_now(native, address, nbytes, source)
            except LevelZeroError as error:
                if error.code != Result.ERROR_INVALID_ARGUMENT:
                    raise
            # An import that another thread lets go of leaves this table before the driver has
            # forgotten it, and a driver takes no page twice.
            time.sleep(_PAUSE)
        return self._pages_now(native, address, nbytes, source)

    def _pages_now(
        self, native: NativeContext, address: int, nbytes: int, source: Storage
    ) -> tuple[Imported, int]:
        with self._lock:
            end = address + nbytes
            for (first, known_nbytes), known in list(self._pages.items()):
                last = first + known_nbytes
                if first <= address and end <= last:
                    return known, address - first
                if first < end and address < last:
                    raise LayoutError(
                        f"{nbytes} bytes at {address:#x} share a page with memory that is mapped "
                        "already: map the whole first, and then parts of it"
                    )
            imported = Imported(import_pages(native, address, nbytes), source)
            self._pages[address, nbytes] = imported
            return imported, 0

    def clear(self) -> None:
        """Forget all. What mappings still use lives on."""
        with self._lock:
            self._known.clear()
            self._buffers.clear()
            self._pages.clear()

    def _note(self, storage: Storage, allocation: Allocation) -> Storage:
        with self._lock:
            self._known[storage] = allocation
        return storage
