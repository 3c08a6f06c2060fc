# SPDX-License-Identifier: Apache-2.0
"""InferRequest: what can be bound, what comes out, and the errors."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.errors import (
    AccessError,
    BusyError,
    ClosedError,
    CopyRequiredError,
    LayoutError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_openvino import InferRequest

from .models import adding, compiled, core, slow

Array = np.ndarray[Any, Any]
SHAPE = (1, 4, 6, 2)


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def numbers(shape: tuple[int, ...] = SHAPE, start: int = 0) -> Array:
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


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


def test_padded_inputs_are_copied_here_and_only_when_allowed() -> None:
    whole = numbers((1, 4, 8, 2))
    padded = whole[:, :, :6]
    request = InferRequest(adding())
    with pytest.raises(CopyRequiredError, match=r"input 'x0'.*copy=True"):
        request.set_tensor("x0", padded)
    samebytes.reset_stats()
    request.set_tensor("x0", padded, copy=True)
    stats = samebytes.stats()
    assert stats.copied_bytes == padded.nbytes
    assert list(stats.by_edge) == ["openvino -> input 'x0'"]
    np.testing.assert_array_equal(request.infer().planes[0], padded + 1)
    (binding, _) = request.bindings()
    assert binding.placement == "copied"
    assert binding.tensor is not None
    assert address(binding.tensor.host_array()) == address(padded)
    whole[...] = 3
    (y,) = request.infer(padded, copy=True)
    assert (np.asarray(y) == 4).all()
    assert samebytes.stats().copies == 2


def test_no_input_overwrites_another_one() -> None:
    """OpenVINO's CPU plugin copies padded inputs to where the input before was: ours does not."""
    x = numbers()
    padded = np.full((1, 4, 8, 2), -1, np.float32)[:, :, :6]
    plain = adding().create_infer_request()
    held = openvino.Tensor(x, shared_memory=True)
    plain.set_input_tensor(0, held)
    plain.infer()
    whole = openvino.Tensor(padded.base, shared_memory=True)
    plain.set_input_tensor(0, openvino.Tensor(whole, [0, 0, 0, 0], [1, 4, 6, 2]))
    plain.infer()
    plugin_overwrites = not np.array_equal(x, numbers())

    x = numbers()
    request = InferRequest(adding())
    request.infer(x)
    (y,) = request.infer(padded, copy=True)
    np.testing.assert_array_equal(y, padded + 1)
    np.testing.assert_array_equal(x, numbers())
    assert plugin_overwrites, "the plugin no longer does so: padded inputs may be set in place"


def test_bindings() -> None:
    request = InferRequest(adding())
    x, y = numbers(), np.zeros(SHAPE, np.float32)
    assert [(b.kind, b.name, b.tensor, b.placement) for b in request.bindings()] == [
        ("input", "x0", None, "in place"),
        ("output", "y0", None, "in place"),
    ]
    request.set_tensor("x0", x)
    request.set_tensor("y0", y)
    request.infer()
    for binding, array in zip(request.bindings(), (x, y), strict=True):
        assert binding.placement == "in place"
        assert binding.tensor is not None
        assert address(binding.tensor.host_array()) == address(array)


def test_bindings_tell_of_copies_on_the_way() -> None:
    request = InferRequest(adding((1, 4)))
    every_second = numbers((1, 8))[:, ::2]
    request.set_tensor("x0", every_second, copy=True)
    assert request.bindings()[0].placement == "copied"
    np.testing.assert_array_equal(request.infer().planes[0], every_second + 1)
    request.set_tensor("x0", numbers((1, 4)), copy=True)
    assert request.bindings()[0].placement == "in place"


def test_bindings_tell_of_copied_frames() -> None:
    request = InferRequest(adding((1, 4, 6, 1), "uint8"))
    flipped = np.arange(24, dtype=np.uint8).reshape(4, 6)[::-1]
    frame = samebytes.frame(flipped, format="GRAY8")
    with pytest.raises(CopyRequiredError):
        request.set_frame(frame)
    request.set_frame(frame, copy=True)
    assert request.bindings()[0].placement == "copied"
    np.testing.assert_array_equal(np.asarray(request.infer().planes[0])[0, :, :, 0], flipped + 1)


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
    with pytest.raises(UnsupportedObjectError, match="names no port"):
        request.set_input_tensor(None, numbers())
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
    with pytest.raises(AccessError, match="read-only"):
        request.set_tensor("y0", constant)
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


def test_outputs_of_dynamic_shape_are_not_moved_under_an_array() -> None:
    request = InferRequest(adding((-1, 3)))
    out = request.infer(numbers((2, 3))).planes[0]
    array = out.host_array()
    with pytest.raises(BusyError, match="output 'y0' has a dynamic shape"):
        request.infer(numbers((5000, 3)))
    np.testing.assert_array_equal(array, numbers((2, 3)) + 1)
    with pytest.raises(ClosedError):
        _ = out.native
    del array
    (y,) = request.infer(numbers((5000, 3)))
    np.testing.assert_array_equal(y, numbers((5000, 3)) + 1)


