# SPDX-License-Identifier: Apache-2.0
"""Compiling for a device that is not there, and reading a model that is not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import (
    MissingDependencyError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import compile_model, image_model, import_model

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
    said = (
        rf"{device} that OpenVINO can use is missing.*softdevices run --{device.lower()} -- COMMAND"
    )
    # By its name, or by its folder in the checkout that samebytes was installed from.
    said += rf".*pip install .*softdevices\[{device.lower()}\]"
    with pytest.raises(MissingDependencyError, match=said) as missing:
        compile_for(device)
    assert str(missing.value).count("For tests without one") == 1


@pytest.mark.parametrize("compiler", [None, "DRIVER", "PLUGIN", "PREFER_PLUGIN"])
def test_compiling_for_an_npu_that_is_not_there(compiler: str | None) -> None:
    """OpenVINO's own errors speak of libraries and versions; the platform could be compiled for."""
    if "NPU" in openvino.Core().available_devices:
        pytest.skip("there is an NPU here")
    config = {"NPU_PLATFORM": "4000"} | ({"NPU_COMPILER_TYPE": compiler} if compiler else {})
    with pytest.raises(MissingDependencyError, match="an NPU that OpenVINO can use is missing"):
        compile_model(echo(), "NPU", config)


@pytest.mark.parametrize(("device", "meant"), [("gpu", "GPU"), ("cpu", "CPU"), ("NPV", "NPU")])
@pytest.mark.parametrize(
    "compile_for",
    [
        lambda device: compile_model(echo(), device),
        lambda device: image_model(echo(), frame(), device=device),
    ],
)
def test_names_of_no_device(compile_for: Callable[[str], Any], device: str, meant: str) -> None:
    said = f"unknown device of OpenVINO '{device}'; did you mean '{meant}'"
    with pytest.raises(UnknownNameError, match=said):
        compile_for(device)


def test_what_openvino_says_of_a_device_that_it_knows_stays() -> None:
    with pytest.raises(RuntimeError, match="NOTHING"):
        compile_model(echo(), "HETERO:NOTHING,CPU")


@pytest.mark.parametrize("kind", [str, Path])
def test_the_error_about_the_folder_of_an_export_names_the_file_in_it(
    tmp_path: Path, kind: Callable[[Path], Any]
) -> None:
    openvino.save_model(echo(), tmp_path / "detector.xml")
    with pytest.raises(IsADirectoryError, match=r"the file in it, detector\.xml"):
        compile_model(kind(tmp_path), "CPU")


def test_weights_of_torch_are_to_be_exported_first(tmp_path: Path) -> None:
    for name in ("yolo11n.pt", "yolo11n.safetensors"):
        path = tmp_path / name
        path.write_bytes(b"PK\3\4" + bytes(60))
        with pytest.raises(UnsupportedObjectError, match="'yolo export format=openvino'"):
            compile_model(path, "CPU")
    path = tmp_path / "model.xml"
    path.write_text("no model")
    with pytest.raises(RuntimeError, match="the model"):
        compile_model(path, "CPU")


@pytest.mark.parametrize("kind", [str, Path])
def test_missing_files(tmp_path: Path, kind: Callable[[Path], Any]) -> None:
    path = kind(tmp_path / "detector.onnx")
    for read in (lambda: compile_model(path, "CPU"), lambda: image_model(path, frame())):
        with pytest.raises(FileNotFoundError, match=r"no such model file.*detector\.onnx"):
            read()


@pytest.mark.parametrize("kind", [str, str.encode])
def test_the_url_of_a_model_shows_no_password(kind: Callable[[str], Any]) -> None:
    url = kind("https://me:open-sesame@models.example/detector.xml")
    path = os.fsdecode(url)  # bytes would be the exported model itself
    for read, model in ((compile_model, url), (import_model, path)):
        with pytest.raises(FileNotFoundError, match=r"models\.example") as error:
            read(model, "CPU")
        assert "open-sesame" not in f"{error.value}{error.value!r}{error.value.filename!r}"
