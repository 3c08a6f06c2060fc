# SPDX-License-Identifier: Apache-2.0
"""The pipeline with a GPU or an NPU: the same boxes as on the CPU, and no byte copied."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import openvino
import pytest

import samebytes as sb
from samebytes_demo import _command, pipelines
from samebytes_demo._detector import MotionDetector

from .conftest import FRAMES, Run, Transcode, decode


@pytest.fixture(params=["GPU", "NPU"])
def device(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name not in openvino.Core().available_devices:
        pytest.skip(
            f"missing device {name}: pytest --softdevices={name.lower()} "
            "(pip install samebytes-softdevices)"
        )
    return name


def test_the_boxes_are_those_of_the_cpu(
    device: str, clip: Path, runs: dict[str, Run], tmp_path: Path
) -> None:
    output = tmp_path / "out.mp4"
    result = pipelines.run_samebytes(clip, output, detector=partial(MotionDetector, device=device))
    assert result.frames == FRAMES
    assert result.boxes == runs["samebytes"].result.boxes
    assert sum(map(len, result.boxes)) > 100
    assert np.array_equal(decode(output), decode(runs["samebytes"].output))


def test_nothing_is_copied_and_every_frame_is_mapped_to_the_device(
    device: str, clip: Path, tmp_path: Path
) -> None:
    sb.reset_stats()
    detector = partial(MotionDetector, device=device)
    result = pipelines.run_samebytes(clip, tmp_path / "out.mp4", detector=detector)
    assert sb.stats().copied_bytes == result.copied_bytes == 0
    assert result.equal_addresses >= 10 * FRAMES
    assert result.routes[0].target.node == f"openvino:{device}"
    assert not result.routes[0].copies


def test_padded_rows_need_no_copy_either(device: str, transcode: Transcode, tmp_path: Path) -> None:
    source = transcode(size=(600, 338))
    detector = partial(MotionDetector, device=device)
    result = pipelines.run_samebytes(source, tmp_path / "out.mp4", detector=detector)
    expected = pipelines.run_samebytes(source, tmp_path / "cpu.mp4")
    assert result.boxes == expected.boxes
    assert result.copied_bytes == 0


def test_a_missing_device_names_the_software_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU"])
    with pytest.raises(pipelines.DemoError, match="samebytes-softdevices run --npu"):
        _command._check_device("NPU")
