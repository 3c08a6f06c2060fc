# SPDX-License-Identifier: Apache-2.0
"""Compiled models as bytes, on the CPU and on an NPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.errors import UnsupportedObjectError
from samebytes_openvino import InferRequest, compile_model, export_model, import_model
from samebytes_openvino.intel_npu import OpenVINOError


def doubling() -> Any:
    x = ops.parameter([1, 8], np.uint8, name="x")
    return openvino.Model([ops.result(ops.add(x, x))], [x])


@pytest.fixture
def npu() -> Any:
    if not any(name.startswith("NPU") for name in openvino.Core().available_devices):
        pytest.skip(
            "missing device NPU: pytest --softdevices=npu (pip install samebytes-softdevices)"
        )
    return samebytes.context("openvino:NPU")


def check(compiled: Any) -> None:
    (y,) = InferRequest(compiled).infer(np.full((1, 8), 4, np.uint8))
    assert (np.asarray(y) == 8).all()


def test_of_the_cpu(tmp_path: Path) -> None:
    blob = export_model(compile_model(doubling(), "CPU"))
    check(import_model(blob, "CPU"))
    file = tmp_path / "model.blob"
    file.write_bytes(blob)
    check(import_model(file, "CPU"))


def test_of_an_npu(npu: Any) -> None:
    blob = export_model(compile_model(doubling(), npu))
    for where in (npu, "NPU"):
        compiled = import_model(blob, where)
        assert compiled.context is npu
        check(compiled)


@pytest.mark.parametrize("cut", [0, 100])
def test_bytes_of_something_else(npu: Any, cut: int) -> None:
    blob = export_model(compile_model(doubling(), npu))[:cut]
    for where in (npu, "NPU"):
        with pytest.raises(OpenVINOError, match="import_model"):
            import_model(blob, where)


def test_a_context_of_the_users_is_refused(npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO's call takes a name, and the model would be on the plugin's own context."""
    monkeypatch.setattr(type(npu), "shared", False)
    with pytest.raises(UnsupportedObjectError, match="takes only the name of a device"):
        import_model(b"", npu)


def test_what_is_neither() -> None:
    wrong: Any = 5
    with pytest.raises(UnsupportedObjectError, match="neither bytes"):
        import_model(wrong, "CPU")
    with pytest.raises(UnsupportedObjectError, match="neither a device's name"):
        import_model(b"", wrong)
    with pytest.raises(UnsupportedObjectError, match=r"compile_model\(\) gives one"):
        export_model(wrong)
