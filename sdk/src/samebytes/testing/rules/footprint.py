# SPDX-License-Identifier: Apache-2.0
"""Rules about leaks, which show after many repetitions."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ..._core.edges.context import Context
from ..._core.owner.closing import Holder
from ..._core.owner.storage import Storage
from .._footprint import living_objects
from .book import BrokenRule, rule
from .garbage import collector_off, garbage_of, in_excess

__all__ = ["nothing_stays_of_a_mapping", "nothing_stays_of_memory"]

# Far more than the caches that fill on the way.
_ROUNDS = 64
_KINDS = {"storages": Storage, "tensors or frames": Holder, "contexts": Context}


@rule(
    "4.1",
    "memory that was closed or dropped leaves nothing behind",
    means="a program that runs for days fills the memory, or runs out of descriptors",
    do="a Storage releases the memory once, and nothing else holds the Storage: no cycle, no table "
    "with strong references",
)
def nothing_stays_of_memory(*actions: Callable[[], object], nbytes: int) -> None:
    """Allocate again and again; `nbytes` is the memory that an action takes and gives back."""
    for action in actions:
        _require_nothing_left(action, nbytes)


@rule(
    "4.2",
    "a mapping leaves nothing behind",
    means="a program that runs for days fills the memory, or runs out of descriptors",
    do="no table, no closure and no cycle may hold tensors, natives or storages; each descriptor "
    "has one samebytes.Fd",
)
def nothing_stays_of_a_mapping(*actions: Callable[[], object]) -> None:
    """Map again and again."""
    for action in actions:
        _require_nothing_left(action)


def _require_nothing_left(action: Callable[[], object], nbytes: int = 0) -> None:
    """Call `action` many times, and see what it leaves behind.

    Args:
        nbytes: the bytes of memory that it takes and should release; 0 for none of its own.

    Raises:
        BrokenRule: descriptors, storages, tensors, contexts or address space are left, or only the
            garbage collector removed them.
    """
    for _ in range(4):
        action()
    with collector_off():
        before, space = _living(), _address_space()
        for _ in range(_ROUNDS):
            action()
        grown = _grown(before)
        gc.collect()
        left = _grown(before)
        taken = _address_space() - space
    if left:
        raise BrokenRule(f"after {_ROUNDS} times there are {_said(left)} more")
    if grown:
        raise BrokenRule(
            f"after {_ROUNDS} times there were {_said(grown)} more until the garbage collector "
            "ran: a reference cycle holds them"
        )
    if garbage := in_excess(garbage_of(action, _ROUNDS), Counter(), _ROUNDS):
        raise BrokenRule(
            f"after {_ROUNDS} times the garbage collector found {_said(garbage)}: a reference "
            "cycle holds them"
        )
    if nbytes and taken > _ROUNDS * nbytes // 2:
        raise BrokenRule(
            f"after {_ROUNDS} times {nbytes} bytes the process has {taken} bytes more of addresses"
        )


def _living() -> dict[str, int]:
    count = {what: len(living_objects(kind)) for what, kind in _KINDS.items()}
    descriptors = Path("/proc/self/fd")
    if descriptors.is_dir():
        count["descriptors"] = len(list(descriptors.iterdir()))
    return count


def _grown(before: dict[str, int]) -> dict[str, int]:
    now = _living()
    # A cache may hold a few; a leak grows with each call.
    return {what: n - before[what] for what, n in now.items() if n - before[what] >= _ROUNDS // 2}


def _said(count: dict[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in count.items())


def _address_space() -> int:
    """The footprint in bytes; 0 if the system does not report it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(s for s in status.read_text().splitlines() if s.startswith("VmSize:"))
    return int(line.split()[1]) * 1024
