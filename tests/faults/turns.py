# SPDX-License-Identifier: Apache-2.0
"""The order of subjects: in turn, and between turns one that reaches sites struck seldom."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from .sites import OFTEN, names_of_sites

__all__ = ["Turns", "least_struck"]


def least_struck(sites: Iterable[str], strikes: Mapping[str, int], rng: random.Random) -> str:
    """One of the sites: half as often if it was struck twice as often."""
    names = sorted(sites)
    return rng.choices(names, [1 / (1 + strikes.get(name, 0)) for name in names])[0]


class Turns:
    """The order of subjects.

    Attributes:
        strikes: how often each site was struck so far.

    Args:
        names: of the subjects.
        seed: of the choice.
    """

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self.strikes = Counter[str]()
        self._rng = random.Random(seed)
        order = self._rng.sample(names, len(names))
        self._first = order.copy()
        self._cycle = cycle(order)
        self._seconds = dict.fromkeys(names, 0.0)
        # By site, how often each subject that reaches it was struck there.
        self._there: dict[str, Counter[str]] = {}
        self._aims = False

    def next(self) -> str:
        """Each subject once, then every second one for a site that was struck seldom."""
        if self._first:
            return self._first.pop(0)
        self._aims = not self._aims
        if not self._aims or not self._there:
            return next(self._cycle)
        site = least_struck(self._there, self.strikes, self._rng)
        there = self._there[site]
        return max(sorted(there), key=lambda name: (1 + there[name]) / self._seconds[name])

    def add(
        self, name: str, strikes: Mapping[str, int], seen: Iterable[str], seconds: float
    ) -> None:
        """Record the outcome of a subject's turn.

        Args:
            name: of the subject.
            strikes: by site.
            seen: the sites that it reaches.
            seconds: how long the turn took.
        """
        self.strikes.update(strikes)
        self._seconds[name] += seconds
        for site in {*seen, *strikes}:
            self._there.setdefault(site, Counter())[name] += strikes.get(site, 0)

    def why_seldom(self) -> str:
        """A line for each site that was struck less than OFTEN times: what a strike of it costs."""
        lines = []
        for site in names_of_sites():
            if self.strikes[site] >= OFTEN:
                continue
            there = self._there.get(site, Counter())
            spent = sum(self._seconds[name] for name in there)
            if not there:
                why = "nothing that ran here reaches it in the main thread"
            elif not self.strikes[site]:
                why = f"no strike in {spent:.0f} s of {', '.join(sorted(there))}"
            else:
                why = f"{spent / self.strikes[site]:.2f} s a strike in {', '.join(sorted(there))}"
            lines.append(f"{self.strikes[site]:8} {site}: {why}")
        return "\n".join(["seldom struck:", *lines]) if lines else "no site was seldom struck"
