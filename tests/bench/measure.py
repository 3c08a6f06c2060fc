# SPDX-License-Identifier: Apache-2.0
"""Measuring two ways of doing the same, one right after the other."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Row", "print_rows"]


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
