# SPDX-License-Identifier: Apache-2.0
"""`dev.py costs`: pages and plots of costs, from the JSON of `samebytes bench --json`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devtools.costs.blocks import filled
from devtools.costs.page import page
from devtools.costs.plot import plot
from devtools.workspace import ROOT

# The run that the pages show, kept so that anybody can make them again.
RECORD = ROOT / "docs" / "explanation" / "costs.json"
_PAGE = Path("docs/reference/costs-of-edges.md")
# The file of each plot, with its row and its title.
_PLOTS = {
    "costs-array.svg": ("cpu -> openvino", "An array becomes an OpenVINO tensor"),
    "costs-frame.svg": ("ffmpeg -> openvino, I420", "A decoded frame becomes OpenVINO tensors"),
    "costs-socket.svg": ("a frame through a socket, NV12", "A frame goes through a socket"),
}
# Pages that people write, with blocks that are made from the run.
EXPLAINED = (
    Path("docs/explanation/costs.md"),
    Path("docs/explanation/why.md"),
    Path("docs/reference/image-model.md"),
)
_WAYS = (("ours", "samebytes"), ("by_hand", "by hand"), ("copying", "copying"))


def costs(record: Path = RECORD, root: Path = ROOT) -> list[Path]:
    """Write the page and the plots of a recorded run, and return the files.

    Args:
        record: JSON of `samebytes bench --json`; it is kept as docs/explanation/costs.json.
        root: the root of the repository.
    """
    text = record.read_text()
    run = json.loads(text)
    kept = root / RECORD.relative_to(ROOT)
    if record.resolve() != kept.resolve():
        kept.write_text(text)
    written = [kept]
    for path, content in made_of(run).items():
        (root / path).write_text(content)
        written.append(root / path)
    return written


def made_of(run: Mapping[str, Any]) -> dict[Path, str]:
    """The files that show a run, by their paths in the repository."""
    made = {_PAGE: page(run)}
    made |= {path: filled((ROOT / path).read_text(), run) for path in EXPLAINED}
    for name, (row, title) in _PLOTS.items():
        found = sorted(
            (r for r in run["rows"] if r["name"] == row and r["ours"] is not None),
            key=lambda r: r["size"][0] * r["size"][1],
        )
        sizes = [f"{width}x{height}" for width, height in (r["size"] for r in found)]
        curves = {
            label: [r[key] for r in found]
            for key, label in _WAYS
            if all(r[key] is not None for r in found)
        }
        if len(sizes) > 1:
            made[Path("docs/explanation") / name] = plot(title, sizes, curves)
    return made
