# SPDX-License-Identifier: Apache-2.0
"""The graph as an SVG that needs no script, no font file and no other file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from .._core.edges.edge import Transfer
from .layout import Place, places
from .links import Link

__all__ = ["STYLE", "number", "svg"]

_WIDTH, _HEIGHT, _LEGEND = 1000, 700, 40
# The ring is an ellipse, since names are wide.
_RADIUS = (420.0, 300.0)
_BOX_HEIGHT, _PER_LETTER, _MARGIN = 30.0, 8.6, 22.0
_COLORS = {
    Transfer.ALIAS: "#1a7f37",
    Transfer.IMPORT: "#0969da",
    Transfer.MAP: "#9a6700",
    Transfer.COPY: "#8c959f",
}
_COLORS_ON_DARK = {
    Transfer.ALIAS: "#3fb950",
    Transfer.IMPORT: "#58a6ff",
    Transfer.MAP: "#d29922",
    Transfer.COPY: "#848d97",
}
_MEANINGS = {
    Transfer.ALIAS: "ALIAS: the same pointer",
    Transfer.IMPORT: "IMPORT: another handle",
    Transfer.MAP: "MAP: by the driver",
    Transfer.COPY: "COPY: only with copy=True",
}
# Two lines of one link lie so many units apart.
_APART = 7.0
_ARROW = 10.0
# A line between two nodes of the ring passes the hub at this distance, or farther away.
_CLEAR = 190.0
STYLE = """\
text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}
.name{text-anchor:middle}
.node{fill:#f6f8fa;stroke:#59636e}
.COPY{stroke-dasharray:7 5}
@media (prefers-color-scheme:dark){
.paper{fill:#0d1117}
text{fill:#e6edf3}
.node{fill:#21262d;stroke:#9198a1}
"""
"""Of boxes and names. What is for dark pages comes last, and whoever uses it closes that block."""


def svg(nodes: Sequence[str], links: Sequence[Link]) -> str:
    """The picture, as a document of its own that ends with a line break."""
    at = {
        node: (_WIDTH / 2 + x * _RADIUS[0], _HEIGHT / 2 + y * _RADIUS[1])
        for node, (x, y) in places(nodes, links).items()
    }
    height = _HEIGHT + _LEGEND
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        "<title>What samebytes can map to what</title>",
        f"<desc>{escape(_description(links))}</desc>",
        f"<style>{STYLE}{_colors_on_dark()}}}</style>",
        # A background of its own: a page may be dark where the viewer is not, or the other way.
        f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        *(line for link in links for line in _link(link, at)),
        *(_node(node, place) for node, place in at.items()),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _colors_on_dark() -> str:
    return "".join(
        f".line.{transfer.name}{{stroke:{color}}}.tip.{transfer.name}{{fill:{color}}}\n"
        for transfer, color in _COLORS_ON_DARK.items()
    )


def _description(links: Sequence[Link]) -> str:
    """The same in words, for those who do not see the picture."""
    return "; ".join(_words(link) for link in links)


def _words(link: Link) -> str:
    directions = ((link.first, link.second, link.forth), (link.second, link.first, link.back))
    return ", ".join(
        f"{a} to {b} {' or '.join(t.name for t in transfers)}"
        for a, b, transfers in directions
        if transfers
    )


def _arrowhead(tip: Place, origin: Place, transfer: Transfer) -> str:
    """A triangle at the end of a line that comes from `origin`."""
    length = math.hypot(tip[0] - origin[0], tip[1] - origin[1])
    along = ((tip[0] - origin[0]) / length, (tip[1] - origin[1]) / length)
    back = (tip[0] - _ARROW * along[0], tip[1] - _ARROW * along[1])
    wing = (-along[1] * _ARROW * 0.45, along[0] * _ARROW * 0.45)
    corners = (tip, (back[0] + wing[0], back[1] + wing[1]), (back[0] - wing[0], back[1] - wing[1]))
    path = f"M{'L'.join(map(_point, corners))}z"
    return f'<path class="tip {transfer.name}" d="{path}" fill="{_COLORS[transfer]}"/>'


def _link(link: Link, at: Mapping[str, Place]) -> list[str]:
    """One line for the edges that do not copy, one with dashes for those that do."""
    both = [copies for copies in (False, True) if any(link.arrows(copies=copies))]
    shift = _APART / 2 if len(both) == 2 else 0.0
    return [
        _link_line(link, at, copies=copies, shift=-shift if copies else shift) for copies in both
    ]


def _link_line(link: Link, at: Mapping[str, Place], *, copies: bool, shift: float) -> str:
    (x1, y1), (x2, y2) = at[link.first], at[link.second]
    length = math.hypot(x2 - x1, y2 - y1)
    across = (-(y2 - y1) / length, (x2 - x1) / length)
    bend = _bend((x1, y1), (x2, y2))
    middle = (
        (x1 + x2) / 2 + bend[0] + across[0] * 2 * shift,
        (y1 + y2) / 2 + bend[1] + across[1] * 2 * shift,
    )
    start = _border(link.first, (x1 + across[0] * shift, y1 + across[1] * shift), middle)
    end = _border(link.second, (x2 + across[0] * shift, y2 + across[1] * shift), middle)
    to_first, to_second = link.arrows(copies=copies)
    transfer = Transfer.COPY if copies else link.best
    path = f"M{_point(start)} Q{_point(middle)} {_point(end)}"
    heads = _arrowhead(start, middle, transfer) if to_first else ""
    heads += _arrowhead(end, middle, transfer) if to_second else ""
    return (
        f'<g><title>{escape(_words(link))}</title><path class="line {transfer.name}" d="{path}" '
        f'fill="none" stroke="{_COLORS[transfer]}" stroke-width="1.6"/>{heads}</g>'
    )


def _bend(first: Place, second: Place) -> Place:
    """The offset by which the middle of a line is pulled aside.

    A line between two nodes of the ring is pulled away from the hub if it would pass near it, and
    towards the hub if it would pass through the nodes between the two.
    """
    center = (_WIDTH / 2, _HEIGHT / 2)
    if center in (first, second):
        return (0.0, 0.0)
    x = (first[0] + second[0]) / 2 - center[0]
    y = (first[1] + second[1]) / 2 - center[1]
    distance = math.hypot(x, y)
    if distance >= _CLEAR:
        inwards = min(0.25, (distance - _CLEAR) / distance)
        return (-x * inwards, -y * inwards)
    if distance < 1.0:  # opposite each other: to the side, at right angles
        x, y = -(second[1] - first[1]), second[0] - first[0]
        distance = math.hypot(x, y)
        return (x / distance * _CLEAR, y / distance * _CLEAR)
    pull = (_CLEAR - distance) / distance
    return (x * pull, y * pull)


def _half(node: str) -> Place:
    return (len(node) * _PER_LETTER + _MARGIN) / 2, _BOX_HEIGHT / 2


def _border(node: str, place: Place, towards: Place) -> Place:
    """The point where the line from a node leaves its box, with room for the arrow's tip."""
    dx, dy = towards[0] - place[0], towards[1] - place[1]
    half = _half(node)
    share = min(
        (half[0] + 3) / abs(dx) if dx else math.inf, (half[1] + 3) / abs(dy) if dy else math.inf
    )
    return place[0] + dx * share, place[1] + dy * share


def _node(node: str, place: Place) -> str:
    half = _half(node)
    return (
        f'<rect class="node" x="{number(place[0] - half[0])}" y="{number(place[1] - half[1])}" '
        f'width="{number(2 * half[0])}" height="{number(2 * half[1])}" rx="6"/>'
        f'<text class="name" x="{number(place[0])}" y="{number(place[1] + 5)}">'
        f"{escape(node)}</text>"
    )


def _legend() -> list[str]:
    lines = []
    for index, transfer in enumerate(Transfer):
        x, y = 24 + index * 243, _HEIGHT + _LEGEND / 2 - 5
        lines.append(
            f'<path class="line {transfer.name}" d="M{x} {y}H{x + 38}" '
            f'stroke="{_COLORS[transfer]}" stroke-width="1.6"/>'
            f"{_arrowhead((x + 38, y), (x, y), transfer)}"
            f'<text x="{x + 46}" y="{y + 5}" style="font-size:12px">{_MEANINGS[transfer]}</text>'
        )
    return lines


def _point(place: Place) -> str:
    return f"{number(place[0])} {number(place[1])}"


def number(value: float) -> str:
    """A number to a tenth, so that the text does not depend on the last bits of a cosine."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
