# SPDX-License-Identifier: Apache-2.0
"""A comparison in words and as plain data."""

from __future__ import annotations

from typing import Any

from ._rounds import Comparison
from ._statistics import Spread, differ, verdict

__all__ = ["as_dict", "table", "verdicts"]

OURS, THEIRS = "samebytes", "copying"

_SUBJECTS = {THEIRS: "the copying idiom", "by hand": "the code written by hand"}


def table(comparison: Comparison, mb: str) -> list[str]:
    """What each stage took in each way, and what samebytes saved.

    Args:
        mb: the title of the last column, "MB ...".
    """
    names = comparison.names
    compared = THEIRS in names
    head = ["CPU ms a frame", *names] + (["saved", mb] if compared else [])
    rows = [head]

    def row(title: str, spreads: dict[str, Spread], *stages: str) -> None:
        cells = [title, *(f"{spreads[name].median:.2f}" for name in names)]
        if compared:
            ours, theirs = spreads[OURS], spreads[THEIRS]
            saved = f"{theirs.median - ours.median:.2f}"
            cells.append(saved if differ(ours, theirs) else f"({saved})")
            mb = comparison.copied_mb(THEIRS, *stages) - comparison.copied_mb(OURS, *stages)
            cells.append(f"{mb:.2f}")
        rows.append(cells)

    def cpu(*stages: str) -> dict[str, Spread]:
        return {name: comparison.cpu(name, *stages) for name in names}

    for stage in comparison.stages:
        row(stage, cpu(stage), stage)
    if len(comparison.between) > 1:
        row("without codecs", cpu(*comparison.between), *comparison.between)
    row("all", cpu())
    row("all, wall time", {name: comparison.wall(name) for name in names})
    width = max(len(row[0]) for row in rows)
    return [f"  {first:<{width}}" + "".join(f"{c:>11}" for c in cells) for first, *cells in rows]


def verdicts(comparison: Comparison, between: str, everything: str) -> list[str]:
    """One sentence for each other way and each part of the work.

    Args:
        between, everything: what to call the work without and with the codecs.
    """
    parts = [(between, comparison.between), (everything, comparison.stages)]
    return [
        f"{part}: "
        + verdict(comparison.cpu(OURS, *stages), comparison.cpu(name, *stages), _SUBJECTS[name])
        for name in comparison.names[:0:-1]
        for part, stages in parts
    ]


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """All of it, for --json. Times are milliseconds a frame."""

    def part(name: str, *stages: str) -> dict[str, Any]:
        return {
            "cpu_ms": _spread(comparison.cpu(name, *stages)),
            "wall_ms": _spread(comparison.wall(name, *stages)),
            "mb": comparison.copied_mb(name, *stages),
        }

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
