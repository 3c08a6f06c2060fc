# SPDX-License-Identifier: Apache-2.0
"""An NPU of OpenVINO's, memory behind descriptors, models, and the driver's trace."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.testing import missing_device

Array = np.ndarray[Any, Any]
NO_DEVICE = missing_device("NPU")


@pytest.fixture(scope="session")
def core() -> Any:
    """An openvino.Core that sees an NPU."""
    found = openvino.Core()
    if "NPU" not in found.available_devices:
        pytest.skip(NO_DEVICE)
    return found


@pytest.fixture
def fresh_core(core: Any) -> Any:
    """Another openvino.Core, for tests that set properties, with the plugin loaded."""
    made = type(core)()
    made.get_property("NPU", "SUPPORTED_PROPERTIES")
    return made


@pytest.fixture
def npu(core: Any) -> Any:
    """The plugin's context."""
    assert "NPU" in core.available_devices
    return samebytes.context("openvino:NPU")


class SharedMemory:
    """Memory behind a descriptor, as the CPU sees it."""

    def __init__(self, nbytes: int) -> None:
        self.fd = os.memfd_create("shared")
        os.ftruncate(self.fd, nbytes)
        self.array: Array = np.frombuffer(mmap.mmap(self.fd, nbytes), np.uint8)


@pytest.fixture
def shared() -> Iterator[Callable[[int], SharedMemory]]:
    """Make memory of a size in bytes; its descriptor is closed at the end."""
    made: list[SharedMemory] = []

    def make(nbytes: int) -> SharedMemory:
        made.append(SharedMemory(nbytes))
        return made[-1]

    yield make
    for memory in made:
        os.close(memory.fd)


@pytest.fixture
def doubling() -> Callable[..., Any]:
    """Make an openvino.Model whose output "y" is twice the input "x", of uint8."""

    def make(shape: Any) -> Any:
        x = ops.parameter(openvino.PartialShape(list(shape)), np.uint8, name="x")
        y = ops.multiply(x, ops.constant(np.full([1] * len(shape), 2, np.uint8)))
        model = openvino.Model([ops.result(y)], [x], "doubling")
        model.inputs[0].tensor.set_names({"x"})
        model.outputs[0].tensor.set_names({"y"})
        return model

    return make


@pytest.fixture
def infer(core: Any, doubling: Callable[..., Any]) -> Callable[[Any, Any], None]:
    """Double the tensor `x` into `y`, native openvino.Tensors or remote ones, on the NPU."""

    def run(x: Any, y: Any) -> None:
        shape = tuple(x.get_shape())
        request = core.compile_model(doubling(shape), "NPU", {}).create_infer_request()
        request.set_tensor("x", x)
        request.set_tensor("y", y)
        request.start_async()
        request.wait()

    return run


@pytest.fixture
def traced(npu: Any, tmp_path: Path) -> Callable[[str], tuple[str, list[Any]]]:
    """Run code in its own process, and return its output and the driver's trace of it.

    The driver reads its environment once, so this process cannot switch the trace on.
    """
    assert npu.device.kind == "NPU"
    softdevices = pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )

    def run(code: str) -> tuple[str, list[Any]]:
        path = tmp_path / "trace"
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, "SOFTNPU_TRACE": str(path)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout, softdevices.npu_trace(path)

    return run
