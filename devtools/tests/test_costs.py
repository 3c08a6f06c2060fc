# SPDX-License-Identifier: Apache-2.0
"""The pages and plots of costs are what the recorded run gives, and show what they are given."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from devtools.costs import EXPLAINED, RECORD, costs, made_of
from devtools.costs.blocks import BLOCKS, filled
from devtools.costs.plot import plot
from devtools.workspace import ROOT

_SVG = "{http://www.w3.org/2000/svg}"
RUN = json.loads(RECORD.read_text())


def test_what_is_shown_was_made_from_the_record() -> None:
    for path, content in made_of(RUN).items():
        # Another version of matplotlib draws the same plot otherwise.
        if path.suffix == ".svg":
            continue
        assert (ROOT / path).read_text() == content, f"{path}: python3 dev.py costs"


def test_what_is_above_its_goal_has_its_reason() -> None:
    text = (ROOT / "docs/explanation/costs.md").read_text()
    _, _, reasons = text.partition("## What is above its goal, and why")
    named = {name for cell in re.findall(r"^\| (`.*?`) \| ", reasons, re.MULTILINE)
             for name in re.findall(r"`[\"'](.+?)[\"']`", cell)}  # fmt: skip
    assert {
        row["name"] for row in RUN["rows"] if row["ours"] is not None and row["above_goal"]
    } <= named


def test_every_block_is_shown_and_made() -> None:
    marks = [
        name
        for page in EXPLAINED
        for name in re.findall(r"dev\.py costs, ([\w-]+) -->", (ROOT / page).read_text())
    ]
    assert sorted(marks) == sorted(BLOCKS)


def row_of(name: str, ours: float, **others: Any) -> dict[str, Any]:
    """As a run has them."""
    fields = {"plugin": "p", "name": name, "size": [10, 10], "ours": ours, "by_hand": None}
    fields |= {"copying": None, "ratio": None, "spread": None, "goal": None, "goal_us": None}
    return {**fields, "above_goal": False, "reason": "", **others}


def block(name: str, *rows: dict[str, Any]) -> str:
    mark = f"<!-- begin: python3 dev.py costs, {name} -->\n"
    return filled(f"before\n{mark}old\n<!-- end -->\nafter", {**RUN, "rows": rows})


def test_where_copying_is_faster() -> None:
    sizes = [([1000, 1000], 40.0), ([3000, 1000], 140.0), ([4000, 1000], 190.0)]
    rows = [row_of("several", 90.0, size=size, copying=copying) for size, copying in sizes]
    shown = block(
        "copying",
        *rows,
        row_of("one size", 50.0, copying=20.0),
        row_of("faster", 5.0, copying=20.0),
    )
    assert "| several | 1000x1000 | 90.00 | 40.00 | about 2.0 million pixels |" in shown
    assert "| one size | 10x10 | 50.00 | 20.00 | not measured: one size |" in shown
    assert "faster |" not in shown.partition("|---")[2]
    assert shown.startswith("before\n")
    assert shown.endswith("after")
    assert "old" not in shown
    assert "larger than what was measured" in block(
        "copying", *rows[:1], {**rows[0], "size": [1, 1]}
    )


def test_times_of_image_models() -> None:
    shown = block(
        "images",
        row_of("image_model, NV12 64x32", 2000.0, by_hand=3000.0, copying=4000.0),
        row_of("image_model(resize=), NV12 64x32", 1000.0, by_hand=4000.0),
    )
    assert "| NV12 64x32 | 3 ms | 4 ms | 2 ms | 1 ms |" in shown


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
    curves = {"ours": [2.0, 2.0, 2.0], "others <1>": [3.0, 90.0, 900.0]}
    sizes = ["640x360", "1920x1080", "3840x2160"]
    root = ET.fromstring(plot("A & B", sizes, curves))
    words = {text.text for text in root.iter(f"{_SVG}text")}
    assert {"A & B", "ours", "others <1>", *sizes} <= words
    # One more of each line is in the legend.
    assert len([use for use in root.iter(f"{_SVG}use") if "#0969da" in use.get("style", "")]) == 4
    assert plot("A & B", sizes, curves) == plot("A & B", sizes, curves)


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
    shown = block("why", *RUN["rows"])
    assert shown.count("\n|") == 6
    row = next(r for r in RUN["rows"] if (r["name"], r["size"]) == ("cpu -> openvino", [640, 360]))
    assert f"| 640x360 | {row['ours']:.2f} | {row['by_hand']:.2f} | {row['copying']:.2f} |" in shown
    assert block("why", {**row, "ours": None}).count("\n|") == 2