def test_carried_and_packed_types() -> None:
    x = ops.parameter([4, 2], openvino.Type.bf16, name="x")
    y = ops.convert(x, "f32")
    y.set_friendly_name("y")
    request = InferRequest(compiled([x], [y]))
    tensor = samebytes.context("openvino").allocate((4, 2), "bfloat16")
    tensor.host_array()[...] = 0x4040  # 3.0
    (out,) = request.infer(tensor.map("cpu"))
    assert (np.asarray(out) == 3).all()
    with pytest.raises(LayoutError, match=r"takes bfloat16 \[4, 2\], and the tensor is uint16"):
        request.set_tensor("x", np.zeros((4, 2), np.uint16))


def test_strings_are_left_to_openvino() -> None:
    x = ops.parameter([2], openvino.Type.string, name="x")
    z = ops.parameter([2], np.float32, name="z")
    w = ops.relu(z)
    w.set_friendly_name("w")
    request = InferRequest(compiled([x, z], [x, w]))
    texts, numbers_ = (port.name for port in request.input_ports)
    with pytest.raises(LayoutError, match="holds strings"):
        request.set_tensor(texts, np.zeros(2, np.float32))
    request.native.set_tensor(texts, openvino.Tensor(["one", "two"]))
    request.infer({numbers_: np.array([-1, 1], np.float32)})
    assert np.asarray(request.get_output_tensor(1)).tolist() == [0, 1]
    with pytest.raises(LayoutError, match="holds strings"):
        request.get_output_tensor(0)


def test_async() -> None:
    request = InferRequest(slow())
    a = np.eye(600, dtype=np.float32)
    request.start_async(a)
    assert "running" in repr(request)
    with pytest.raises(BusyError, match="wait"):
        request.set_tensor("a", np.zeros((600, 600), np.float32))
    with pytest.raises(BusyError, match="wait"):
        request.infer()
    (b,) = request.outputs()
    assert request.wait(0)
    assert "running" not in repr(request)
    np.testing.assert_array_equal(b, a)
    assert request.wait()
    assert request.wait(5)


def test_cancelling() -> None:
    request = InferRequest(slow())
    request.start_async(np.eye(600, dtype=np.float32))
    request.cancel()
    assert request.wait(0)
    request.cancel()
    np.testing.assert_array_equal(request.infer().planes[0], np.eye(600, dtype=np.float32))


def test_outputs_as_a_frame() -> None:
    request = InferRequest(adding(count=2))
    out = request.infer([numbers(), numbers(start=3)])
    assert len(out) == 2
    assert out.native is request.native
    assert out.media == "tensors"
    arrays = out.map("cpu")
    assert arrays.parent is out
    np.testing.assert_array_equal(arrays.planes[1].native, numbers(start=3) + 1)
    out.wait()
    out.close()
    with pytest.raises(ClosedError):
        _ = out.planes


def test_the_frame_of_outputs_maps_to_openvino_itself() -> None:
    request = InferRequest(adding())
    out = request.infer(numbers())
    same, writable = out.map("openvino"), out.map("openvino", "rw")
    assert (same.parent, same.readonly, writable.readonly) == (out, True, False)
    (y,), (z,), (first,) = same, writable, out
    assert (y.parent, y.readonly, z.readonly) == (out, True, False)
    assert address(y.host_array()) == address(first.host_array())
    z.host_array()[...] = 7
    assert (np.asarray(y) == 7).all()
    assert not y.host_array().flags.writeable
    (again,) = same.map("openvino")
    assert again.readonly


def test_a_closed_frame_of_outputs_lets_go_of_the_request() -> None:
    request = InferRequest(adding())
    out = request.infer(numbers())
    alive = weakref.ref(request)
    del request
    assert alive() is not None
    out.close()
    assert alive() is None


def test_close_during_an_inference_leaves_it_its_memory() -> None:
    """close() may come from another thread; here it comes from within, always in time."""
    alive: list[bool] = []

    class Closing(openvino.InferRequest):  # type: ignore[misc]  # openvino has no types
        def infer(self, *args: Any, **options: Any) -> Any:
            request.close()
            alive.append(array() is not None)
            return super().infer(*args, **options)

    x = numbers()
    request = InferRequest(Closing(adding().create_infer_request()))
    request.set_tensor("x0", x)
    array = weakref.ref(x)
    del x
    with pytest.raises(ClosedError):
        request.infer()
    assert alive == [True]
    assert array() is None


def test_waiting_lets_other_threads_run() -> None:
    request = InferRequest(slow())
    turns = 0
    request.start_async(np.eye(600, dtype=np.float32))
    done = threading.Event()

    def wait() -> None:
        request.wait()
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while not done.wait(0.0005):
        turns += 1
    thread.join()
    assert turns > 0


def test_wrapping_a_request() -> None:
    native = adding().create_infer_request()
    request = InferRequest(native)
    assert request.native is native
    np.testing.assert_array_equal(request.infer(numbers()).planes[0], numbers() + 1)


def test_closing() -> None:
    x = numbers()
    with InferRequest(adding()) as request:
        out = request.infer(x)
        y = out.planes[0]
    assert repr(request) == "<InferRequest closed>"
    np.testing.assert_array_equal(y, x + 1)
    for use in (
        request.infer, request.start_async, request.bindings, request.outputs, request.__enter__,
        lambda: request.set_tensor("x0", x), lambda: request.get_tensor("x0"),
    ):  # fmt: skip
        with pytest.raises(ClosedError):
            use()
    request.close()
    request.cancel()
    assert request.wait()
