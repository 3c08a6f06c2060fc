# SPDX-License-Identifier: Apache-2.0
"""The imports of a context, so that memory that comes again is not imported again."""

from __future__ import annotations

import time
import weakref

from samebytes import Fd, Storage
from samebytes.errors import LayoutError
from samebytes.plugins import ImportCache, Lock, memory_size

from ._abi.results import Result
from ._allocation import Allocation
from ._errors import LevelZeroError
from ._imports import import_fd, import_pages
from ._native_context import NativeContext

__all__ = ["Imported", "Imports"]


_TRIES = 20
_PAUSE = 0.001
"""Seconds. A release takes microseconds; twenty of these pauses are for a busy machine."""


class Imported:
    """Memory of another owner, imported into a context until the last holder is gone.

    Attributes:
        allocation: the memory.
        storage: the owner of the import.
    """

    __slots__ = ("__weakref__", "allocation", "storage")

    def __init__(self, allocation: Allocation, storage: Storage) -> None:
        self.allocation = allocation
        self.storage = storage


class Imports:
    """The memory of one context that is known here, and the imports into the context."""

    __slots__ = ("_cache", "_known", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: weakref.WeakKeyDictionary[Storage, Allocation] = weakref.WeakKeyDictionary()
        self._cache: ImportCache[Imported] = ImportCache()

    def note(self, storage: Storage, allocation: Allocation) -> Storage:
        """Remember the memory of the context that a storage owns; return the storage."""
        with self._lock:
            self._known[storage] = allocation
        return storage

    def mapping(self, imported: Imported) -> Storage:
        """An owner for one mapping of an import.

        Each mapping has an owner of its own, since an import may outlive its mappings, and must not
        hold the source that each of them holds.
        """
        address, nbytes = imported.storage.address, imported.storage.nbytes
        storage = Storage(address=address, nbytes=nbytes, holds=imported)
        return self.note(storage, imported.allocation)

    def known(self, storage: Storage) -> Allocation | None:
        """The USM of this context that `storage` owns, if it does."""
        with self._lock:
            return self._known.get(storage)

    def buffer(self, native: NativeContext, source: Storage, fd: int) -> Imported:
        """The import of a DMA-BUF whose descriptor `source` owns: of the whole, and only once.

        Raises:
            LayoutError: the memory behind the descriptor has no size.
            LevelZeroError: the driver does not take it.
        """

        def make() -> Imported:
            with Fd.borrow(fd) as borrowed:
                return Imported(*import_fd(native, borrowed, memory_size(fd)))

        # The driver holds the memory itself, so an import needs no reference to its source.
        return self._cache.of_source(source, fd, make)

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

        def make() -> Imported:
            # Pages must outlive their import.
            return Imported(*_import_released(native, address, nbytes, source))

        def taken(_: Imported) -> LayoutError:
            return LayoutError(
                f"{nbytes} bytes at {address:#x} share a page with memory that is already mapped: "
                "map the whole first, then parts of it"
            )

        return self._cache.pages(address, nbytes, make, taken=taken)

    def clear(self) -> None:
        """Forget all imports. Those that mappings still use live on."""
        with self._lock:
            self._known.clear()
        self._cache.clear()


def _import_released(
    native: NativeContext, address: int, nbytes: int, keep: object
) -> tuple[Allocation, Storage]:
    """Import pages, of which another thread may be releasing an import.

    The old import leaves the cache before the driver forgets it, and a driver takes no page twice.
    """
    for _ in range(_TRIES):
        try:
            return import_pages(native, address, nbytes, keep)
        except LevelZeroError as error:
            if error.code != Result.ERROR_INVALID_ARGUMENT:
                raise
        time.sleep(_PAUSE)
    return import_pages(native, address, nbytes, keep)
