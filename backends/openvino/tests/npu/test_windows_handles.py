# SPDX-License-Identifier: Apache-2.0
"""NT handles: the arguments that OpenVINO would get on Windows. No import is made."""

from __future__ import annotations

import sys
from typing import Any

import openvino
import pytest

from samebytes.errors import NotHostVisibleError
from samebytes_openvino.intel_npu import MemType, PropertyError, TensorType

SHAPE = (1, 64)


class Recorder:
    """An openvino.RemoteContext that writes down what is asked of it, and allocates."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.asked: list[tuple[Any, Any, dict[str, str]]] = []

    def create_tensor(self, element: Any, shape: Any, properties: dict[str, str]) -> Any:
        self.asked.append((element, shape, properties))
        return self.native.create_tensor(element, shape, {})


@pytest.fixture
def recorder(npu: Any, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder(npu.native)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(npu, "_native", made)
    return made


@pytest.mark.parametrize(
    ("given", "use"),
    [(0x2F4, TensorType.BINDED), ({"MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": 0x2F4}, None)],
)
def test_wrap_nt_handle(npu: Any, recorder: Recorder, given: Any, use: Any) -> None:
    """wrap_nt_handle: create_tensor(type, shape, void*)."""
    tensor = npu.create_tensor("float32", SHAPE, given, tensor_type=use)
    ((element, shape, properties),) = recorder.asked
    assert (element, list(shape)) == (openvino.Type.f32, [1, 64])
    assert properties == {
        "MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": "0x2f4", "TENSOR_TYPE": "BINDED"
    }  # fmt: skip
    assert tensor.context is npu


def test_null_handles(npu: Any, recorder: Recorder) -> None:
    with pytest.raises(PropertyError, match="NT handle is null"):
        npu.create_tensor("uint8", SHAPE, 0)
    assert not recorder.asked


@pytest.mark.usefixtures("recorder")
def test_handles_have_no_size(npu: Any) -> None:
    with pytest.raises(PropertyError, match="SHARED_BUF has no size"):
        npu.import_memory(0x2F4)


def test_their_memory_is_the_devices(npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin imports them with zeMemAllocDevice."""
    tensor = npu.allocate(SHAPE)
    monkeypatch.setattr(sys, "platform", "win32")
    shared = {**tensor.params, "MEM_TYPE": MemType.SHARED_BUF.name}
    monkeypatch.setattr(type(tensor), "params", property(lambda self: shared))
    with pytest.raises(NotHostVisibleError, match="NT handle"):
        tensor.host_array()
