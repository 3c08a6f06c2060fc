# SPDX-License-Identifier: Apache-2.0
"""The demo with a GPU or an NPU: the same boxes as on the CPU, and no byte copied."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes as sb
from samebytes.__main__ import main
from samebytes.testing import missing_device
from samebytes_demo import pipelines

from .conftest import FRAMES, Run, Transcode, decode


@pytest.fixture(params=["GPU", "NPU"])
def device(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name not in openvino.Core().available_devices:
        pytest.skip(missing_device(name))
    return name


def demo(
    folder: Path, source: Path, device: str, *more: str, compare: bool = False
) -> dict[str, Any]:
    """The command in its own process: where FFmpeg's planes lie, all of a process decides."""
    command = [sys.executable, "-m", "samebytes", "demo", "--json", *more]
    command += [] if compare else ["--no-compare"]
    command += ["--input", str(source), "--device", device, "--output", f"{device}.mp4"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_boxes_are_those_of_the_cpu_and_nothing_is_copied(
    device: str, clip: Path, runs: dict[str, Run], tmp_path: Path
) -> None:
    report = demo(tmp_path, clip, device)
    expected = [[[b.x, b.y, b.width, b.height] for b in f] for f in runs["samebytes"].result.boxes]
    assert report["boxes"] == expected
    assert sum(map(len, expected)) > 100
    assert report["verified"]["copied_bytes"] == 0
    assert report["verified"]["equal_addresses"] >= 7 * FRAMES
    route = report["routes"][0]
    assert route["target"] == f"openvino:{device}"
    assert not route["copies"]
    assert np.array_equal(decode(tmp_path / f"{device}.mp4"), decode(runs["samebytes"].output))


@pytest.mark.together
def test_padded_rows_need_no_copy_either(device: str, transcode: Transcode, tmp_path: Path) -> None:
    source = transcode(size=(1000, 600), frames=8)
    report = demo(tmp_path, source, device)
    expected = demo(tmp_path, source, "CPU")
    assert report["boxes"] == expected["boxes"]
    assert report["verified"]["copied_bytes"] == expected["verified"]["copied_bytes"] == 0


@pytest.mark.together
def test_the_comparison_does_not_mislead(device: str, clip: Path, tmp_path: Path) -> None:
    """A software device works on the CPU, and the code by hand is for the CPU plugin."""
    report = demo(tmp_path, clip, device, "--frames", "3", compare=True)
    assert report["device_is_software"] == ("software" in report["device_name"].lower())
    pipeline, rgb = report["pipeline"], report["rgb"]
    assert list(pipeline["ways"]) == ["samebytes", "copying"]
    assert f"which the {device} copies" in pipeline["missing"]["by hand"]
    assert list(rgb["ways"]) == ["samebytes", "by hand", "copying"]
    assert pipeline["ways"]["samebytes"]["all"]["mb"] == 0
    # A GPU computes the colours in half or single precision, as it likes; the pictures agree.
    assert 0 < rgb["differences"]["copying"]["mean"] < 20


def test_the_pipeline_counts_what_the_whole_process_copies(clip: Path, tmp_path: Path) -> None:
    padded = sb.tensor(np.zeros((2, 8), np.uint8)[:, :6])

    def copies(_: int) -> None:
        np.array(padded)

    sb.reset_stats()
    result = pipelines.run_samebytes(clip, tmp_path / "out.mp4", frames=5, on_frame=copies)
    assert sb.stats().copied_bytes == result.copied_bytes == 5 * 12


def test_a_missing_device_names_the_software_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU"])
    assert main(["demo", "--device", "NPU"]) == 1
    assert "samebytes-softdevices run --npu" in capsys.readouterr().err
