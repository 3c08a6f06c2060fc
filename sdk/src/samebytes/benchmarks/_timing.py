# SPDX-License-Identifier: Apache-2.0
"""Timing several ways of doing the same, in turns.

Other programs slow a machine down, and never speed it up: the least time is nearest to the truth.
The ways take turns within each round, so that a slow second meets all of them.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from ._spec import Ways

__all__ = ["FULL", "QUICK", "Effort", "Measured", "measure"]

_FRESH_AT_MOST = 16
"""The most objects that are made in advance for a way that needs a new one for each call."""
_ENOUGH = 5
"""The number of repeats from which the two outermost can be left out."""
_ROUNDS_AT_LEAST = 2
"""The least number of rounds, however long the calls take."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The number and the length of measurements.

    Attributes:
        repeats: how often everything is measured; the spread is that of the repeats.
        rounds: turns in each repeat; fewer if a single call takes long.
        seconds: about how long each way runs in one turn.
    """

    repeats: int
    rounds: int
    seconds: float


# Short turns, many of them: on a busy machine some pass without an interruption.
FULL = Effort(repeats=5, rounds=30, seconds=0.001)
"""The effort for figures that are reported."""
QUICK = Effort(repeats=3, rounds=5, seconds=0.0005)
"""The effort for a quick look: a fraction of a second for each benchmark."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The time that one call of each way takes.

    Attributes:
        ours, by_hand, copying: microseconds, the least of all rounds; None for a way that the row
            does not have.
        ratio: the ratio of `ours` to `by_hand`: the median over the repeats, each of them with its
            own least times. The ratio of the least times of all would compare moments at which the
            machine had different clocks.
        spread: the smallest and the largest of these ratios. Of five repeats or more the two
            outermost are left out: one that was interrupted all the time means nothing.
    """

    ours: float
    by_hand: float | None = None
    copying: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None


def measure(ways: Ways, effort: Effort = FULL) -> Measured:
    """Time the ways in turns.

    Args:
        ways: the calls that are compared.
        effort: how long to measure.

    Returns:
        The least time of one call of each way, in microseconds, and the ratio with its range.
    """
    calls = {
        name: call
        for name in ("ours", "by_hand", "copying")
        if (call := getattr(ways, name)) is not None
    }
    with _without_collector():
        for call in calls.values():
            _seconds(ways, call, 1)  # what happens once for each process
        counts = {name: _count(ways, call, effort) for name, call in calls.items()}
        repeats = [_least(ways, calls, counts, effort) for _ in range(effort.repeats)]
    least = {name: min(r[name] for r in repeats) * 1e6 / ways.each for name in calls}
    ratios = sorted(r["ours"] / r["by_hand"] for r in repeats) if "by_hand" in calls else []
    if len(ratios) >= _ENOUGH:
        ratios = ratios[1:-1]
    return Measured(
        least["ours"],
        least.get("by_hand"),
        least.get("copying"),
        median(ratios) if ratios else None,
        (ratios[0], ratios[-1]) if ratios else None,
    )


def _least(
    ways: Ways,
    calls: dict[str, Callable[..., object]],
    counts: dict[str, int],
    effort: Effort,
) -> dict[str, float]:
    """The least seconds of each."""
    least = dict.fromkeys(calls, float("inf"))
    # Copying by itself: it empties the processor's caches, which would be billed to the others.
    for turns in (("ours", "by_hand"), ("copying",)):
        end = time.perf_counter() + 2 * effort.rounds * effort.seconds
        for number in range(effort.rounds):
            if number >= _ROUNDS_AT_LEAST and time.perf_counter() > end:
                break
            for name in turns:
                if name in calls:
                    took = _seconds(ways, calls[name], counts[name])
                    least[name] = min(least[name], took)
    return least


def _count(ways: Ways, call: Callable[..., object], effort: Effort) -> int:
    """The number of calls that fill a turn."""
    took = min(_seconds(ways, call, 2) for _ in range(3))
    count = max(1, int(effort.seconds / max(took, 1e-8)))
    return count if ways.fresh is None else min(count, _FRESH_AT_MOST)


def _seconds(ways: Ways, call: Callable[..., object], count: int) -> float:
    """The seconds of one call, from a series of so many."""
    if ways.timed:
        timed: Callable[..., Any] = call
        return float(min(timed() for _ in range(count)))
    clock = time.process_time if ways.cpu_time else time.perf_counter
    if ways.fresh is None:
        numbers = range(count)
        start = clock()
        for _ in numbers:
            call()
        return (clock() - start) / count
    made = [ways.fresh() for _ in range(count)]
    start = clock()
    for one in made:
        call(one)
    return (clock() - start) / count


@contextmanager
def _without_collector() -> Iterator[None]:
    """Switch the cyclic collector off: it would bill one way for the objects left by another."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
