# SPDX-License-Identifier: Apache-2.0
"""The tutorials' programs find the texts, on each device, as printed but for one word."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import av
import openvino
import pytest

from samebytes.testing import missing_device

PAGE = Path(__file__).parents[1] / "docs" / "tutorial" / "detect-on-decoded-frames.md"
PIPELINE = PAGE.with_name("the-same-as-a-pipeline.md")
CLIP, _, _, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
TEXTS = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
# (left, top, right, bottom) of "EXIT 24", which stands still.
STANDING = (95, 322, 412, 386)


def run(code: str, folder: Path, timeout: float = 300) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def box_around(brightness: Any, line: int) -> bool:
    """True if lines that bright were drawn on all four sides of the text that stands still."""
    left, top, right, bottom = STANDING
    bright = brightness > line
    middle = (top + bottom) // 2
    beside = (
        bright[middle, left - 30 : left - 2].any(),
        bright[middle, right + 2 : right + 30].any(),
    )
    x = slice(left, right)
    above = bright[top - 30 : top - 2, x].mean(axis=1).max()
    below = bright[bottom + 2 : bottom + 30, x].mean(axis=1).max()
    return all(beside) and bool(above > 0.9 and below > 0.9)


def need(device: str) -> None:
    """The model is installed and the device is there, or the test is skipped."""
    try:
        distribution("rapidocr")
    except PackageNotFoundError:
        pytest.skip("missing package rapidocr: pip install --no-deps rapidocr==3.10.0")
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))


def make_clip(folder: Path, frames: int) -> None:
    """Make the clip of the first tutorial; a software device takes seconds for each frame."""
    run(CLIP.replace("FRAMES = 854, 480, 48", f"FRAMES = 854, 480, {frames}"), folder)


def pictures(path: Path) -> list[Any]:
    """The brightness of each frame of a video."""
    with av.open(str(path)) as clip:
        return [frame.to_ndarray()[:480] for frame in clip.decode(video=0)]


def check_boxes(folder: Path, frames: int, line: int) -> None:
    """The text that stands still has a box around it, in every frame."""
    plain, drawn = pictures(folder / "signs.mp4"), pictures(folder / "boxes.mp4")
    assert len(drawn) == len(plain) == frames
    assert not any(box_around(picture, line) for picture in plain)
    assert all(box_around(picture, line) for picture in drawn)


DEVICES = [("CPU", 48), ("NPU", 12), ("GPU", 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("device", "frames"), DEVICES)
def test_the_program(device: str, frames: int, tmp_path: Path) -> None:
    need(device)
    make_clip(tmp_path, frames)
    program = PROGRAM.replace('DEVICE = "CPU"', f'DEVICE = "{device}"')
    printed = run(program, tmp_path, 900)
    assert f"I420 854x480 frames, for {device}" in printed
    assert "copied: nothing" in printed
    shown = [text for text in TEXTS if text.startswith(f"I420 854x480 frames, for {device}\n")]
    assert len(shown) == (device != "GPU")
    assert all(printed.startswith(text) for text in shown)
    assert printed.splitlines()[-1] == f"{2 * frames} boxes drawn, 0 bytes copied"
    if device == "CPU":
        assert printed.splitlines()[-1] in PAGE.read_text()
    check_boxes(tmp_path, frames, 200)  # white


@pytest.mark.slow
@pytest.mark.parametrize(("device", "frames"), DEVICES)
def test_the_pipeline(device: str, frames: int, tmp_path: Path) -> None:
    need(device)
    make_clip(tmp_path, frames)
    *steps, whole = re.findall(r"```python\n(.*?)```", PIPELINE.read_text(), re.DOTALL)
    explained, last, npu = re.findall(r"```text\n(.*?)```", PIPELINE.read_text(), re.DOTALL)
    if device == "CPU":
        source, element, drawn = (run(step, tmp_path) for step in steps)
        assert len(re.findall(r"^\d+ \d+$", source, re.MULTILINE)) == frames
        assert "parameter 'than' must be an int, >= 0, not -1" in element
        assert f"`{drawn.strip()}`" in PIPELINE.read_text()
    printed = run(whole.replace('DEVICE = "CPU"', f'DEVICE = "{device}"'), tmp_path, 900)
    if device == "CPU":
        assert printed.startswith(explained)
    else:
        assert f"maps it to openvino:{device} itself" in printed
        assert device != "NPU" or npu in printed
    assert printed.splitlines()[-1] == f"{2 * frames} boxes drawn, 0 bytes copied"
    assert frames != 48 or printed.endswith(last)
    check_boxes(tmp_path, frames, 150)  # yellow
