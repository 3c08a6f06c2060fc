# SPDX-License-Identifier: Apache-2.0
"""What the process holds: memory, descriptors, objects, storages, native objects."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from samebytes import Context, Storage

__all__ = ["Counts", "assert_nothing_left", "assert_steady", "living_objects"]

_T = TypeVar("_T")

# A leak of one object for each of 10,000 calls shows up at ten times these.
_MAX_BLOCKS = 1_000
_MAX_OBJECTS = 1_000
_ROUNDS = 3
_MAX_RSS = 4 << 20

Counts = Callable[[], Mapping[str, int]]
"""How many native objects live, by kind: `Memory.native_counts`."""


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
    action: Callable[[], object], times: int = 10_000, *, counts: Counts = _no_counts
) -> None:
    """Call `action` many times and see that nothing of it stays.

    Allowed: no descriptor, no native object that `counts` counts; 1,000 objects and memory blocks,
    and 4 MiB, for all calls together, since caches and allocators fill up on the way. Resident
    memory also moves by itself in a large process: a round in which it grew is followed by
    another, up to three. A leak grows in each.

    Args:
        action: what is repeated.
        times: how often.
        counts: gives the number of living native objects of each kind.

    Raises:
        AssertionError: more than that stayed.
    """
    for _ in range(times // 10):  # caches fill, allocators take their arenas
        action()
    growth = []
    for _ in range(_ROUNDS):
        before, natives = _footprint(), dict(counts())
        for _ in range(times):
            action()
        after = _footprint()
        assert dict(counts()) == natives, "native objects stay"
        assert after.descriptors == before.descriptors
        assert after.objects - before.objects < _MAX_OBJECTS
        assert after.blocks - before.blocks < _MAX_BLOCKS
        growth.append(after.rss - before.rss)
        if growth[-1] < _MAX_RSS:
            return
    raise AssertionError(f"resident memory grew by {growth} bytes in {_ROUNDS} rounds of {times}")


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
