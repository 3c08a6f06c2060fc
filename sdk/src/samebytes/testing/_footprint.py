# SPDX-License-Identifier: Apache-2.0
"""The footprint of the process: memory, descriptors, objects, storages, native objects."""

from __future__ import annotations

import gc
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from samebytes import Context, Storage

from .rules.garbage import garbage_of, in_excess

__all__ = ["Counts", "assert_no_garbage", "assert_nothing_left", "assert_steady", "living_objects"]

_T = TypeVar("_T")

# A leak of one object in each of 4,000 calls is ten times as much.
_MOST = {"objects": 400, "blocks": 400, "rss": 3 << 19}
_ROUNDS = 3

Counts = Callable[[], Mapping[str, int]]
"""A function that counts the living native objects by kind: `Memory.native_counts`."""


class _Footprint(NamedTuple):
    """The resident size in bytes, open descriptors, Python's objects and memory blocks."""

    rss: int
    descriptors: int
    objects: int
    blocks: int


def _footprint() -> _Footprint:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return _Footprint(
        pages * resource.getpagesize(),
        _descriptors(),
        len(gc.get_objects()),
        sys.getallocatedblocks(),
    )


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _no_counts() -> Mapping[str, int]:
    return {}


def assert_steady(
    action: Callable[[], object],
    times: int = 4_000,
    *,
    counts: Counts = _no_counts,
    by_hand: Callable[[], object] | None = None,
) -> None:
    """Call `action` many times and require that nothing is left or waits for the collector.

    No descriptor and no native object that `counts` counts may be left. For all calls together,
    up to 400 objects, 400 memory blocks and 1.5 MiB are allowed, since caches and allocators fill
    up on the way. File buffers and resident memory also vary by themselves, so a round in which
    something grew is repeated, up to three rounds in all: a leak grows in each.

    Args:
        action: the function to call.
        times: how often to call it.
        counts: returns the number of living native objects of each kind.
        by_hand: see assert_no_garbage.

    Raises:
        AssertionError: more than this was left.
    """
    # A warm-up too: caches fill, and allocators take their arenas.
    assert_no_garbage(action, times // 10, by_hand=by_hand)
    growth = []
    for _ in range(_ROUNDS):
        before, natives = _footprint(), dict(counts())
        for _ in range(times):
            action()
        after = _footprint()
        assert dict(counts()) == natives, "native objects stay"
        assert after.descriptors == before.descriptors
        grown = {name: getattr(after, name) - getattr(before, name) for name in _MOST}
        if all(grown[name] < most for name, most in _MOST.items()):
            return
        growth.append(grown)
    raise AssertionError(f"growth in each of {_ROUNDS} rounds of {times} calls: {growth}")


def assert_no_garbage(
    action: Callable[[], object],
    times: int = 1_000,
    *,
    by_hand: Callable[[], object] | None = None,
) -> None:
    """Call `action` many times without Python's collector and require that nothing waits for it.

    A reference cycle keeps frames and buffers until the collector runs, and the collector does not
    know how large they are. Garbage that is made once, or by every third call, does not count. One
    extra call comes first, to load plugins and fill caches: an imported module leaves hundreds of
    objects.

    Args:
        action: the function to call.
        times: how often to call it, after the first call.
        by_hand: does the same with the frameworks alone; what this leaves behind is allowed.

    Raises:
        AssertionError: at least every second call left one object of some type more than `by_hand`.
    """
    theirs = Counter[str]()
    if by_hand is not None:
        by_hand()
        theirs = garbage_of(by_hand, times)
    action()
    left = in_excess(garbage_of(action, times), theirs, times)
    assert not left, f"{times} calls left to the garbage collector: {left}"


@contextmanager
def assert_nothing_left(counts: Counts = _no_counts) -> Iterator[None]:
    """A block that must leave no descriptor, owned storage, context or native object behind.

    Anything that is made once (caches, queues, drivers' threads) must exist before: run the code
    of the block once without this.

    Args:
        counts: returns the number of living native objects of each kind.

    Raises:
        AssertionError: something is left.
    """
    before, natives = _living(), dict(counts())
    yield
    left = {kind: n - before[kind] for kind, n in _living().items()}
    more = {kind: n for kind, n in left.items() if n > 0}
    assert not more, f"left over: {more}"
    assert dict(counts()) == natives, "native objects are left over, or were given back twice"


def living_objects(kind: type[_T]) -> list[_T]:
    """The objects of a class and its subclasses that the garbage collector knows.

    Objects are selected by type alone: isinstance() would also read `__class__`, which may run code
    of other libraries (PyTorch's deprecated names warn).

    Args:
        kind: the class.
    """
    return [o for o in gc.get_objects() if issubclass(type(o), kind)]


def _living() -> dict[str, int]:
    gc.collect()
    return {
        "descriptors": _descriptors(),
        "storages": sum(storage.release is not None for storage in living_objects(Storage)),
        "contexts": len(living_objects(Context)),
    }
