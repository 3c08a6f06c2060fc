# SPDX-License-Identifier: Apache-2.0
"""Measuring two ways of doing the same, one right after the other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Row", "compare", "interleaved", "plain", "print_rows"]

_ROUNDS = 15
_ROUND_SECONDS = 0.02


@dataclass(frozen=True)
class Row:
    """One line of the report.

    Attributes:
        name: what was measured.
        native: of the hand-written way, in `unit`.
        ours: of samebytes, in `unit`.
        ratio: the median over rounds of ours / native within one round; None for plain times.
        target: what docs/explanation/costs.md says it may be at most, in the same terms.
    """

    name: str
    native: float | None
    ours: float
    ratio: float | None
    target: float | None = None
    unit: str = "us"


def compare(
    name: str,
    native: Callable[[], object],
    ours: Callable[[], object],
    target: float | None = None,
) -> Row:
    """Time both in turns. A round's two halves meet the same noise; the median drops the rest."""
    count = max(5, int(_ROUND_SECONDS / max(_seconds(native, 20), 1e-7)))
    _seconds(ours, count)
    theirs, mine, ratios = [], [], []
    for _ in range(_ROUNDS):
        a, b = _seconds(native, count), _seconds(ours, count)
        theirs.append(a)
        mine.append(b)
        ratios.append(b / a)
    return Row(
        name,
        statistics.median(theirs) * 1e6,
        statistics.median(mine) * 1e6,
        statistics.median(ratios),
        target,
    )


def plain(name: str, ours: Callable[[], object], target: float | None = None) -> Row:
    """Time one way by itself, in microseconds."""
    count = max(5, int(_ROUND_SECONDS / max(_seconds(ours, 20), 1e-7)))
    took = [_seconds(ours, count) for _ in range(_ROUNDS)]
    return Row(name, None, min(took) * 1e6, None, target)


def interleaved(ways: Mapping[str, Callable[[], object]], rounds: int = 40) -> dict[str, float]:
    """The least seconds of CPU time of each way, all threads together, in turns.

    Of the time on the clock a loaded machine takes its part, and more from the longer way.
    """
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, run in ways.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    return least


def _seconds(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def print_rows(title: str, rows: list[Row]) -> None:
    """A table; a star marks what is above its target."""
    print(f"\n{title}")
    width = max(len(r.name) for r in rows)
    print(f"  {'':{width}}  {'native':>10}  {'samebytes':>10}  {'ratio':>6}  {'target':>7}")
    for row in rows:
        native = f"{row.native:10.2f}" if row.native is not None else " " * 10
        ratio = f"{row.ratio:6.2f}" if row.ratio is not None else " " * 6
        reached = row.ratio if row.ratio is not None else row.ours
        target = f"{row.target:7g}" if row.target is not None else " " * 7
        star = " *" if row.target is not None and reached > row.target else ""
        print(
            f"  {row.name:{width}}  {native}  {row.ours:10.2f}  {ratio}  {target} {row.unit}{star}"
        )
