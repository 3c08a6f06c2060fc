# SPDX-License-Identifier: Apache-2.0
"""Programs that share their own memory with the NPU, and that infer on it in parallel.

The software NPU's driver writes down which pointers it was given.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops


@pytest.fixture(autouse=True)
def _npu(device: Callable[..., None]) -> None:
    device("NPU")


@pytest.fixture
def trace() -> Callable[..., list[Any]]:
    """Reads the driver's trace."""
    softdevices = pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )
    read: Callable[..., list[Any]] = softdevices.npu_trace
    return read


@pytest.fixture
def doubling(tmp_path: Path) -> Path:
    """The file of a model: "y" is twice "x", both uint8 [1, 4096]."""
    x = ops.parameter([1, 4096], np.uint8, name="x")
    y = ops.multiply(x, ops.constant(np.full((1, 1), 2, np.uint8)))
    model = openvino.Model([ops.result(y)], [x], "doubling")
    model.inputs[0].tensor.set_names({"x"})
    model.outputs[0].tensor.set_names({"y"})
    openvino.save_model(model, tmp_path / "model.xml")
    return tmp_path / "model.xml"


def test_own_memory_by_its_descriptor(
    run_program: Callable[..., str], trace: Callable[..., list[Any]], doubling: Path, tmp_path: Path
) -> None:
    pytest.importorskip(
        "samebytes_npu_level_zero",
        reason="missing package samebytes-npu-level-zero: pip install samebytes-npu-level-zero",
    )
    log = tmp_path / "trace"
    reported = json.loads(run_program("own_memory_on_npu.py", doubling, SOFTNPU_TRACE=log))

    (run,) = trace(log, "graph_execute")
    assert run.pointers() == tuple(reported["remote"]), (
        "the graph worked on the remote tensors' memory"
    )
    made = {record.number("pointer"): record for record in trace(log, "mem_alloc")}
    imported = [made[pointer].number("fd") for pointer in reported["remote"]]
    assert imported == reported["fds"], "which was imported from the descriptors"
    exported = [record.number("pointer") for record in trace(log, "mem_export")]
    assert set(reported["own"]) <= set(exported), "which were exported from the own memory"
    assert not trace(log, "copy")


def test_threads_with_several_requests(run_program: Callable[..., str], doubling: Path) -> None:
    """The driver begins each inference late, so that a missing wait would show old numbers."""
    reported = json.loads(run_program("parallel_on_npu.py", doubling, SOFTNPU_DELAY_US=5000))
    assert reported["right"] == reported["inferences"]
    assert reported["seen running"] > 0
