# SPDX-License-Identifier: Apache-2.0
"""Statistics of a few noisy measurements, made in turns."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

__all__ = ["Paired", "Spread", "by_chance", "verdict"]

_MAY_BE_CHANCE = 1 / 20


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, and the range in which all of them lie."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of the values, of which there must be at least one."""
        known = list(values)
        return cls(statistics.median(known), min(known), max(known))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True)
class Paired:
    """Measurements of samebytes and of another way in the same rounds.

    Anything that slows the machine during a round slows both and cancels out in their difference,
    but not in the ranges over all rounds.

    Attributes:
        ours, theirs: the time that each took, over all rounds.
        saved: how much less time samebytes took in each round; negative if it took more.
    """

    ours: Spread
    theirs: Spread
    saved: tuple[float, ...]

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> Paired:
        """The pairs of the values of each round, in the same order."""
        saved = tuple(b - a for a, b in zip(ours, theirs, strict=True))
        return cls(Spread.of(ours), Spread.of(theirs), saved)

    @property
    def median(self) -> float:
        """The median of the savings of the rounds."""
        return statistics.median(self.saved)

    @property
    def less(self) -> int:
        """The number of rounds in which samebytes took less time."""
        return sum(saved > 0 for saved in self.saved)

    @property
    def more(self) -> int:
        """The number of rounds in which samebytes took more time."""
        return sum(saved < 0 for saved in self.saved)

    @property
    def shown(self) -> bool:
        """True if more rounds agree than chance would plausibly explain."""
        return by_chance(max(self.less, self.more), len(self.saved)) < _MAY_BE_CHANCE


def by_chance(agree: int, rounds: int) -> float:
    """The probability that this many rounds or more agree, in either direction, by chance.

    By chance, either way is the quicker one in half of the rounds: this is the sign test.
    """
    if 2 * agree <= rounds:
        return 1.0
    return sum(comb(rounds, k) for k in range(agree, rounds + 1)) / (1 << (rounds - 1))


def verdict(found: Paired, name: str) -> str:
    """One sentence that compares samebytes with another way, in milliseconds a frame.

    Args:
        name: the name of the other way, as the subject of a sentence.
    """
    times = f"samebytes took {found.ours} ms, {name} {found.theirs} ms"
    rounds = len(found.saved)
    if not found.shown:
        signs = f"less in {found.less} of {rounds} rounds, more in {found.more}"
        return f"{times}: {signs}, so no difference was shown."
    kind = "less" if found.less > found.more else "MORE"
    share = abs(found.median) / found.theirs.median * 100
    agree = max(found.less, found.more)
    return (
        f"{times}: {abs(found.median):.2f} ms {kind} ({share:.0f} %), in {agree} of {rounds} "
        "rounds."
    )
