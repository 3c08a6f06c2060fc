# SPDX-License-Identifier: Apache-2.0
"""Examples in the documents run as printed, and what their tables say is so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import av
import openvino
import pytest

import samebytes
from devtools.blocks import Block, blocks_of, commands, pages
from samebytes import probe
from samebytes.testing import missing_device

from .e2e.sample_inputs import make_model, make_yolo

ROOT = Path(__file__).parents[1]
# Packages that only a document needs: "needs: rapidocr", with the command.
PACKAGES = re.compile(r"<!-- needs: ([\w-]+): (.+) -->")
PROGRAM = """\
import samebytes as sb

def test_it() -> None:
    assert sb.context("cpu").allocate((4, 4)).native.shape == (4, 4)

test_it()
"""


def blocks(language: str) -> list[Block]:
    """The blocks that run as printed."""
    every = (block for page in sorted(pages()) for block in blocks_of(page))
    return [block for block in every if block.runs and block.language == language]


SHELL = [(block, command) for block in blocks("sh") for command in commands(block.code)]


def name(value: object) -> str:
    """The name that a test gets for a parameter."""
    return f"{value.page}:{value.line}" if isinstance(value, Block) else "it"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name."""
    made = tmp_path_factory.mktemp("documents")
    for name in ("in.mp4", "input.mp4", "video.mp4", "in.avi"):
        codec, pixels = ("mjpeg", "yuvj420p") if name == "in.avi" else ("libx264", "yuv420p")
        with av.open(str(made / name), "w") as container:
            stream = container.add_stream(codec, rate=30)
            assert isinstance(stream, av.VideoStream)
            stream.width, stream.height, stream.pix_fmt = 320, 240, pixels
            for number in range(24):
                frame = av.VideoFrame(320, 240, pixels)
                for plane in frame.planes:
                    plane.update(bytes([64 + number]) * plane.buffer_size)
                frame.pts, frame.time_base = number, Fraction(1, 30)
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    make_model(made / "detector.xml")
    make_yolo(made / "yolo11n_openvino_model" / "yolo11n.xml")
    for program in ("my_program.py", "test_my_program.py"):
        (made / program).write_text(PROGRAM)
    return made


@pytest.fixture(scope="session")
def found_devices() -> set[str]:
    """The kinds of device that OpenVINO finds, "gpu" and "npu" among them; "vaapi", "cuda"."""
    found = {name.partition(".")[0].lower() for name in openvino.Core().available_devices}
    return found | {name for name in ("vaapi", "cuda") if probe(name).usable}


@pytest.fixture
def devices(block: Block, found_devices: set[str]) -> None:
    """Skip a test unless the devices that the block needs and its page's packages are there."""
    for package, command in PACKAGES.findall((ROOT / block.page).read_text()):
        try:
            distribution(package)
        except PackageNotFoundError:
            pytest.skip(f"missing package {package}: {command}")
    for name in block.devices:
        if name not in found_devices:
            pytest.skip(missing_device(name.upper()))


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("block", blocks("python"), ids=name)
def test_block_runs_as_printed(block: Block, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.code],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{block.page}:{block.line}:\n{block.code}\n{done.stderr}"


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize(("block", "command"), SHELL, ids=name)
def test_command_runs_as_printed(block: Block, command: str, folder: Path) -> None:
    here = str(Path(sys.executable).parent)
    path = f"{here}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # `samebytes-softdevices run ... -- TOOL`, and any other command.
    for tool in (command.split()[0], *command.partition(" -- ")[2].split()[:1]):
        if shutil.which(tool, path=path) is None:
            pytest.skip(f"{tool} is not installed, and {block.page} does not install it")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], env={**os.environ, "PATH": path},
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    text = f"{block.page}:{block.line}:\n{command}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, text


PRINTS = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
# Pages on which a block of text under code is what the code prints, all of it.
PRINTED = ("docs/how-to/write-an-element.md", "docs/reference/elements.md")


@pytest.mark.parametrize("document", PRINTED)
def test_what_a_page_shows_below_code_is_what_it_prints(document: str) -> None:
    shown = PRINTS.findall((ROOT / document).read_text())
    assert shown
    for text, expected in shown:
        code = text.rpartition("```python\n")[2]
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.stdout == expected, done.stderr


def test_readme_example_is_short_and_prints_the_route(folder: Path) -> None:
    code = next(block.code for block in blocks("python") if block.page == "README.md")
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
