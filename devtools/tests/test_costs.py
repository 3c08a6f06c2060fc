# SPDX-License-Identifier: Apache-2.0
"""The pages and plots of costs are what the recorded run gives, and show what they are given."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from devtools.costs import RECORD, costs, made_of
from devtools.costs.plot import Curve, plot
from devtools.costs.why import figures
from devtools.workspace import ROOT

_SVG = "{http://www.w3.org/2000/svg}"
RUN = json.loads(RECORD.read_text())


def test_what_is_shown_was_made_from_the_record() -> None:
    for path, content in made_of(RUN).items():
        assert (ROOT / path).read_text() == content, f"{path}: python3 dev.py costs"


def test_every_plot_of_the_page_is_there() -> None:
    text = (ROOT / "docs/explanation/costs.md").read_text()
    shown = set(re.findall(r"\((costs-\w+\.svg)\)", text))
    assert shown == {path.name for path in made_of(RUN) if path.suffix == ".svg"}
    assert shown


def test_the_plots_say_what_the_text_says() -> None:
    """Flat for samebytes, rising for copies, from the smallest size to the largest."""
    for row in ("cpu -> openvino", "ffmpeg -> openvino, I420", "a frame through a socket, NV12"):
        rows = [r for r in RUN["rows"] if r["name"] == row and r["size"] != [318, 238]]
        rows.sort(key=lambda r: r["size"][0])
        assert rows[-1]["ours"] < 1.5 * rows[0]["ours"]
        assert rows[-1]["copying"] > 10 * rows[0]["copying"]


def test_a_plot_is_svg_with_a_point_for_each_value() -> None:
    curves = [Curve("ours", [2.0, 2.0, 2.0]), Curve("others <1>", [3.0, 90.0, 900.0])]
    root = ET.fromstring(plot("A & B", ["640x360", "1920x1080", "3840x2160"], curves))
    lines = root.findall(f"{_SVG}polyline")
    flat, rising = ([tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
                    for line in lines)  # fmt: skip
    assert len({y for _, y in flat}) == 1
    assert [y for _, y in rising] == sorted((y for _, y in rising), reverse=True)
    assert [x for x, _ in flat] == [x for x, _ in rising] == sorted(x for x, _ in flat)
    assert len(root.findall(f"{_SVG}circle")) == 6
    words = [text.text for text in root.findall(f"{_SVG}text")]
    assert {"A & B", "others <1>", "640x360", "1 us", "1 ms"} <= set(words)


def test_labels_do_not_cover_each_other() -> None:
    curves = [Curve(name, [5.0, 5.0]) for name in "abc"]
    root = ET.fromstring(plot("t", ["64x64", "128x128"], curves))
    places = sorted(
        float(text.attrib["y"])
        for text in root.findall(f"{_SVG}text")
        if text.text in ("a", "b", "c")
    )
    assert all(below - above >= 16 for above, below in pairwise(places))
    assert places[-1] <= 330  # above the axis, below which the sizes stand


def test_sizes_do_not_cover_each_other() -> None:
    sizes = ["318x238", "640x360", "1920x1080", "7680x4320"]
    root = ET.fromstring(plot("t", sizes, [Curve("a", [5.0] * 4)]))
    found = {text.text: text.attrib for text in root.findall(f"{_SVG}text")}
    places = sorted((found[size]["y"], float(found[size]["x"])) for size in sizes)
    assert len({y for y, _ in places}) == 2
    for (row, left), (other, right) in pairwise(places):
        assert row != other or right - left >= 76


def test_a_record_of_somewhere_else_is_kept(tmp_path: Path) -> None:
    for folder in ("explanation", "reference"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    record = tmp_path / "run.json"
    record.write_text(json.dumps({**RUN, "processor": "a made-up one"}))
    written = costs(record, tmp_path)
    assert tmp_path / "docs/explanation/costs.json" in written
    assert "a made-up one" in (tmp_path / "docs/reference/costs-of-edges.md").read_text()


@pytest.mark.parametrize("missing", ["ours", "by_hand"])
def test_rows_without_figures(missing: str) -> None:
    row = {**RUN["rows"][0], missing: None, "ratio": None, "spread": None, "reason": "no | reason"}
    made = made_of({**RUN, "rows": [row]})
    page = made[Path("docs/reference/costs-of-edges.md")]
    assert ("no \\| reason" in page) == (missing == "ours")


def test_the_page_that_says_why_has_the_figures_of_the_run() -> None:
    shown = figures(RUN)
    assert shown.count("\n|") == 6
    row = next(r for r in RUN["rows"] if (r["name"], r["size"]) == ("cpu -> openvino", [640, 360]))
    assert f"| 640x360 | {row['ours']:.1f} | {row['by_hand']:.1f} | {row['copying']:.1f} |" in shown
    assert figures({**RUN, "rows": [{**row, "ours": None}]}).count("\n|") == 2
