# SPDX-License-Identifier: Apache-2.0
"""The figures on the page that says why, and when not: a few rows of a run."""

from collections.abc import Mapping
from typing import Any

from devtools.costs.page import figure

__all__ = ["figures"]

# The row, its size, and what it is to a reader who knows no edges yet.
_SHOWN = (
    ("cpu -> openvino", (640, 360), "an array becomes an OpenVINO tensor"),
    ("cpu -> openvino", (3840, 2160), "the same, with a larger picture"),
    ("ffmpeg -> openvino, I420", (1920, 1080), "a decoded frame becomes OpenVINO tensors"),
    ("a frame through a socket, NV12", (1920, 1080), "a frame goes to another process"),
)


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
            cells += [figure(row[key]) for key in ("ours", "by_hand", "copying")]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
