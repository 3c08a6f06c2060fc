# SPDX-License-Identifier: Apache-2.0
"""The page with every row of a run."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

_HEAD = """\
# What each edge costs

Every row of `samebytes bench`, written by `python3 dev.py costs` from
[costs.json](../explanation/costs.json), the record of one run of

<!-- not run: it measures for minutes, and tests do not measure -->
```sh
{command}
```

on {machine}.

Times are microseconds of one call, the least of many rounds in which samebytes and the call by
hand took turns. "Times" is the median of their ratio over {repeats} repeats, and in brackets its
range without the two outermost. A star marks what is above its goal:
[Costs](../explanation/costs.md) says why, and `samebytes bench --profile ROW` where the time goes.
On software devices the times say nothing about hardware; what samebytes does besides the native
calls is the same there. "First time" is with memory that was not mapped before, "again" with the
same memory once more.
"""
_COLUMNS = "| what | size | samebytes | by hand | times | copying |\n|---|---|---|---|---|---|"
_COMMAND = (
    "samebytes-softdevices run --gpu --npu --vaapi --cuda -- samebytes bench --json > run.json"
)


def page(run: Mapping[str, Any]) -> str:
    """The text of the page."""
    machine = f"{run['processor']}, {run['cores']} cores, Python {run['python']}"
    parts = [_HEAD.format(command=_COMMAND, machine=machine, repeats=run["repeats"])]
    measured = [row for row in run["rows"] if row["ours"] is not None]
    for plugin, rows in groupby(measured, key=lambda row: row["plugin"]):
        parts.append(f"\n## {plugin}\n\n{_COLUMNS}\n" + "\n".join(map(_table_row, rows)) + "\n")
    missing = [row for row in run["rows"] if row["ours"] is None]
    if missing:
        parts.append("\n## Not measured\n\n| what | why |\n|---|---|")
        whys = (row["reason"].splitlines()[0].replace("|", "\\|") for row in missing)
        names = (escaped(row["name"]) for row in missing)
        parts += [f"| {name} | {why} |" for name, why in zip(names, whys, strict=True)]
        parts.append("")
    return "\n".join(parts)


def goals(run: Mapping[str, Any]) -> str:
    """The table of the rows that have a goal, each in its first size."""
    seen: set[tuple[str, str]] = set()
    lines = ["| what | by hand, us | samebytes, us | times | goal |", "|---|---|---|---|---|"]
    for row in run["rows"]:
        key = row["plugin"], row["name"]
        if row["ours"] is None or key in seen or not (row["goal"] or row["goal_us"]):
            continue
        seen.add(key)
        times = ""
        if row["ratio"] is not None and row["goal"]:
            times = f"{row['ratio']:.2f} ({row['spread'][0]:.2f} to {row['spread'][1]:.2f})"
        goal = f"{row['goal']:g}" if row["goal"] else f"{row['goal_us']:g} us"
        star = " *" if row["above_goal"] else ""
        hand, ours = figure(row["by_hand"]), figure(row["ours"])
        lines.append(f"| {escaped(row['name'])} | {hand} | {ours} | {times} | {goal}{star} |")
    return "\n".join(lines)


def _table_row(row: Mapping[str, Any]) -> str:
    size = "x".join(map(str, row["size"]))
    times = ""
    if row["ratio"] is not None:
        low, high = row["spread"]
        star = " *" if row["above_goal"] else ""
        times = f"{row['ratio']:.2f} ({low:.2f} to {high:.2f}){star}"
    elif row["above_goal"]:
        times = "*"
    cells = [escaped(row["name"]), size, *map(figure, (row["ours"], row["by_hand"])), times]
    return f"| {' | '.join(cells)} | {figure(row['copying'])} |"


def figure(microseconds: float | None) -> str:
    """A time as text for a cell; "" for None."""
    if microseconds is None:
        return ""
    return f"{microseconds:.2f}" if microseconds < 100 else f"{microseconds:.0f}"


def escaped(text: str) -> str:
    """A row's name as text for a cell."""
    return f"`{text}`" if "(" in text or "_" in text else text
