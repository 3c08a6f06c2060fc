# SPDX-License-Identifier: Apache-2.0
"""Garbage: what reference cycles keep until Python's collector runs.

A cycle keeps the frames, buffers and descriptors that it reaches, however little Python itself
knows of their size, so the collector runs late: a video's worth of frames can wait for it.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["collector_off", "garbage_of", "in_excess"]


@contextmanager
def collector_off() -> Iterator[None]:
    """A block in which Python's collector does not run; it has run right before."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def garbage_of(action: Callable[[], object], times: int) -> Counter[str]:
    """Call `action` with the collector off, and count what waits for it then, by type."""
    with collector_off():
        for _ in range(times):
            action()
        return _collected()


def in_excess(garbage: Counter[str], by_hand: Counter[str], times: int) -> dict[str, int]:
    """Return the types of which at least every second call leaves one more than by hand.

    A cache that is filled again leaves a few; a cycle leaves one for each call.
    """
    return {kind: n for kind, n in garbage.items() if n - by_hand[kind] >= max(times // 2, 1)}


def _collected() -> Counter[str]:
    """Collect, and count what was garbage, by type."""
    before = gc.get_debug()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        kinds = Counter(_name(type(each)) for each in gc.garbage)
    finally:
        gc.set_debug(before)
        gc.garbage.clear()
    gc.collect()
    return kinds


def _name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
