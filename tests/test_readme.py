# SPDX-License-Identifier: Apache-2.0
"""What the documents show runs as printed, and what their tables say is so."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import av
import openvino
import pytest

import samebytes
from samebytes.plugins import probe

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
# What a document's blocks need, as it says itself: "runs on: gpu, npu", in a comment.
DEVICES = re.compile(r"<!-- runs on: ([a-z, ]+) -->")
# The same for packages that only a document needs: "needs: rapidocr", with the command.
PACKAGES = re.compile(r"<!-- needs: ([\w-]+): (.+) -->")
# Its pieces name modules that only the reader's own package would have.
NOT_RUN = {"docs/how-to/write-a-backend.md"}


def blocks() -> list[tuple[str, str]]:
    """(document, code) of each Python block."""
    documents = [
        p for p in ROOT.glob("**/*.md") if not any(part.startswith(".") for part in p.parts)
    ]
    return [
        (str(path.relative_to(ROOT)), code)
        for path in sorted(documents)
        for code in BLOCK.findall(path.read_text())
        if str(path.relative_to(ROOT)) not in NOT_RUN
    ]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name."""
    made = tmp_path_factory.mktemp("documents")
    for name in ("input.mp4", "video.mp4"):
        with av.open(str(made / name), "w") as container:
            stream = container.add_stream("libx264", rate=30)
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for number in range(24):
                frame = av.VideoFrame(320, 240, "yuv420p")
                for plane in frame.planes:
                    plane.update(bytes([64 + number]) * plane.buffer_size)
                frame.pts, frame.time_base = number, Fraction(1, 30)
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    return made


@pytest.fixture(scope="session")
def found_devices() -> set[str]:
    """The kinds of device that OpenVINO finds, "gpu" and "npu" among them; "vaapi", "cuda"."""
    found = {name.partition(".")[0].lower() for name in openvino.Core().available_devices}
    return found | {name for name in ("vaapi", "cuda") if probe(name).usable}


@pytest.fixture
def devices(document: str, found_devices: set[str]) -> None:
    """Those that the document needs are there, and its packages, or its blocks are skipped."""
    for package, command in PACKAGES.findall((ROOT / document).read_text()):
        try:
            distribution(package)
        except PackageNotFoundError:
            pytest.skip(f"missing package {package}: {command}")
    for names in DEVICES.findall((ROOT / document).read_text()):
        for name in names.split(", "):
            if name not in found_devices:
                pytest.skip(
                    f"missing device {name.upper()}: pytest --softdevices={name} "
                    "(pip install samebytes-softdevices)"
                )


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(
    ("document", "code"), blocks(), ids=lambda text: text if text.endswith(".md") else "code"
)
def test_block_runs_as_printed(document: str, code: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{document}:\n{code}\n{done.stderr}"


def test_readme_example_is_short_and_prints_the_route(folder: Path) -> None:
    code = next(code for document, code in blocks() if document == "README.md")
    assert len([line for line in code.splitlines() if line and not line.startswith("import")]) <= 10
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert "ffmpeg -> openvino" in done.stdout
    assert "no copy" in done.stdout


def test_table_of_edges_names_every_edge_and_no_other() -> None:
    text = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| ([\w:]+ -> .*?) \| ([A-Z]+): .*\| tested.*\|$", text, re.MULTILINE)
    written = {(edge, transfer) for edges, transfer in rows for edge in edges.split(", ")}
    declared = {
        (edge.name, edge.transfer.name)
        for record in samebytes.installed_plugins()
        for edge in record.edges
    }
    assert written == declared
