# SPDX-License-Identifier: Apache-2.0
"""InferRequest: what can be bound, what comes out, and the errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.errors import (
    AccessError,
    ClosedError,
    LayoutError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import InferRequest, OutputFrame

from .models import SHAPE, Array, adding, address, compiled, core, numbers, slow


@pytest.mark.parametrize("kind", ["array", "openvino.Tensor", "cpu tensor", "openvino tensor"])
def test_inputs_of_every_kind(kind: str) -> None:
    x = numbers()
    value: Any = {
        "array": x,
        "openvino.Tensor": openvino.Tensor(x, shared_memory=True),
        "cpu tensor": samebytes.tensor(x),
        "openvino tensor": samebytes.tensor(x).map("openvino"),
    }[kind]
    request = InferRequest(adding())
    request.set_tensor("x0", value)
    (y,) = request.infer()
    np.testing.assert_array_equal(y, x + 1)
    assert address(request.native.get_tensor("x0").data) == address(x)
    x[...] = 5
    request.infer()
    np.testing.assert_array_equal(y, x + 1)


def test_ports_by_name_index_and_object() -> None:
    model = adding(count=3)
    request = InferRequest(model)
    arrays = [numbers(start=n) for n in range(3)]
    request.set_tensor("x0", arrays[0])
    request.set_input_tensor(1, arrays[1])
    request.set_tensor(model.inputs[2], arrays[2])
    for y, x in zip(request.infer(), arrays, strict=True):
        np.testing.assert_array_equal(y, x + 1)
    for index, x in enumerate(arrays):
        assert address(request.get_tensor(f"x{index}").host_array()) == address(x)
        assert address(request.get_input_tensor(index).host_array()) == address(x)
        assert request.get_input_tensor(index).readonly
        np.testing.assert_array_equal(request.get_output_tensor(index), x + 1)
    assert [p.name for p in request.input_ports] == ["x0", "x1", "x2"]
    assert [p.shape for p in request.output_ports] == [SHAPE] * 3


def test_indexes_of_numpy() -> None:
    request = InferRequest(adding(count=2))
    a, b = numbers(), numbers(start=9)
    for index, x in zip(np.arange(2), (a, b), strict=True):
        request.set_input_tensor(index, x)
        assert address(request.get_input_tensor(index).host_array()) == address(x)
    _, second = request.infer({np.uint8(1): a})
    np.testing.assert_array_equal(second, a + 1)
    with pytest.raises(UnknownNameError, match="input of the model '2'"):
        request.set_input_tensor(np.int64(2), a)
    with pytest.raises(UnsupportedObjectError, match="set_input_tensor"):
        request.set_tensor(np.int64(0), a)
    with pytest.raises(UnsupportedObjectError, match="get_output_tensor"):
        request.get_tensor(np.int64(0))


def test_ports_of_the_model_before_compilation() -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = openvino.Model([ops.result(ops.relu(x))], [x], "m")
    model.inputs[0].tensor.set_names({"x"})
    request = InferRequest(core().compile_model(model, "CPU"))
    request.set_tensor(model.inputs[0], np.ones(2, np.float32))
    assert np.asarray(request.infer().planes[0]).tolist() == [1, 1]


def test_inputs_of_one_call() -> None:
    request = InferRequest(adding(count=2))
    a, b = numbers(), numbers(start=9)
    calls: list[Any] = [[a, b], (a, b), {"x0": a, "x1": b}, {1: b, 0: a}]
    for inputs in calls:
        first, second = request.infer(inputs)
        np.testing.assert_array_equal(first, a + 1)
        np.testing.assert_array_equal(second, b + 1)
    with pytest.raises(LayoutError, match=r"1 tensors for 2 inputs \(x0, x1\)"):
        request.infer(a)
    np.testing.assert_array_equal(InferRequest(adding()).infer(a).planes[0], a + 1)


def test_outputs_in_the_users_memory() -> None:
    request = InferRequest(adding())
    y = np.zeros(SHAPE, np.float32)
    request.set_input_tensor(0, numbers())
    request.set_output_tensor(0, y)
    (out,) = request.infer()
    np.testing.assert_array_equal(y, numbers() + 1)
    assert address(out.host_array()) == address(y)
    assert not out.readonly


def test_memory_of_the_requests_own() -> None:
    request = InferRequest(adding())
    with request.get_tensor("x0").map("cpu", "w") as view:
        view.native[...] = 3
    (y,) = request.infer()
    assert (np.asarray(y) == 4).all()
    later = request.outputs().planes[0]
    assert address(later.host_array()) == address(y.host_array())
    del request, later
    assert (np.asarray(y) == 4).all()


def test_the_names_of_outputs() -> None:
    x = ops.parameter([-1, 4], np.float32, name="x")
    same, total = ops.result(ops.relu(x)), ops.result(ops.reduce_sum(x, ops.constant([0, 1])))
    model = openvino.Model([same, total], [x])
    model.outputs[0].tensor.set_names({"same"})
    model.outputs[1].tensor.set_names({"total", "sum"})
    request = InferRequest(core().compile_model(model, "CPU"))
    outputs = request.infer(np.ones((2, 4), np.float32))
    assert outputs.names == ("same", "sum")
    assert outputs["sum"].shape == outputs["total"].shape == ()
    for number, name in enumerate(outputs.names):
        assert outputs[name] is outputs[number]
    assert repr(outputs) == "<OutputFrame same float32[?, 4], sum float32[] in openvino>"
    mapped = outputs.map("openvino")
    assert isinstance(mapped, OutputFrame)
    assert mapped.names == outputs.names
    assert repr(mapped).startswith("<OutputFrame same float32[?, 4]")
    outputs.close()
    assert repr(outputs) == "<OutputFrame closed>"
    with pytest.raises(ClosedError):
        outputs.names  # noqa: B018  # asking is what raises


def test_looking_at_outputs_waits_for_nothing() -> None:
    request = InferRequest(slow())
    request.start_async(np.eye(600, dtype=np.float32))
    outputs = request.outputs()
    assert "float32[600, 600]" in repr(outputs)
    assert len(outputs.names) == 1
    assert "running" in repr(request)
    request.wait()


def test_what_is_written_to_an_input_is_read_by_the_next_inference() -> None:
    request = InferRequest(adding())
    x, y = numbers(), np.zeros(SHAPE, np.float32)
    request.set_tensor("x0", x)
    request.set_tensor("y0", y)
    request.infer()
    for value in (7, 8):
        x[...] = value
        request.infer()
        assert (y == value + 1).all()


def test_names_that_are_not_there() -> None:
    request = InferRequest(adding(count=2))
    with pytest.raises(UnknownNameError, match="x0") as caught:
        request.set_tensor("x_0", numbers())
    assert "x0" in caught.value.nearest
    with pytest.raises(UnknownNameError, match="input of the model '2'"):
        request.set_input_tensor(2, numbers())
    with pytest.raises(UnknownNameError):
        request.set_output_tensor("x0", numbers())
    with pytest.raises(UnknownNameError, match="'a'"):
        request.set_tensor(slow().inputs[0], numbers())
    with pytest.raises(UnsupportedObjectError, match="set_input_tensor"):
        request.set_tensor(0, numbers())
    for key in (None, True, np.True_, 1.0):
        with pytest.raises(UnsupportedObjectError, match="does not name a port"):
            request.set_input_tensor(key, numbers())
    with pytest.raises(UnknownNameError):
        request.get_output_tensor(-1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (numbers((1, 4, 6, 3)), r"input 'x0' takes float32 \[1, 4, 6, 2\], .* \[1, 4, 6, 3\]"),
        (numbers((4, 6, 2)), r"the tensor is float32 \[4, 6, 2\]"),
        (numbers().astype(np.float64), "the tensor is float64"),
        (numbers().view(np.int32), "the tensor is int32"),
    ],
)
def test_tensors_that_do_not_fit(value: Array, message: str) -> None:
    request = InferRequest(adding())
    request.set_tensor("x0", numbers())
    with pytest.raises(LayoutError, match=message):
        request.set_tensor("x0", value)
    np.testing.assert_array_equal(request.infer().planes[0], numbers() + 1)


def test_bad_input() -> None:
    request = InferRequest(adding())
    closed = samebytes.tensor(numbers())
    closed.close()
    with pytest.raises(ClosedError):
        request.set_tensor("x0", closed)
    frame = samebytes.frame([np.zeros((4, 6), np.uint8)], format="GRAY8", width=6, height=4)
    with pytest.raises(UnsupportedObjectError, match="set_frame"):
        request.set_tensor("x0", frame)
    with pytest.raises(SamebytesError):
        request.set_tensor("x0", object())
    constant = np.zeros(SHAPE, np.float32)
    constant.flags.writeable = False
    request.set_tensor("x0", constant)
    for readonly in (constant, samebytes.tensor(constant).map("openvino").native):
        with pytest.raises(AccessError, match="read-only"):
            request.set_tensor("y0", readonly)
    with pytest.raises(LayoutError, match=r"output 'y0' is written in place to dense memory only"):
        request.set_tensor("y0", np.zeros((1, 4, 8, 2), np.float32)[:, :, :6])
    with pytest.raises(UnsupportedObjectError, match="compile"):
        InferRequest(openvino.Model([ops.constant(1.0)], [], "m"))


def test_dynamic_shapes() -> None:
    request = InferRequest(adding((-1, 3)))
    assert request.input_ports[0].shape is None
    for rows in (2, 5, 1, 700):
        x = numbers((rows, 3))
        out = request.infer(x)
        np.testing.assert_array_equal(out.planes[0], x + 1)
    with pytest.raises(LayoutError, match=r"\[\?,3\]"):
        request.set_tensor("x0", numbers((2, 4)))
    with pytest.raises(LayoutError, match="has a dynamic shape"):
        request.set_tensor("y0", numbers((2, 3)))


def test_carried_and_packed_types() -> None:
    x = ops.parameter([4, 2], openvino.Type.bf16, name="x")
    y = ops.convert(x, "f32")
    y.set_friendly_name("y")
    request = InferRequest(compiled([x], [y]))
    tensor = samebytes.context("openvino").allocate((4, 2), "bfloat16")
    tensor.host_array()[...] = 0x4040  # 3.0
    (out,) = request.infer(tensor.map("cpu"))
    assert (np.asarray(out) == 3).all()
    with pytest.raises(LayoutError, match=r"takes bfloat16 \[4, 2\], but the tensor is uint16"):
        request.set_tensor("x", np.zeros((4, 2), np.uint16))


def test_strings_are_left_to_openvino() -> None:
    x = ops.parameter([2], openvino.Type.string, name="x")
    z = ops.parameter([2], np.float32, name="z")
    w = ops.relu(z)
    w.set_friendly_name("w")
    request = InferRequest(compiled([x, z], [x, w]))
    texts, numbers_ = (port.name for port in request.input_ports)
    strings = np.array(["one", "two"])
    for wrong in (np.zeros(2, np.float32), strings, openvino.Tensor(strings)):
        with pytest.raises(LayoutError, match=r"set them by request\.native\.set_tensor\('x', "):
            request.set_tensor(texts, wrong)
    request.native.set_tensor(texts, openvino.Tensor(["one", "two"]))
    request.infer({numbers_: np.array([-1, 1], np.float32)})
    assert np.asarray(request.get_output_tensor(1)).tolist() == [0, 1]
    with pytest.raises(LayoutError, match=r"request\.native\.get_tensor\('\w+'\)\.str_data"):
        request.get_output_tensor(0)


def test_wrapping_a_request() -> None:
    native = adding().create_infer_request()
    request = InferRequest(native)
    assert request.native is native
    np.testing.assert_array_equal(request.infer(numbers()).planes[0], numbers() + 1)


def test_outputs_by_number_and_name() -> None:
    x = ops.parameter(SHAPE, np.float32, name="x")
    nodes = [ops.abs(x), ops.negative(x)]
    for node, name in zip(nodes, ("size", "opposite"), strict=True):
        node.friendly_name = name
    outputs = InferRequest(compiled([x], nodes)).infer(numbers())
    size, opposite = outputs
    assert outputs[0] is outputs["size"] is size
    assert outputs[-1] is outputs["opposite"] is opposite
    np.testing.assert_array_equal(outputs["opposite"], -numbers())
    with pytest.raises(UnknownNameError, match=r"output of the model 'opposit'.*opposite"):
        outputs["opposit"]
    with pytest.raises(IndexError, match="output 2 does not exist: the model has 2 "):
        outputs[2]
