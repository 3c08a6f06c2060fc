# SPDX-License-Identifier: Apache-2.0
"""Compiling for a device that is not there, and reading a model that is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import MissingDependencyError
from samebytes_openvino import compile_model, image_model

from .image.pictures import echo


def frame() -> samebytes.Frame:
    return samebytes.frame(np.zeros((40, 30, 3), np.uint8), format="BGR")


@pytest.mark.parametrize("device", ["GPU", "NPU"])
@pytest.mark.parametrize(
    "compile_for",
    [
        lambda device: compile_model(echo(), device),
        lambda device: image_model(echo(), frame(), device=device),
    ],
)
def test_missing_devices(compile_for: Callable[[str], Any], device: str) -> None:
    if device in openvino.Core().available_devices:
        pytest.skip(f"there is a {device} here")
    said = rf"{device} that OpenVINO can use is missing.*softdevices run --{device.lower()}"
    with pytest.raises(MissingDependencyError, match=said):
        compile_for(device)


@pytest.mark.parametrize("kind", [str, Path])
def test_missing_files(tmp_path: Path, kind: Callable[[Path], Any]) -> None:
    path = kind(tmp_path / "detector.onnx")
    for read in (lambda: compile_model(path, "CPU"), lambda: image_model(path, frame())):
        with pytest.raises(FileNotFoundError, match=r"no such model file.*detector\.onnx"):
            read()
