# SPDX-License-Identifier: Apache-2.0
"""A comparison in words and as plain data."""

from __future__ import annotations

from typing import Any

from ._rounds import Comparison
from ._statistics import Paired, Spread, verdict

__all__ = ["as_dict", "table", "verdicts"]

OURS, THEIRS = "samebytes", "copying"

_SUBJECTS = {THEIRS: "the copying idiom", "by hand": "the code written by hand"}


def table(comparison: Comparison, mb: str) -> list[str]:
    """The lines of a table: the times of each stage in each way, and the savings of samebytes.

    Args:
        mb: the title of the last column, "MB ...".
    """
    names = comparison.names
    compared = THEIRS in names
    head = ["CPU ms a frame", *names] + (["saved", mb] if compared else [])
    rows = [head]

    def row(title: str, *stages: str, wall: bool = False) -> None:
        spread = comparison.wall if wall else comparison.cpu
        cells = [title, *(f"{spread(name, *stages).median:.2f}" for name in names)]
        if compared:
            found = (comparison.wall_beside if wall else comparison.cpu_beside)(THEIRS, *stages)
            cells.append(f"{found.median:.2f}" if found.shown else f"({found.median:.2f})")
            mb = comparison.copied_mb(THEIRS, *stages) - comparison.copied_mb(OURS, *stages)
            cells.append(f"{mb:.2f}")
        rows.append(cells)

    for stage in comparison.stages:
        row(stage, stage)
    if len(comparison.between) > 1:
        row("without codecs", *comparison.between)
    row("all")
    row("all, wall time", wall=True)
    width = max(len(row[0]) for row in rows)
    return [f"  {first:<{width}}" + "".join(f"{c:>11}" for c in cells) for first, *cells in rows]


def verdicts(comparison: Comparison, between: str, everything: str) -> list[str]:
    """One sentence for each other way and each part of the work.

    Args:
        between, everything: the names of the work without and with the codecs.
    """
    parts = [(between, comparison.between), (everything, comparison.stages)]
    return [
        f"{part}: {verdict(comparison.cpu_beside(name, *stages), _SUBJECTS[name])}"
        for name in comparison.names[:0:-1]
        for part, stages in parts
    ]


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain data, for --json. Times are milliseconds a frame."""

    def part(name: str, *stages: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "cpu_ms": _spread(comparison.cpu(name, *stages)),
            "wall_ms": _spread(comparison.wall(name, *stages)),
            "mb": comparison.copied_mb(name, *stages),
        }
        if name != OURS:
            found["samebytes_saved_cpu"] = _paired(comparison.cpu_beside(name, *stages))
            found["samebytes_saved_wall"] = _paired(comparison.wall_beside(name, *stages))
        return found

    return {
        "frames": comparison.frames,
        "rounds": comparison.rounds,
        "ways": {
            name: {
                "stages": {stage: part(name, stage) for stage in comparison.stages},
                "without_codecs": part(name, *comparison.between),
                "all": part(name),
            }
            for name in comparison.names
        },
        "missing": comparison.missing,
        "disagree": comparison.disagree,
    }


def _spread(spread: Spread) -> dict[str, float]:
    return {"median": spread.median, "low": spread.low, "high": spread.high}


def _paired(found: Paired) -> dict[str, Any]:
    return {
        "ms": found.median,
        "rounds_less": found.less,
        "rounds_more": found.more,
        "shown": found.shown,
    }
