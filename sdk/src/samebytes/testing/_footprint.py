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

# A leak of one object for each of 4,000 calls shows up at ten times these.
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
    """Call `action` many times and see that nothing of it stays, nor waits for the collector.

    Allowed: no descriptor, no native object that `counts` counts; 400 objects and memory blocks,
    and 1.5 MiB, for all calls together, since caches and allocators fill up on the way. Buffers of
    files and resident memory go up and down by themselves: a round in which something grew is
    followed by another, up to three. A leak grows in each.

    Args:
        action: what is repeated.
        times: how often.
        counts: gives the number of living native objects of each kind.
        by_hand: see assert_no_garbage.

    Raises:
        AssertionError: more than that stayed.
    """
    # Meanwhile caches fill, and allocators take their arenas.
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
    """Call `action` many times without Python's collector and see that nothing waits for it.

    A reference cycle keeps frames and buffers until the collector runs, which does not know how
    large they are. What is made once, or for every third call, is not one. So a call more comes
    first, which loads plugins and fills caches: a module that is imported leaves hundreds.

    Args:
        action: what is repeated.
        times: how often, after the first.
        by_hand: the same with the frameworks alone; what that leaves behind is theirs, and allowed.

    Raises:
        AssertionError: at least every second call left an object of one type, more than by hand.
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
    """A block that leaves no descriptor, no owned storage, no context and no native object.

    What is made once (caches, queues, drivers' threads) must have been made before: run the block
    once without this.

    Args:
        counts: gives the number of living native objects of each kind.

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

    It looks at types alone: isinstance() also reads `__class__`, and for objects of other
    libraries that may run code (PyTorch's deprecated names warn).

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
