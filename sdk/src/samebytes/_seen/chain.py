# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline as an SVG: boxes from left to right, branches below the main line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from .._graph.svg import STYLE, number

if TYPE_CHECKING:
    from ..elements._graph import Graph, Step

__all__ = ["chain_svg"]

# In units of the picture, which are pixels on a page that does not scale it.
_BOX, _GAP, _LANE, _EDGE = 46.0, 36.0, 66.0, 10.0
_PER_LETTER, _PER_SMALL_LETTER, _MARGIN = 8.6, 6.7, 20.0
_SMALL = 'style="font-size:11px"'
Place = tuple[int, int]
"""Column and lane, from 0."""


def chain_svg(graph: Graph, notes: Mapping[str, str]) -> str:
    """The picture, as a document of its own.

    Args:
        graph: the steps.
        notes: a few words below the name of a step, by that name.
    """
    places = _places(graph)
    widths = [0.0] * (1 + max(column for column, _ in places.values()))
    for step, (column, _) in places.items():
        wide = len(step.name) * _PER_LETTER, len(notes.get(step.name, "")) * _PER_SMALL_LETTER
        widths[column] = max(widths[column], *(letters + _MARGIN for letters in wide))
    lefts = [_EDGE + sum(widths[:column]) + column * _GAP for column in range(len(widths))]
    width = lefts[-1] + widths[-1] + _EDGE
    height = 2 * _EDGE + _BOX + _LANE * max(lane for _, lane in places.values())
    size = f'viewBox="0 0 {number(width)} {number(height)}"'
    size += f' width="{number(width)}" height="{number(height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(', '.join(_words(graph)))}</title>",
        f"<style>{STYLE}.link{{stroke:#9198a1}}.tip{{fill:#9198a1}}}}</style>",
        f'<rect class="paper" width="{number(width)}" height="{number(height)}" fill="#ffffff"/>',
    ]
    for step, (column, lane) in places.items():
        middle = _EDGE + lane * _LANE + _BOX / 2
        right = lefts[column] + widths[column]
        for other in step.after:
            there, below = places[other]
            lines.append(_link(right, middle, lefts[there], _EDGE + below * _LANE + _BOX / 2))
        lines += _box(step.name, notes.get(step.name, ""), lefts[column], middle, widths[column])
    return "\n".join([*lines, "</svg>"])


def _places(graph: Graph) -> dict[Step, Place]:
    """The place of each step: the main line is in the first lane, each branch in one below."""
    places = {step: (0, lane) for lane, step in enumerate(graph.sources)}
    ends = dict.fromkeys(range(len(places)), 0)  # the last column of each lane

    def put(steps: list[Step], column: int, lane: int, depth: int) -> None:
        for step in steps:
            place = lane
            if step.depth > depth:  # a branch: the first lane below that is free from here on
                place = lane + 1
                while ends.get(place, -1) >= column:
                    place += 1
            places[step] = column, place
            ends[place] = column
            put(step.after, column + 1, place, step.depth)

    put(graph.first, 1, 0, 0)
    return places


def _words(graph: Graph) -> Iterator[str]:
    """The same in words, for those who do not see the picture."""
    for step in graph:
        yield f"{step.name} to {' and '.join(one.name for one in step.after) or 'the end'}"


def _link(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = number((to_x - x) / 2)
    path = f"M{number(x)} {number(y)}c{bend} 0 {bend} {number(to_y - y)} "
    path += f"{number(to_x - x - 6)} {number(to_y - y)}"
    return (
        f'<path class="link" d="{path}" fill="none" stroke="#59636e" stroke-width="1.6"/>'
        f'<path class="tip" d="M{number(to_x)} {number(to_y)}l-9 -4v8z" fill="#59636e"/>'
    )


def _box(name: str, note: str, left: float, middle: float, width: float) -> Iterator[str]:
    yield (
        f'<rect class="node" x="{number(left)}" y="{number(middle - _BOX / 2)}" '
        f'width="{number(width)}" height="{number(_BOX)}" rx="6"/>'
    )
    x = number(left + width / 2)
    y = number(middle + (-2 if note else 5))
    yield f'<text class="name" x="{x}" y="{y}">{escape(name)}</text>'
    if note:
        y = number(middle + 15)
        yield f'<text class="name" x="{x}" y="{y}" {_SMALL}>{escape(note)}</text>'
