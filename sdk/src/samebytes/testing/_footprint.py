# SPDX-License-Identifier: Apache-2.0
"""What the process holds: memory, descriptors, objects."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["assert_steady"]

# A leak of one object for each of 10,000 calls shows up at ten times these.
_MAX_BLOCKS = 1_000
_MAX_OBJECTS = 1_000
_ROUNDS = 3
_MAX_RSS = 4 << 20


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
        len(list(Path("/proc/self/fd").iterdir())),
        len(gc.get_objects()),
        sys.getallocatedblocks(),
    )


def assert_steady(action: Callable[[], object], times: int = 10_000) -> None:
    """Call `action` many times and see that nothing of it stays.

    Allowed: no descriptor; 1,000 objects and memory blocks, and 4 MiB, for all calls together,
    since caches and allocators fill up on the way. Resident memory also moves by itself in a large
    process: a round in which it grew is followed by another, up to three. A leak grows in each.

    Raises:
        AssertionError: more than that stayed.
    """
    for _ in range(times // 10):  # caches fill, allocators take their arenas
        action()
    growth = []
    for _ in range(_ROUNDS):
        before = _footprint()
        for _ in range(times):
            action()
        after = _footprint()
        assert after.descriptors == before.descriptors
        assert after.objects - before.objects < _MAX_OBJECTS
        assert after.blocks - before.blocks < _MAX_BLOCKS
        growth.append(after.rss - before.rss)
        if growth[-1] < _MAX_RSS:
            return
    raise AssertionError(f"resident memory grew by {growth} bytes in {_ROUNDS} rounds of {times}")
