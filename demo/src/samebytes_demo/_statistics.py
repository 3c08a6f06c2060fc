# SPDX-License-Identifier: Apache-2.0
"""Statistics of a few noisy measurements."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Spread", "differ", "verdict"]


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, and the range in which all of them lie."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Of one value at least."""
        known = list(values)
        return cls(statistics.median(known), min(known), max(known))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def differ(one: Spread, other: Spread) -> bool:
    """Whether the ranges have nothing in common.

    If both were drawn from the same values, five against five would be apart by chance in one of
    126 comparisons (2 / C(10, 5)), and seven against seven in one of 1716.
    """
    return one.high < other.low or other.high < one.low


def verdict(ours: Spread, theirs: Spread, name: str) -> str:
    """One sentence on what samebytes took beside another way, in milliseconds a frame.

    Args:
        name: of the other way, as the subject of a sentence.
    """
    times = f"samebytes took {ours} ms, {name} {theirs} ms"
    if not differ(ours, theirs):
        return f"{times}: the ranges overlap, so no difference was shown."
    change = abs(theirs.median - ours.median)
    kind = "less" if ours.median < theirs.median else "MORE"
    share = change / theirs.median * 100
    return f"{times}: {change:.2f} ms {kind} ({share:.0f} %)."
