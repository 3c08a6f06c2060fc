# SPDX-License-Identifier: Apache-2.0
"""The picture of a pipeline that a notebook shows."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import samebytes.elements as el

from .pictures import numbers

SVG = "{http://www.w3.org/2000/svg}"


@el.inplace(takes=el.Image("GRAY8", memory="cpu"))
def look(frame: Any) -> None:
    """Does nothing."""


@el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
def write(frame: Any) -> None:
    """Does nothing."""


def boxes(picture: str) -> dict[str, tuple[float, float, float]]:
    """The left and right edge and the top of each step's box, by its name."""
    root = ET.fromstring(picture)
    rects = [one for one in root.iter(f"{SVG}rect") if one.get("class") == "node"]
    names = [one.text for one in root.iter(f"{SVG}text") if not one.get("style")]
    found = {}
    for name, rect in zip(names, rects, strict=True):
        left, top, width = (float(rect.attrib[word]) for word in ("x", "y", "width"))
        assert name is not None
        found[name] = left, left + width, top
    return found


def links(picture: str) -> set[tuple[str, str]]:
    """The names that each line leads from and to, by where it begins and ends."""
    at, found = boxes(picture), set()
    for path in ET.fromstring(picture).iter(f"{SVG}path"):
        if path.get("class") == "link":
            x, y, _, _, _, _, dx, dy = map(float, re.findall(r"-?[\d.]+", path.attrib["d"]))
            (one,) = [n for n, (_, right, top) in at.items() if (right, top + 23) == (x, y)]
            near = {
                n: abs(left - x - dx) + abs(top + 23 - y - dy) for n, (left, _, top) in at.items()
            }
            found.add((one, min(near, key=near.__getitem__)))
    return found


def test_a_line_of_elements() -> None:
    picture = el.Pipeline(numbers(count=1), look(), write())._repr_svg_()
    assert links(picture) == {("numbers", "look"), ("look", "write")}
    at = boxes(picture)
    assert at["numbers"][1] < at["look"][0] < at["look"][1] < at["write"][0]
    assert len({top for _, _, top in at.values()}) == 1


def test_sources_and_branches_lie_below_each_other() -> None:
    pipe = el.Pipeline(
        [numbers(count=1), numbers(count=1)],
        [look(), [look(), look()], look()],
        [look()],
        write(),
        [look()],
        look(),
    )
    picture = pipe._repr_svg_()
    first = ("look", "look#5", "write")
    assert links(picture) == {
        *((source, step) for source in ("numbers", "numbers#2") for step in first),
        ("look", "look#2"), ("look#2", "look#3"), ("look", "look#4"),
        ("write", "look#6"), ("write", "look#7"),
    }  # fmt: skip
    places = [(left, top) for left, _, top in boxes(picture).values()]
    assert len(set(places)) == len(places)


def test_the_title_says_the_same_in_words() -> None:
    title = ET.fromstring(el.Pipeline(numbers(count=1), [look()], lambda f: f)._repr_svg_())[0]
    assert title.text == "numbers to look and <lambda>, look to the end, <lambda> to the end"


def test_a_running_one_says_where_frames_are_taken() -> None:
    with el.Pipeline(numbers(count=2), look(), write()).start(threads=0) as out:
        next(out)
        picture = ET.fromstring(out._repr_svg_())
    notes = [one.text for one in picture.iter(f"{SVG}text") if one.get("style")]
    assert notes == ["image GRAY8 16x8 in cpu", 'in cpu, "r"', 'in cpu, "rw"']
