# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of the software NPU share.

The environment of a process sets up the device, and a process has only one loader. So the tests
run scripts in their own processes, and need no `--softdevices=npu`.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from samebytes_softdevices import SoftDeviceError
from samebytes_softdevices._activate import environment_with
from samebytes_softdevices._npu import LOADER_VARIABLE, plan

LEVEL_ZERO = Path(__file__).with_name("level_zero_calls.py")


def _package(name: str, distribution: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"missing package {name}: pip install {distribution}")


@pytest.fixture
def npu_environment(plain_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> object:
    """A function that returns the environment of a process on the software NPU."""

    def environment(loader: str = "") -> dict[str, str]:
        monkeypatch.setenv(LOADER_VARIABLE, loader)
        monkeypatch.setenv("LD_LIBRARY_PATH", plain_environment.get("LD_LIBRARY_PATH", ""))
        try:
            return environment_with(plan(), plain_environment)
        except SoftDeviceError as error:
            # The message says what to install.
            pytest.skip(f"missing device NPU: {error}")

    return environment


@pytest.fixture
def npu(npu_environment: Callable[..., dict[str, str]]) -> Callable[..., str]:
    """Run a script on the software NPU, and return its output."""

    def run(script: str, loader: str = "", timeout: float = 120, **variables: str) -> str:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", script],
            env={**npu_environment(loader), **variables},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def level_zero(npu: Callable[..., str]) -> Callable[..., str]:
    """Run a script on Level Zero: under the real loader with its validation, or the stand-in."""

    def run(script: str, loader: str, **variables: str) -> str:
        if loader == "real":
            if ctypes.util.find_library("ze_loader") is None:
                pytest.skip("missing package libze1: apt install libze1")
            variables = {
                "ZE_ENABLE_VALIDATION_LAYER": "1",
                "ZE_ENABLE_PARAMETER_VALIDATION": "1",
                **variables,
            }
        text = LEVEL_ZERO.read_text(encoding="utf-8")
        return npu(f"{text}\n{script}", loader, **variables)

    return run


@pytest.fixture
def openvino(npu: Callable[..., str]) -> Callable[..., str]:
    """Run a script with `ov`, `op`, `np` and `core`."""
    _package("openvino", "openvino")
    begin = """
import gc, os, sys
import numpy as np
import openvino as ov
from openvino import opset13 as op
core = ov.Core()
def named(model):
    for i, output in enumerate(model.outputs):
        output.get_tensor().set_names({f"out{i}"})
    return model
def times(k, shape=(1, 4096), type=np.uint8):
    x = op.parameter(list(shape), type, name="x")
    return named(ov.Model([op.multiply(x, op.constant(np.array([[k]], type)))], [x], "times"))
def handle(tensor):
    return int(tensor.get_params()["MEM_HANDLE"].astype(str), 16)
"""

    def run(script: str, **variables: str) -> str:
        return npu(begin + script, **variables)

    return run


@pytest.fixture
def trace_file(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "trace")
