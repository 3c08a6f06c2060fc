# SPDX-License-Identifier: Apache-2.0
"""InferRequest on each device: what can be bound, what comes out, and the errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import (
    ClosedError,
    DeviceMismatchError,
    LayoutError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import CompiledModel, InferRequest, OpenVINOTensor, compile_model

from .models import N, adding_one, native, numbers


def filled(context: Any, value: float) -> Any:
    tensor = native(context)
    tensor.copy_from(openvino.Tensor(np.full((1, N), value, np.float32)))
    return tensor


def read(tensor: Any) -> Any:
    copy = openvino.Tensor(openvino.Type.f32, openvino.Shape(list(tensor.shape)))
    tensor.native.copy_to(copy)
    return copy.data


def test_native_remote_tensors_by_name_index_and_port(remote: Any) -> None:
    model = compile_model(adding_one(count=2), remote)
    request = InferRequest(model)
    tensors = [filled(remote, value) for value in range(4)]
    out = native(remote)
    request.set_tensor("x0", tensors[0])
    request.set_input_tensor(1, tensors[1])
    request.set_output_tensor(1, out)
    for turn in range(2):
        first, second = request.infer()
        assert (np.asarray(first) == 1 + 2 * turn).all()
        assert (read(second) == 2 + 2 * turn).all()
        request.set_tensor(model.inputs[0], tensors[2])
        request.set_tensor("x1", tensors[3])
    assert isinstance(first, OpenVINOTensor)
    assert second.context is remote
    assert second.native is out
    assert request.get_tensor("y1").native is out
    assert not request.get_tensor("y1").readonly
    assert request.get_input_tensor(0).readonly


def test_ports_without_names(remote: Any) -> None:
    """By name only a remote tensor goes in natively; a converted one goes everywhere."""
    model = adding_one()
    for port in (*model.inputs, *model.outputs):
        port.tensor.set_names(set())
    request = InferRequest(compile_model(model, remote))
    assert request.input_ports[0].names == ()
    out = native(remote)
    request.set_input_tensor(0, filled(remote, 8))
    request.set_output_tensor(0, out)
    (y,) = request.infer()
    assert (read(y) == 9).all()


def test_all_outputs_on_the_device_make_a_frame_of_it(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    request.set_tensor("y", native(remote))
    out = request.infer(filled(remote, 2))
    assert out.context is remote
    again = out.map(remote, "rw")
    assert again.parent is out
    assert (read(again.planes[0]) == 3).all()


def test_mixed_outputs_are_mapped_one_by_one(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(count=2), remote))
    request.set_tensor("y1", native(remote))
    out = request.infer([filled(remote, 2), filled(remote, 3)])
    with pytest.raises(LayoutError, match="planes one by one"):
        out.map("cpu")
    first, second = out
    assert (np.asarray(first.map("cpu")) == 3).all()
    assert (read(second) == 4).all()


def test_async(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    request.set_tensor("y", native(remote))
    request.start_async(filled(remote, 5))
    assert request.wait()
    assert (read(request.get_tensor("y")) == 6).all()


def test_models_compiled_by_name(remote: Any) -> None:
    model = compile_model(adding_one(), remote.device_name)
    context: Any = model.context
    assert context is remote
    plain = remote.core.compile_model(adding_one(), remote.device_name)
    for request in (InferRequest(model), InferRequest(model.create_infer_request()),
                    InferRequest(plain)):  # fmt: skip
        (y,) = request.infer(filled(remote, 1))
        assert (np.asarray(y) == 2).all()


def test_the_compiled_model_is_one_of_openvinos(remote: Any) -> None:
    model = remote.compile_model(adding_one(), {"PERFORMANCE_HINT": "LATENCY"})
    assert isinstance(model, CompiledModel)
    assert isinstance(model, openvino.CompiledModel)
    assert model.context is remote
    (result,) = model(np.zeros((1, N), np.float32)).values()
    assert (result == 1).all()


def test_what_compile_model_refuses(remote: Any) -> None:
    with pytest.raises(UnsupportedObjectError, match="neither a device's name nor a context"):
        compile_model(adding_one(), remote.native)


def test_cpu_models_have_no_context() -> None:
    model = compile_model(adding_one(), "CPU", {"NUM_STREAMS": 1})
    assert model.context is None
    (y,) = InferRequest(model).infer(numbers())
    np.testing.assert_array_equal(y, numbers() + 1)


def test_models_of_automatic_devices_are_left_to_openvino(remote: Any) -> None:
    model = compile_model(adding_one(), f"AUTO:{remote.device_name}")
    assert model.context is None
    request = InferRequest(model)
    request.set_tensor("x", np.full((1, N), 6, np.float32))
    assert request.bindings()[0].placement == "unknown"
    assert (np.asarray(request.infer().planes[0]) == 7).all()


def test_tensors_that_do_not_fit(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    with pytest.raises(LayoutError, match=rf"takes float32 \[1, {N}\].*is float32 \[2, {N}\]"):
        request.set_tensor("x", native(remote, (2, N)))
    with pytest.raises(LayoutError, match="the tensor is int32"):
        request.set_tensor("x", native(remote, (1, N), "i32"))
    with pytest.raises(UnknownNameError):
        request.set_tensor("z", native(remote))
    closed = samebytes.tensor(numbers())
    closed.close()
    with pytest.raises(ClosedError):
        request.set_tensor("x", closed)


def test_tensors_of_another_device(gpu: Any, npu: Any) -> None:
    request = InferRequest(compile_model(adding_one(), gpu))
    with pytest.raises(DeviceMismatchError, match="the tensor is of NPU"):
        request.set_tensor("x", native(npu))
    request = InferRequest(compile_model(adding_one(), npu))
    with pytest.raises(DeviceMismatchError, match="the tensor is of GPU"):
        request.set_tensor("x", native(gpu))


def test_a_batch_for_what_has_none(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one((2, 8)), remote))
    parts = [numbers((1, 8)), numbers((1, 8), 8)]
    with pytest.raises(LayoutError, match="takes a batch of 2, tensors passed: 1"):
        request.set_tensors("x", parts[:1])
    with pytest.raises(LayoutError, match="only inputs"):
        request.set_tensors("y", parts)
    with pytest.raises(LayoutError, match=r"item 1 of a batch.*is float32 \[1, 9\]"):
        request.set_tensors("x", [parts[0], numbers((1, 9))])


def test_dynamic_shapes_on_the_npu(npu: Any) -> None:
    with pytest.raises(LayoutError, match=r"'x' \[\?,8\].*model\.reshape"):
        compile_model(adding_one((-1, 8)), npu)
    with pytest.raises(LayoutError, match="fixed shapes only"):
        compile_model(adding_one((-1, 8)), "NPU")


def test_dynamic_shapes_on_the_gpu(gpu: Any) -> None:
    request = InferRequest(compile_model(adding_one((-1, 8)), gpu))
    for rows in (1, 3):
        x = numbers((rows, 8))
        np.testing.assert_array_equal(request.infer(x, copy=True).planes[0], x + 1)
        tensor = native(gpu, (rows, 8))
        tensor.copy_from(openvino.Tensor(x))
        np.testing.assert_array_equal(request.infer(tensor).planes[0], x + 1)
    with pytest.raises(LayoutError, match="has a dynamic shape"):
        request.set_tensor("y", native(gpu, (3, 8)))


def test_objects_that_are_not_tensors(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    with pytest.raises(UnsupportedObjectError):
        request.set_tensor("x", object())
