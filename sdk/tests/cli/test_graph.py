# SPDX-License-Identifier: Apache-2.0
"""`samebytes graph`: what it draws, and that it draws the same each time."""

from __future__ import annotations

import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest

from samebytes import Transfer
from samebytes.__main__ import main
from samebytes._graph.layout import places
from samebytes._graph.links import Link, links_of, nodes_of
from samebytes._graph.svg import svg
from samebytes.plugins import MapperSpec

SVG = "{http://www.w3.org/2000/svg}"
Capture = pytest.CaptureFixture[str]


def edge(source: str, target: str, transfer: Transfer = Transfer.ALIAS) -> MapperSpec:
    return MapperSpec(
        source=source, target=target, transfer=transfer, mapper="no:Class", summary="by hand"
    )


EDGES = [
    edge("cpu", "a"),
    edge("a", "cpu"),
    edge("cpu", "b", Transfer.COPY),
    edge("cpu", "b", Transfer.IMPORT),
    edge("b", "<c> & d", Transfer.MAP),
    edge("e", "cpu", Transfer.COPY),
    edge("cpu", "cpu", Transfer.COPY),
]


def drawn(edges: list[MapperSpec]) -> ET.Element:
    return ET.fromstring(svg(nodes_of(edges), links_of(edges)))


def test_links_join_the_edges_of_a_pair() -> None:
    assert links_of(EDGES) == [
        Link("<c> & d", "b", (), (Transfer.MAP,)),
        Link("a", "cpu", (Transfer.ALIAS,), (Transfer.ALIAS,)),
        Link("b", "cpu", (), (Transfer.IMPORT, Transfer.COPY)),
        Link("cpu", "e", (), (Transfer.COPY,)),
    ]


def test_every_node_and_edge_is_drawn_and_copies_are_dashed() -> None:
    picture = drawn(EDGES)
    boxes = [text.text for text in picture.iter(f"{SVG}text") if text.get("class") == "name"]
    assert sorted(filter(None, boxes)) == ["<c> & d", "a", "b", "cpu", "e"]
    lines = {}
    for group in picture.iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title")
        line, *heads = group.findall(f"{SVG}path")
        kind, transfer = line.get("class", "").split()
        assert kind == "line"
        assert {head.get("class") for head in heads} == {f"tip {transfer}"}
        lines[title, transfer] = len(heads)
    assert lines == {
        ("b to <c> & d MAP", "MAP"): 1,
        ("a to cpu ALIAS, cpu to a ALIAS", "ALIAS"): 2,
        ("cpu to b IMPORT or COPY", "IMPORT"): 1,
        ("cpu to b IMPORT or COPY", "COPY"): 1,
        ("e to cpu COPY", "COPY"): 1,
    }
    style = picture.findtext(f"{SVG}style")
    assert style is not None
    assert ".COPY{stroke-dasharray" in style


def test_every_transfer_has_a_colour_on_light_and_on_dark() -> None:
    picture = drawn(EDGES)
    light, _, dark = (picture.findtext(f"{SVG}style") or "").partition("prefers-color-scheme:dark")
    assert "fill:#1f2328" in light
    for transfer in Transfer:
        assert f".line.{transfer.name}{{stroke:#" in dark
        assert f".tip.{transfer.name}{{fill:#" in dark


def test_boxes_are_apart_and_inside() -> None:
    many = [edge("cpu", f"framework:{n}") for n in range(17)]
    boxes = [
        tuple(float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
        for rect in drawn(many).iter(f"{SVG}rect")
        if rect.get("class") == "node"
    ]
    assert len(boxes) == 18
    for x, y, width, height in boxes:
        assert x >= 0
        assert y >= 0
        assert x + width <= 1000
        assert y + height <= 700
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x1 + w1 < x2 or x2 + w2 < x1 or y1 + h1 < y2 or y2 + h2 < y1


def test_the_hub_is_in_the_middle_and_linked_nodes_are_neighbours() -> None:
    ring = "abcdefgh"
    chain = [edge(x, y) for x, y in zip("aceg", "bdfh", strict=True)]
    spokes = [edge("hub", node) for node in ring]
    edges = [*chain, *spokes]
    found = places(nodes_of(edges), links_of(edges))
    assert found["hub"] == (0.0, 0.0)
    side = 2 * math.sin(math.pi / len(ring))
    for x, y in zip("aceg", "bdfh", strict=True):
        assert math.dist(found[x], found[y]) == pytest.approx(side)


def test_no_plugin_and_a_node_alone() -> None:
    assert places([], []) == {}
    assert "cpu" in svg(["cpu"], [])
    assert drawn([]).tag == f"{SVG}svg"


@pytest.mark.usefixtures("alpha")
def test_text(capsys: Capture) -> None:
    assert main(["graph"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["alpha", "  - -> cpu  COPY", "cpu"]
    assert "  ---> alpha  ALIAS" in lines
    assert not [line for line in lines if "many" in line]  # its edge needs an absent plugin


@pytest.mark.usefixtures("alpha")
def test_dot(capsys: Capture) -> None:
    assert main(["graph", "--format", "dot"]) == 0
    out = capsys.readouterr().out
    assert '  "alpha" -> "cpu" [label="COPY", style=dashed];\n' in out
    assert '  "cpu" -> "alpha" [label="ALIAS"];\n' in out
    assert out.startswith("digraph samebytes {")
    assert out.endswith("}\n")


@pytest.mark.usefixtures("alpha")
def test_the_ending_of_the_file_says_the_format(tmp_path: Path, capsys: Capture) -> None:
    for name, start in (("a.svg", "<svg "), ("a.dot", "digraph "), ("a.txt", "alpha\n")):
        assert main(["graph", "--output", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(start)
    assert capsys.readouterr().out == ""
    assert main(["graph", "--output", str(tmp_path / "a.txt"), "--format", "svg"]) == 0
    assert (tmp_path / "a.txt").read_text().startswith("<svg ")


@pytest.mark.usefixtures("alpha")
def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: Capture) -> None:
    assert main(["graph", "--output", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.together
def test_the_same_in_every_process() -> None:
    """Neither the order of sets nor that of the plugins shows in the picture."""
    seen = {
        subprocess.run(
            [sys.executable, "-m", "samebytes", "graph", "--format", "svg"],
            env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=60, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(seen) == 1
