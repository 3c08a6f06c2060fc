# SPDX-License-Identifier: Apache-2.0
"""ImportCache: what is imported once, for how long it is remembered, and what it refuses."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from samebytes import Storage
from samebytes.plugins import ImportCache

PAGE = 4096


class Imported:
    """An object that ends an import when its last holder goes."""

    def __init__(self, keep: object = None) -> None:
        self.keep = keep


def noted(order: list[str]) -> Imported:
    imported = Imported()
    weakref.finalize(imported, order.append, "import")
    return imported


def never(*_: Any) -> Any:
    raise AssertionError("not to be called")


@pytest.fixture
def cache() -> ImportCache[Imported]:
    return ImportCache(page=PAGE)


def test_an_import_is_remembered_as_long_as_its_source_lives(cache: ImportCache[Imported]) -> None:
    source, other = Storage(), Storage()
    first = weakref.ref(cache.of_source(source, 3, Imported))
    assert cache.of_source(source, 3, never) is first()
    assert cache.of_source(source, 4, Imported) is not first()
    # The same number of a descriptor, of another file.
    assert cache.of_source(other, 3, Imported) is not first()
    assert len(cache) == 3
    alive = weakref.ref(source)
    del source
    assert alive() is None, "the cache must not hold the source"
    assert first() is None
    assert len(cache) == 1


def test_an_import_ends_before_its_source_gives_the_memory_back(
    cache: ImportCache[Imported],
) -> None:
    order: list[str] = []
    source = Storage(partial(order.append, "memory"))
    for key in (1, 2):
        imported = cache.of_source(source, key, Imported)
        weakref.finalize(imported, order.append, "import")
    del imported, source
    assert order == ["import", "import", "memory"]


def test_memory_of_a_pool_is_imported_once(cache: ImportCache[Imported]) -> None:
    """For whatever use of it."""
    memory = Storage()
    first = cache.of_source(ImportCache.Lease(keep=memory), 1, Imported)
    assert cache.of_source(ImportCache.Lease(keep=memory), 1, never) is first
    assert cache.of_source(memory, 1, never) is first


def test_imports_of_addresses_end_before_their_mapping(cache: ImportCache[Imported]) -> None:
    """The leased memory does not own its mapping: a memfd is mapped once for all leases."""
    order: list[str] = []
    memory = Storage(partial(order.append, "memory"))
    mapping = Storage(partial(order.append, "mapping"), address=PAGE, nbytes=PAGE)
    for _ in range(2):
        lease = ImportCache.Lease(address=PAGE, nbytes=PAGE, keep=memory, holds=mapping)
        imported = cache.of_source(lease, PAGE, lambda: noted(order))
    assert len(cache) == 1, "it is one import all the same"
    del imported, lease
    assert order == []
    del mapping
    assert order == ["import", "mapping"]
    lease = ImportCache.Lease(address=PAGE, nbytes=PAGE, keep=memory)
    cache.of_source(lease, PAGE, lambda: noted(order))
    del lease
    assert order == ["import", "mapping", "import"], "nobody else is known to own the address"
    assert len(cache) == 0


def test_so_many_imports_of_one_memory_are_remembered(cache: ImportCache[Imported]) -> None:
    """Since layouts, which are in keys, may come from another process."""
    source, other = Storage(), Storage()
    kept = cache.of_source(other, 0, Imported)
    in_use = cache.of_source(source, 0, Imported)
    gone = weakref.ref(cache.of_source(source, 1, Imported))
    for key in range(2, 66):
        cache.of_source(source, key, Imported)
    assert gone() is None
    assert len(cache) == 64 + 1
    assert cache.of_source(source, 65, never) is not in_use
    assert cache.of_source(other, 0, never) is kept
    assert cache.of_source(source, 0, Imported) is not in_use


def test_what_was_entered_first_is_everybodys(cache: ImportCache[Imported]) -> None:
    """Another thread has imported the same meanwhile, and lent it to somebody."""
    source = Storage()
    first: list[Imported] = []

    def slow() -> Imported:
        first.append(cache.of_source(source, 1, Imported))
        return Imported()

    assert cache.of_source(source, 1, slow) is first[0]
    assert cache.of_source(source, 1, never) is first[0]


def test_a_source_that_is_imported_again_and_again_is_released_once(
    cache: ImportCache[Imported],
) -> None:
    order: list[str] = []
    source = Storage(partial(order.append, "memory"))
    other: ImportCache[Imported] = ImportCache(page=PAGE)
    for _ in range(2_000):  # more than Python would call one inside another
        other.of_source(source, 1, Imported)
        cache.of_source(source, 1, Imported)
        cache.clear()
    for of in (cache, other):
        weakref.finalize(of.of_source(source, 2, Imported), order.append, "import")
    del source
    assert order == ["import", "import", "memory"]


def test_a_cache_that_is_gone_leaves_the_release_of_its_sources() -> None:
    order: list[str] = []
    source = Storage(partial(order.append, "memory"))
    cache: ImportCache[Imported] = ImportCache(page=PAGE)
    imported = weakref.ref(cache.of_source(source, 1, Imported))
    del cache
    assert imported() is None
    del source
    assert order == ["memory"]


def test_an_import_in_use_holds_its_source(cache: ImportCache[Imported]) -> None:
    source = Storage()
    alive = weakref.ref(source)
    seen: list[Imported] = []
    key, make = id(source), partial(Imported, source)
    imported = cache.in_use(key, make, never)
    assert cache.in_use(key, never, seen.append) is imported
    assert seen.pop() is imported
    del source, make
    assert alive() is not None
    del imported
    assert alive() is None
    assert len(cache) == 0


def test_pages_are_taken_once(cache: ImportCache[Imported]) -> None:
    class TakenError(Exception):
        pass

    def pages(address: int, nbytes: int, make: Callable[[], Imported] = Imported) -> Any:
        return cache.pages(address, nbytes, make, taken=lambda _: TakenError())

    whole, start = pages(16 * PAGE, 4 * PAGE)
    assert start == 0
    assert pages(16 * PAGE, 4 * PAGE, never) == (whole, 0)
    assert pages(17 * PAGE + 5, PAGE, never) == (whole, PAGE + 5)
    for first, last in ((15, 17), (19, 21), (15, 21)):
        with pytest.raises(TakenError):
            pages(first * PAGE, (last - first) * PAGE, never)
    with pytest.raises(TakenError):
        pages(20 * PAGE - 10, 20, never)
    behind, _ = pages(20 * PAGE, PAGE)
    before, _ = pages(15 * PAGE, PAGE)
    assert len({whole, behind, before}) == 3
    assert cache.on_pages(20 * PAGE - 1, 2) == [whole, behind]
    del whole
    pages(16 * PAGE, PAGE)


def test_pages_on_part_of_a_page_share_it(cache: ImportCache[Imported]) -> None:
    half, _ = cache.pages(PAGE, PAGE // 2, Imported, taken=never)
    with pytest.raises(KeyError):
        cache.pages(PAGE + PAGE // 2, 8, never, taken=lambda _: KeyError())
    assert cache.on_pages(2 * PAGE - 1, 1) == [half]
    assert cache.on_pages(2 * PAGE, 1) == []


def test_hooks_of_pages(cache: ImportCache[Imported]) -> None:
    def refuse(_: Imported) -> None:
        raise PermissionError

    held, _ = cache.pages(0, PAGE, Imported, taken=never, again=never)
    with pytest.raises(PermissionError):
        cache.pages(0, PAGE, never, taken=never, again=refuse)
    elsewhere, _ = cache.pages(PAGE, PAGE, Imported, taken=never, remembers=lambda _: False)
    assert cache.on_pages(0, 2 * PAGE) == [held]
    del elsewhere


def test_what_fails_is_not_remembered(cache: ImportCache[Imported]) -> None:
    def fails() -> Imported:
        raise OSError

    source = Storage()
    ways: list[Callable[[Callable[[], Imported]], Imported]] = [
        lambda make: cache.of_source(source, 1, make),
        lambda make: cache.in_use(1, make),
        lambda make: cache.pages(0, PAGE, make, taken=never)[0],
    ]
    for ask in ways:
        with pytest.raises(OSError):  # noqa: PT011 - it has no message
            ask(fails)
        assert ask(Imported) is not None


def test_what_is_cleared_lives_on(cache: ImportCache[Imported]) -> None:
    source = Storage()
    held = cache.of_source(source, 1, Imported), cache.in_use(1, Imported)
    cache.clear()
    assert len(cache) == 0
    assert cache.of_source(source, 1, Imported) is not held[0]


def test_threads_get_one_import_of_a_key(cache: ImportCache[Imported]) -> None:
    source, started = Storage(), threading.Barrier(4)
    made: list[int] = []
    found: list[Imported] = []

    def slowly() -> Imported:
        made.append(1)
        gc.collect()
        return Imported()

    def ask() -> None:
        started.wait(10)
        found.append(cache.of_source(source, 1, Imported))
        found.append(cache.in_use(1, slowly))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 8
    assert len(set(found)) == 2
    assert made == [1]


@pytest.mark.parametrize("how", ["in_use", "pages"])
def test_an_import_whose_release_has_begun_is_not_found(how: str) -> None:
    """Its weak reference is alive until the finalizer has returned."""
    cache: ImportCache[Storage] = ImportCache()
    inside, go_on = threading.Event(), threading.Event()

    def release() -> None:
        inside.set()
        assert go_on.wait(10)

    def find(make: Any) -> Storage:
        if how == "in_use":
            return cache.in_use("key", make)
        taken: Any = lambda _: AssertionError("it is not taken any more")  # noqa: E731
        return cache.pages(1 << 20, 4096, make, taken=taken)[0]

    held = [find(lambda: Storage(release))]
    number = id(held[0])
    assert find(Storage) is held[0]
    other = threading.Thread(target=held.clear)
    other.start()
    assert inside.wait(10)
    again = find(Storage)
    assert id(again) != number
    go_on.set()
    other.join()
    assert find(Storage) is again
