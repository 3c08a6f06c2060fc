# SPDX-License-Identifier: Apache-2.0
"""ImportCache: memory that comes round again, as in a pool, is imported once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from .locks import KeyLocks, Lock
from .storage import Imports, LeasedStorage, Storage

__all__ = ["ImportCache"]

T = TypeVar("T")
_MOST = 64  # of one memory: layouts may be a peer's choice


def _is_ending(known: object) -> bool:
    # For other objects, weak references are cleared before what they hold is dropped.
    return isinstance(known, Storage) and known.ending


class ImportCache(Generic[T]):
    """A driver's imports of memory that others made. A `T` ends its import when it is dropped.

    Which method to use depends on who holds whom:

    * `of_source`: the import is remembered as long as its source lives, or until 64 newer ones of
      it came, and ends before the source gives its memory back. So it must hold neither the source
      nor a native that does: the source would then never end. Its users hold the source as well,
      unless the driver itself holds the memory, as it does for a DMA-BUF.
    * `in_use` and `pages`: the memory must outlive its import, which therefore holds the source.
      The import is remembered while somebody uses it.

    A mapping that uses an import has a storage of its own, `Storage(holds=imported)`. Imports are
    found by storages and addresses, not by the number of a descriptor, which soon belongs to
    another file. Any thread may use a cache at any time. Each use of memory that comes round again
    is an `ImportCache.Lease(give_back, keep=storage)`: then it is imported once, for all uses.

    Args:
        page: the size of the driver's pages, in bytes; None for that of the system's.
    """

    __slots__ = ("_by_source", "_in_use", "_lock", "_making", "_page", "_pages")
    Lease: TypeAlias = LeasedStorage

    def __init__(self, *, page: int | None = None) -> None:
        import mmap  # a library, which nothing else needs as early

        self._page = mmap.PAGESIZE if page is None else page
        self._lock = Lock()
        self._making = KeyLocks()  # two imports at a time of the same memory would be wrong
        self._by_source: WeakKeyDictionary[Storage, Imports] = WeakKeyDictionary()
        self._in_use: WeakValueDictionary[Hashable, T] = WeakValueDictionary()
        self._pages: WeakValueDictionary[tuple[int, int], T] = WeakValueDictionary()

    def of_source(self, source: Storage, key: Hashable, make: Callable[[], T]) -> T:
        """The import of what `source` owns, or the one that `make()` makes.

        Args:
            source: owns the descriptor.
            key: distinguishes imports of one source: the descriptor, the layout, the access.
            make: imports the memory; if two threads do so at a time, the first import stays.
        """
        # An import of addresses must end before the mapping in which they lie.
        for home in (source.keep, source.holds) if isinstance(source, LeasedStorage) else ():
            if isinstance(home, Storage) and (not source.address or home.address == source.address):
                source = home
                break
        known = self._by_source.get(source)
        found: T | None = None if known is None else known.get(key)
        if found is None:
            made = make()
            with self._lock:
                known = known or self._by_source.get(source)
                if known is None:
                    known = Imports()  # the source knows them first: they end before it
                    living = [one for one in source._imports if one() is not None]
                    source._imports = (*living, ref(known))
                    self._by_source[source] = known
                found = known.setdefault(key, made)
                if len(known) > _MOST:
                    made = known.pop(next(iter(known)))  # ends without the lock, unless in use
        return found

    def in_use(
        self, key: Hashable, make: Callable[[], T], again: Callable[[T], object] | None = None
    ) -> T:
        """The living import of a key, or the one that `make()` makes; one thread at a time does.

        Args:
            key: distinguishes imports. If an id() or address of memory is in it, the import holds
                the owner of that.
            make: imports the memory.
            again: called with an import that was there already.
        """
        with self._making.of(key):
            found = self._in_use.get(key)
            if found is None or _is_ending(found):
                found = self._in_use[key] = make()
            elif again is not None:
                again(found)
        return found

    def pages(
        self,
        address: int,
        nbytes: int,
        make: Callable[[], T],
        *,
        taken: Callable[[T], Exception],
        again: Callable[[T], object] | None = None,
        remembers: Callable[[T], bool] = lambda _: True,
    ) -> tuple[T, int]:
        """The import of memory of the CPU by its pages, for drivers that take each page once.

        Args:
            address, nbytes: of the memory.
            make: imports it.
            taken: the error for memory that shares a page with a living import of part of it.
            again: called with a living import that contains the memory; it may raise.
            remembers: whether an import that was made is one of these very pages.

        Returns:
            (the import, where in it the memory begins, in bytes).
        """
        with self._making.of(ImportCache):  # ranges overlap: one lock for all
            for (first, size), known in self._living():
                if first <= address and address + nbytes <= first + size:
                    if again is not None:
                        again(known)
                    return known, address - first
                if self._shares_page((first, size), (address, nbytes)):
                    raise taken(known)
            made = make()
            if remembers(made):
                self._pages[address, nbytes] = made
        return made, 0

    def on_pages(self, address: int, nbytes: int) -> list[T]:
        """The living imports that have a page of that memory.

        Args:
            address, nbytes: where the memory begins, and its size in bytes.
        """
        return [k for pages, k in self._living() if self._shares_page(pages, (address, nbytes))]

    def _living(self) -> Iterator[tuple[tuple[int, int], T]]:
        # Not items(): the collector, or another thread, may add or remove some meanwhile.
        for reference in self._pages.valuerefs():
            known = reference()
            if known is not None and not _is_ending(known):
                yield reference.key, known

    def __len__(self) -> int:
        """The number of imports that are remembered."""
        by_source = sum(map(len, list(self._by_source.values())))
        return by_source + len(self._in_use) + len(self._pages)

    def clear(self) -> None:
        """Forget all imports. Those in use live on."""
        with self._lock:
            for imports in list(self._by_source.values()):
                imports.clear()
            self._in_use.clear()
            self._pages.clear()

    def _shares_page(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        ends = [-(-(start + nbytes) // self._page) for start, nbytes in (one, other)]
        return max(one[0], other[0]) // self._page < min(ends)
