# SPDX-License-Identifier: Apache-2.0
"""The tutorial's program finds the texts, on each device, as printed but for one word."""

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

PAGE = Path(__file__).parents[1] / "docs" / "tutorial" / "detect-on-decoded-frames.md"
CLIP, _, _, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
# (left, top, right, bottom) of "EXIT 24", which stands still.
STANDING = (95, 322, 412, 386)


def run(code: str, folder: Path, timeout: float = 300) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def box_around(brightness: Any) -> bool:
    """Whether lines were drawn on all four sides of the text that stands still."""
    left, top, right, bottom = STANDING
    bright = brightness > 200
    middle = (top + bottom) // 2
    beside = (
        bright[middle, left - 30 : left - 2].any(),
        bright[middle, right + 2 : right + 30].any(),
    )
    x = slice(left, right)
    above = bright[top - 30 : top - 2, x].mean(axis=1).max()
    below = bright[bottom + 2 : bottom + 30, x].mean(axis=1).max()
    return all(beside) and bool(above > 0.9 and below > 0.9)


@pytest.mark.slow
@pytest.mark.parametrize(("device", "frames"), [("CPU", 48), ("NPU", 12), ("GPU", 2)])
def test_the_program(device: str, frames: int, tmp_path: Path) -> None:
    try:
        distribution("rapidocr")
    except PackageNotFoundError:
        pytest.skip("missing package rapidocr: pip install --no-deps rapidocr==3.10.0")
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(
            f"missing device {device}: pytest --softdevices={device.lower()} "
            "(pip install samebytes-softdevices)"
        )
    # A software device takes seconds for each frame.
    run(CLIP.replace("FRAMES = 854, 480, 48", f"FRAMES = 854, 480, {frames}"), tmp_path)
    program = PROGRAM.replace('DEVICE = "CPU"', f'DEVICE = "{device}"')
    printed = run(program, tmp_path, 900)
    assert f"I420 854x480 frames, for {device}" in printed
    assert "copied: nothing" in printed
    assert printed.splitlines()[-1] == f"{2 * frames} boxes drawn, 0 bytes copied"
    if device == "CPU":
        assert printed.splitlines()[-1] in PAGE.read_text()
    with av.open(str(tmp_path / "signs.mp4")) as clip:
        plain = [frame.to_ndarray()[:480] for frame in clip.decode(video=0)]
    with av.open(str(tmp_path / "boxes.mp4")) as clip:
        drawn = [frame.to_ndarray()[:480] for frame in clip.decode(video=0)]
    assert len(drawn) == len(plain) == frames
    assert not any(map(box_around, plain))
    assert all(map(box_around, drawn))
