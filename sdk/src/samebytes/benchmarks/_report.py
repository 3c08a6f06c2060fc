# SPDX-License-Identifier: Apache-2.0
"""Rows of the report, and the sentence that states each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypedDict

__all__ = ["Row", "Spent", "row_of"]


class Spent(TypedDict):
    """The time of a call that one function takes.

    Attributes:
        where: "file.py:line(name)", or Python's name of a function in C.
        calls: how often it is called.
        us: microseconds spent in itself, without the functions that it calls.
    """

    where: str
    calls: float
    us: float


@dataclass(slots=True)
class Row:
    """One benchmark at one size. Times are the least, in microseconds.

    Attributes:
        plugin, name: the plugin that it belongs to, and its name.
        size: (width, height) in pixels.
        what, beside, alone, goal, goal_us: as in `Benchmark`.
        ours, by_hand, copying, ratio, spread: as in `Measured`; `ours` is None if nothing was
            measured.
        reason: the reason why nothing was measured, or "".
        profile: for a row above its goal: the results of `costliest` for "ours" and "by_hand".
    """

    plugin: str
    name: str
    size: tuple[int, int]
    what: str = ""
    beside: str = ""
    alone: str = ""
    goal: float | None = None
    goal_us: float | None = None
    ours: float | None = None
    by_hand: float | None = None
    copying: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    reason: str = ""
    profile: dict[str, list[Spent]] = field(default_factory=dict)

    @property
    def above_goal(self) -> bool:
        """True if it takes longer than its goal allows."""
        ratio, ours = self.ratio or 0.0, self.ours or 0.0
        return (self.goal is not None and ratio > self.goal) or (
            self.goal_us is not None and ours > self.goal_us
        )

    def sentence(self) -> str:
        """The figures as a sentence."""
        if self.ours is None:
            return f"{self.what}: not measured, since {self.reason}."
        parts = [f"{self.what} in {_time(self.ours)}"]
        if self.ratio is not None:
            by_hand = f" ({self.beside})" if self.beside else ""
            parts.append(f", {_times(self.ratio)} as long as by hand{by_hand}")
        if self.copying is not None:
            times = self.copying / self.ours
            parts.append(
                f"; the copying way takes {_time(self.copying)}, {_times(times)} as long as this"
            )
        return "".join(parts) + "."


def row_of(fields: dict[str, Any]) -> Row:
    """A row from its JSON."""
    for pair in ("size", "spread"):
        if fields.get(pair) is not None:
            fields[pair] = tuple(fields[pair])
    return Row(**fields)


def _time(microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.3g} us"
    return f"{microseconds / 1000:.3g} ms"


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times" if ratio < 10 else f"{ratio:,.0f} times"
