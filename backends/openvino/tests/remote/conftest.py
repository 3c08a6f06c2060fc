# SPDX-License-Identifier: Apache-2.0
"""Contexts on the devices; tests are skipped if there is none."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openvino
import pytest

import samebytes
from samebytes.plugins import sweep_loans
from samebytes.testing import missing_device
from samebytes_openvino import compile_model
from samebytes_openvino._host._pinned import waiting
from samebytes_openvino._remote import _lifetimes
from samebytes_openvino._remote._context import native_in

from .models import DEVICES, adding_one


def _present(kind: str) -> None:
    devices = openvino.Core().available_devices
    if not any(name.partition(".")[0] == kind for name in devices):
        pytest.skip(missing_device(kind))


@pytest.fixture
def gpu() -> Any:
    """The plugin's own context of a GPU."""
    _present("GPU")
    return samebytes.context("openvino:GPU")


@pytest.fixture
def npu() -> Any:
    """The plugin's context of an NPU."""
    _present("NPU")
    return samebytes.context("openvino:NPU")


@pytest.fixture(params=["GPU", "NPU"])
def remote(request: pytest.FixtureRequest) -> Any:
    """The context of each device."""
    return request.getfixturevalue(request.param.lower())


@pytest.fixture
def cl() -> Any:
    """pyopencl."""
    _present("GPU")
    return pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")


@pytest.fixture
def cl_context(gpu: Any, cl: Any) -> Any:
    """A cl_context of the user's, on OpenVINO's GPU."""
    shared = cl.Context.from_int_ptr(gpu.handle("cl_context"))
    return cl.Context(shared.devices[:1])


@pytest.fixture
def nothing_waits() -> Any:
    """Require that no memory is left that OpenVINO's own objects hold."""
    before = set(waiting)
    yield
    gc.collect()
    sweep_loans()
    assert not waiting - before


@pytest.fixture
def lent_native() -> Callable[[Any], Any]:
    """The native of a tensor that is released with it, unlike that of `view.native`."""
    return native_in


@pytest.fixture
def living_pins() -> Callable[[], int]:
    """A function that counts the natives whose memory is kept for them."""
    return lambda: len(_lifetimes._pins)


@pytest.fixture
def staged(gpu: Any) -> Iterator[Callable[[Any], int]]:
    """The bytes that the GPU plugin allocates on the device for the first run of a request.

    If it copies a tensor, it allocates a staging tensor of that size.
    """
    keep: list[Any] = []

    def run(request: Any) -> int:
        def allocated() -> int:
            return int(gpu.core.get_property("GPU", "GPU_MEMORY_STATISTICS")["usm_device"])

        before = allocated()
        request.infer()
        keep.append(request)  # memory that an earlier request releases would be subtracted
        return allocated() - before

    yield run
    keep.clear()


_PREPARE = """
import mmap, sys
import numpy as np
import openvino
import samebytes
from samebytes_openvino import InferRequest, compile_model
from remote.models import N, adding_one, native, numbers

def page_aligned(nbytes, offset=0):
    return np.frombuffer(mmap.mmap(-1, nbytes + 4096), np.uint8)[offset:offset + nbytes]

def pages(shape=(1, N), offset=0):
    memory = page_aligned(int(np.prod(shape)) * 4, offset)
    return memory.view(np.float32).reshape(shape)

def host_tensor(shape):
    return npu.native.create_host_tensor(openvino.Type.f32, openvino.Shape(shape))

def address(array):
    return array.__array_interface__["data"][0]

npu = samebytes.context("openvino:NPU")
"""


@pytest.fixture
def arguments_of(tmp_path: Path) -> Callable[[str], list[tuple[list[int], list[int]]]]:
    """Run code in its own process, since the driver reads its environment once.

    The code calls `print("expect", *addresses)` before each inference. For each, this returns the
    expected addresses and the pointers with which the driver executed its graph.
    """

    _present("NPU")

    def run(code: str) -> list[tuple[list[int], list[int]]]:
        trace = tmp_path / "trace"
        output = subprocess.run(
            [sys.executable, "-c", _PREPARE + textwrap.dedent(code)],
            cwd=Path(__file__).parent.parent, env={**os.environ, "SOFTNPU_TRACE": str(trace)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert output.returncode == 0, output.stderr
        expected = [
            [int(word) for word in line.split()[1:]]
            for line in output.stdout.splitlines()
            if line.startswith("expect")
        ]
        executed = [
            [int(pointer, 16) for pointer in line.split("arguments=")[1].split()[0].split(",")]
            for line in trace.read_text().splitlines()
            if line.startswith("softnpu graph_execute")
        ]
        return list(zip(expected, executed, strict=True))

    return run


@pytest.fixture(params=DEVICES)
def model(request: pytest.FixtureRequest) -> Any:
    """`adding_one`, compiled for each device; numbers up to 100 come out exact on all of them."""
    if request.param != "CPU":
        request.getfixturevalue(request.param.lower())
    return compile_model(adding_one(), request.param)


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """The errors that went to sys.unraisablehook."""
    found: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: found.append(args.exc_value))
    return found
