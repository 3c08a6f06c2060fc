# SPDX-License-Identifier: Apache-2.0
"""A line plot as SVG: time against the size of a frame, on a logarithmic axis of time.

It has no background of its own, and colours for a light and for a dark one.
"""

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Curve", "plot"]

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 120, 40, 40
# The width of "7680x4320".
_LABEL = 76
# Both are read on either background, for viewers that do not say which they have.
_STYLE = """\
  text { font: 13px system-ui, sans-serif; fill: #57606a; }
  .title { font-size: 15px; font-weight: 600; }
  .grid { stroke: #8c959f; stroke-opacity: 0.35; }
  .line { fill: none; stroke-width: 2.5; }
  .c0 { stroke: #0969da; fill: #0969da; }
  .c1 { stroke: #6e7781; fill: #6e7781; stroke-dasharray: 5 4; }
  .c2 { stroke: #bc4c00; fill: #bc4c00; }
  circle, text.c0, text.c1, text.c2 { stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1; }
    .c0 { stroke: #58a6ff; fill: #58a6ff; }
    .c1 { stroke: #9198a1; fill: #9198a1; }
    .c2 { stroke: #f0883e; fill: #f0883e; }
    .line { fill: none; }
    circle, text.c0, text.c1, text.c2 { stroke: none; }
  }
"""


class Curve(NamedTuple):
    """One line.

    Attributes:
        label: at its right end.
        values: microseconds, one for each size.
    """

    label: str
    values: Sequence[float]


def plot(title: str, sizes: Sequence[str], curves: Sequence[Curve]) -> str:
    """The picture as text.

    Args:
        title: above it.
        sizes: "1920x1080" and so on: the horizontal axis is the number of pixels.
        curves: three at most.
    """
    every = [value for curve in curves for value in curve.values]
    low = math.floor(math.log10(min(every)))
    high = max(math.ceil(math.log10(max(every))), low + 1)
    pixels = [math.prod(map(int, size.split("x"))) for size in sizes]

    def across(count: int) -> float:
        # By the root, which is the side of a picture: small sizes stay apart.
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.sqrt(count / max(pixels))

    def up(microseconds: float) -> float:
        part = (math.log10(microseconds) - low) / (high - low)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}: time against the size of a frame</title>",
        f"<style>\n{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="20">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        y = up(10.0**power)
        lines.append(
            f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
        )
        lines.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_time(power)}</text>'
        )
    free = -math.inf
    for count, size in sorted(zip(pixels, sizes, strict=True)):
        x = across(count)
        # Below the last one where there is no room beside it.
        row = 20 if x - _LABEL / 2 >= free else 35
        if row == 20:
            free = x + _LABEL / 2
        lines.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + row}" text-anchor="middle">{size}</text>'
        )
    ends = _apart([up(curve.values[-1]) for curve in curves])
    for number, (curve, end) in enumerate(zip(curves, ends, strict=True)):
        points = [(across(n), up(v)) for n, v in zip(pixels, curve.values, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f'<polyline class="line c{number}" points="{path}"/>')
        lines += [f'<circle class="c{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points]
        lines.append(
            f'<text class="c{number}" x="{points[-1][0] + 10:.1f}" y="{end + 4:.1f}">'
            f"{escape(curve.label)}</text>"
        )
    return "\n".join([*lines, "</svg>", ""])


def _apart(places: Sequence[float], least: float = 16) -> list[float]:
    """The places of labels, moved up so that none covers another, nor what is below the plot."""
    moved = list(places)
    order = sorted(range(len(moved)), key=moved.__getitem__, reverse=True)
    for below, above in pairwise(order):
        moved[above] = min(moved[above], moved[below] - least)
    return moved


def _time(power: int) -> str:
    if power < 3:
        return f"{10.0**power:g} us"
    return f"{10.0 ** (power - 3):g} ms"
