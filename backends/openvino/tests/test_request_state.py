# SPDX-License-Identifier: Apache-2.0
"""InferRequest: what it reports of its bindings, its outputs as a frame, and closing."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import BusyError, ClosedError, CopyRequiredError
from samebytes_openvino import InferRequest

from .models import SHAPE, adding, address, numbers


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


def test_a_closed_frame_of_outputs_drops_the_request() -> None:
    request = InferRequest(adding())
    out = request.infer(numbers())
    alive = weakref.ref(request)
    del request
    assert alive() is not None
    out.close()
    assert alive() is None


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


def test_close_during_an_inference_leaves_it_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """close() may come from another thread; here it comes from within, always in time."""
    alive: list[bool] = []
    infer = openvino._pyopenvino.InferRequest.infer

    def closing(*args: Any, **options: Any) -> Any:
        request.close()
        alive.append(array() is not None)
        return infer(*args, **options)

    monkeypatch.setattr("samebytes_openvino._request._inference._infer", closing)
    x = numbers()
    request = InferRequest(adding())
    request.set_tensor("x0", x)
    array = weakref.ref(x)
    del x
    with pytest.raises(ClosedError):
        request.infer()
    assert alive == [True]
    assert array() is None


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


def test_setting_a_tensor_goes_straight_to_openvino() -> None:
    """No error is raised and caught on the way: that would cost more than the call."""
    request = InferRequest(adding())
    tensor = samebytes.tensor(numbers()).map("openvino", "rw")
    raised: list[str] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if event == "exception":
            raised.append(f"{frame.f_code.co_name}: {argument[1]!r}")
        return trace

    def set_all() -> None:
        request.set_tensor("x0", tensor)
        request.set_input_tensor(0, tensor)
        request.set_output_tensor(0, tensor)

    set_all()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        set_all()
    finally:
        sys.settrace(before)
    assert raised == []
