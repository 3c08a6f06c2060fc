# SPDX-License-Identifier: Apache-2.0
"""The tutorial, step by step: its files are written as it says, and its programs run in between.

A block with a title is a file; where that is there already, the block is added at its end. A
program without a title, or in a file at the top, runs after the blocks above it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "a-backend-for-shared-memory.md"
_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
CHAIN = """
import cv2, numpy as np, openvino
import samebytes as sb
from samebytes_shm.segments import SharedArray

shared = SharedArray.create((4, 6, 3), "uint8")
mat = sb.tensor(shared).map("opencv", "rw")
cv2.rectangle(mat.native, (0, 0), (2, 2), (9, 9, 9), -1)
assert (shared.array[:3, :3] == 9).all()
tensor = sb.tensor(shared).map("openvino")
assert tensor.native.data.ctypes.data == shared.array.ctypes.data
assert sb.stats().copies == 0
print(sb.route("shm", "openvino"))
"""


class Block(NamedTuple):
    language: str
    title: str
    text: str

    @property
    def runs(self) -> bool:
        return self.language == "python" and "/" not in self.title


def blocks() -> list[Block]:
    return [Block(*found) for found in _FENCE.findall(TUTORIAL.read_text())]


class Reader:
    """Somebody who follows the tutorial."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, block: Block) -> None:
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.write_text(f"{path.read_text().rstrip()}\n\n\n{block.text}")
        else:
            path.write_text(block.text)
        if block.title == "pyproject.toml":
            self._install(tomllib.loads(block.text)["project"])

    def _install(self, project: dict[str, object]) -> None:
        """Write the metadata that `pip install --editable` leaves, without the time it takes."""
        info = self.folder / "src" / "samebytes_shm-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        points = project["entry-points"]
        assert isinstance(points, dict)
        lines = [f"{k} = {v}" for k, v in points["samebytes.plugins"].items()]
        (info / "entry_points.txt").write_text("\n".join(["[samebytes.plugins]", *lines, ""]))

    def run(self, *command: str | Path, **environment: str) -> str:
        """Run a command that must succeed without a word of complaint."""
        paths = {"PYTHONPATH": str(self.folder / "src"), "PYTHONWARNINGS": "error"}
        done = subprocess.run(
            [str(word) for word in command], cwd=self.folder, text=True, timeout=300, check=False,
            env={**os.environ, **paths, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}:\n{done.stdout}"
        assert "Exception ignored" not in done.stdout
        assert "leaked shared_memory" not in done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """One who has come to the end, and ran everything on the way."""
    reader = Reader(tmp_path_factory.mktemp("tutorial"))
    steps = 0
    for block in blocks():
        if block.title:
            reader.write(block)
        if block.runs:
            program = reader.folder / (block.title or "step.py")
            program.write_text(block.text)
            reader.run(sys.executable, program)
            steps += 1
    assert steps >= 5
    (reader.folder / "step.py").unlink()
    (reader.folder / "src" / "samebytes_shm" / "py.typed").touch()
    return reader


def test_every_block_is_a_file_or_runs() -> None:
    text = TUTORIAL.read_text()
    found = blocks()
    assert 2 * len(found) == len(re.findall("^```", text, re.MULTILINE))
    for block in found:
        assert block.title or block.runs, block.text
    for title in {block.title for block in found if block.title}:
        # The first one shows the file whole; the page says of the others that they are added.
        added = text.count(f"Added at the end of `{Path(title).name}`:")
        assert sum(block.title == title for block in found) == 1 + added, title


def test_it_is_found_and_diagnosed(reader: Reader) -> None:
    assert "shm" in reader.run(sys.executable, "-m", "samebytes", "list")
    out = reader.run(sys.executable, "-m", "samebytes", "doctor", "shm")
    assert "shared memory can be made" in out


def test_it_passes_its_tests(reader: Reader) -> None:
    out = reader.run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null",
        "--rootdir", ".", "--import-mode=importlib", "tests",
    )  # fmt: skip
    assert " passed" in out
    assert " skipped" not in out


def test_it_passes_the_check(reader: Reader) -> None:
    out = reader.run(sys.executable, "-m", "samebytes", "check-plugin", "shm")
    assert " 0 failed" in out
    assert "not checked" not in out


def test_it_is_routed_through(reader: Reader) -> None:
    out = reader.run(sys.executable, "-c", CHAIN)
    assert "1. shm -> cpu" in out
    assert "2. cpu -> openvino" in out


def test_it_is_clean(reader: Reader) -> None:
    lines = ["--line-length=100", "--no-cache", "--isolated", "src", "tests"]
    reader.run(sys.executable, "-m", "ruff", "check", *lines)
    reader.run(sys.executable, "-m", "ruff", "format", "--check", *lines)
    reader.run(
        sys.executable, "-m", "mypy", "--strict", "--cache-dir=cache", "src", "tests",
        PYTHONWARNINGS="", MYPYPATH=f"src:{ROOT / 'sdk' / 'src'}",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.wheel
def test_it_installs(reader: Reader, tmp_path: Path) -> None:
    wheels, place = tmp_path / "wheels", tmp_path / "venv"
    clean = {"PYTHONPATH": "", "PYTHONNOUSERSITE": "1", "PYTHONWARNINGS": ""}
    for folder in (ROOT / "sdk", reader.folder):
        reader.run(
            sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, folder,
            **clean,
        )  # fmt: skip
    venv.create(place)
    # By the pip that is here, and without compiling what nothing imports: either takes seconds.
    reader.run(
        sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet",
        "--no-compile", "--disable-pip-version-check", *wheels.glob("*.whl"), **clean,
    )  # fmt: skip
    assert "0 failed" in reader.run(place / "bin" / "samebytes", "check-plugin", "shm", **clean)
    reader.run(place / "bin" / "python", "double.py", **clean)
