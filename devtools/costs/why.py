# SPDX-License-Identifier: Apache-2.0
"""The figures on the page that says why, and when not: a few rows of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.workspace import ROOT

__all__ = ["PAGE", "figures", "with_figures"]

PAGE = Path("docs/explanation/why.md")
_BEGIN, _END = "<!-- begin: python3 dev.py costs -->", "<!-- end -->"
# The row, its size, and what it is to a reader who knows no edges yet.
_SHOWN = (
    ("cpu -> openvino", (640, 360), "an array becomes an OpenVINO tensor"),
    ("cpu -> openvino", (3840, 2160), "the same, with a larger picture"),
    ("ffmpeg -> openvino, I420", (1920, 1080), "a decoded frame becomes OpenVINO tensors"),
    ("a frame through a socket, NV12", (1920, 1080), "a frame goes to another process"),
)


def with_figures(run: Mapping[str, Any]) -> str:
    """The page, with the figures of a run in it."""
    head, _, rest = (ROOT / PAGE).read_text().partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    return f"{head}{_BEGIN}\n{figures(run)}\n{_END}{tail}"


def figures(run: Mapping[str, Any]) -> str:
    """The table of the rows that were measured, in the order of the page."""
    measured = {
        (row["name"], tuple(row["size"])): row for row in run["rows"] if row["ours"] is not None
    }
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
            cells += [_figure(row[key]) for key in ("ours", "by_hand", "copying")]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(microseconds: float | None) -> str:
    if microseconds is None:
        return ""
    return f"{microseconds:.1f}" if microseconds < 100 else f"{microseconds:,.0f}"
