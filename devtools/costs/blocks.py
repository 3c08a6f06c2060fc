# SPDX-License-Identifier: Apache-2.0
"""Blocks of handwritten pages that are made from a run."""

import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from devtools import blocks
from devtools.costs.page import escaped, figure, goals

_MARK = re.compile(r"<!-- begin: python3 dev\.py costs, ([\w-]+) -->")
Row = Mapping[str, Any]
# The row, its size, and its description for a reader who knows no edges yet.
_SHOWN = (
    ("cpu -> openvino", (640, 360), "an array becomes an OpenVINO tensor"),
    ("cpu -> openvino", (3840, 2160), "the same, with a larger picture"),
    ("ffmpeg -> openvino, I420", (1920, 1080), "a decoded frame becomes OpenVINO tensors"),
    ("a frame through a socket, NV12", (1920, 1080), "a frame goes to another process"),
)


def filled(text: str, run: Mapping[str, Any]) -> str:
    """The page with each of its blocks made from the run.

    Raises:
        KeyError: nothing makes one of the blocks.
    """
    names = _MARK.findall(text)
    return blocks.filled(text, {f"python3 dev.py costs, {n}": BLOCKS[n](run) for n in names})


def _measured(run: Mapping[str, Any]) -> list[Row]:
    return [row for row in run["rows"] if row["ours"] is not None]


def _goals(run: Mapping[str, Any]) -> str:
    machine = f"{run['processor']}, {run['cores']} cores, Python {run['python']}"
    return f"Taken on {machine}.\n\n{goals(run)}"


def _copying(run: Mapping[str, Any]) -> str:
    """Every row in which copying takes less time than samebytes, in at least one of its sizes."""
    lines = []
    rows = [row for row in _measured(run) if row["copying"] is not None]
    for (_, name), group in groupby(rows, key=lambda row: (row["plugin"], row["name"])):
        sizes = sorted(group, key=_pixels)
        slower = [row for row in sizes if row["ours"] > row["copying"]]
        if slower:
            shown = max(slower, key=_pixels)
            cells = (
                escaped(name),
                _size(shown),
                figure(shown["ours"]),
                figure(shown["copying"]),
                _break_even(sizes),
            )
            lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return "In no row of this run."
    head = "| what | size | samebytes, us | copying, us | as fast at |\n|---|---|---|---|---|"
    return "\n".join([head, *lines])


def _break_even(rows: list[Row]) -> str:
    """The size from which copying takes longer, estimated between two that were measured."""
    if len(rows) == 1:
        return "not measured: one size"
    slower = [row for row in rows if row["ours"] > row["copying"]]
    last = slower[-1]
    after = rows[rows.index(last) + 1 :]
    if not after:
        return "larger than what was measured"
    # The difference grows with the bytes, so with the pixels.
    first = after[0]
    lost, won = last["ours"] - last["copying"], first["copying"] - first["ours"]
    at = _pixels(last) + (_pixels(first) - _pixels(last)) * lost / (lost + won)
    return f"about {at / 1e6:.1f} million pixels"


def _images(run: Mapping[str, Any]) -> str:
    """Milliseconds of CPU time for a frame, for each way to an image model."""
    lines = [
        "| frames | PrePostProcessor | copying | `image_model` | `resize=` |",
        "|---|---|---|---|---|",
    ]
    rows = {row["name"]: row for row in _measured(run)}
    for name, row in rows.items():
        resized = rows.get(name.replace("image_model", "image_model(resize=)"))
        if name.startswith("image_model, ") and resized is not None:
            each = row["by_hand"], row["copying"], row["ours"], resized["ours"]
            cells = (f"{us / 1e3:.2g} ms" for us in each)
            lines.append(f"| {name.partition(', ')[2]} | {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else "The run that is recorded has none."


def _pixels(row: Row) -> int:
    return int(row["size"][0] * row["size"][1])


def _size(row: Row) -> str:
    return "x".join(map(str, row["size"]))


def _why(run: Mapping[str, Any]) -> str:
    """A few measured rows for the page on the reasons, in its order."""
    measured = {(row["name"], tuple(row["size"])): row for row in _measured(run)}
    lines = [
        f"Taken on {run['processor']}, {run['cores']} cores, Python {run['python']}; microseconds.",
        "",
        "| what | size | samebytes | shared by hand | copied |",
        "|---|---|---|---|---|",
    ]
    for name, size, what in _SHOWN:
        row = measured.get((name, size))
        if row is not None:
            cells = [what, "x".join(map(str, size))]
            cells += [figure(row[key]) for key in ("ours", "by_hand", "copying")]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


BLOCKS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "goals": _goals,
    "copying": _copying,
    "images": _images,
    "why": _why,
}
