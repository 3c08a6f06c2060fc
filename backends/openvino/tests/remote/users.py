# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's own users of remote tensors, and memory that says when it is given back."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import openvino
from openvino import opset13 as ops

import samebytes
from samebytes.plugins import sweep_loans
from samebytes.testing import GuardedMemory
from samebytes_openvino import compile_model

from .models import N, adding_one

SHAPE = (1, N)
Use = Callable[[Any, Any], Any]


def region_of(_: Any, native: Any) -> Any:
    # All of it: the plugins copy parts in ways of their own.
    kind: Any = openvino.Tensor if isinstance(native, openvino.Tensor) else openvino.RemoteTensor
    return kind(native, openvino.Coordinate([0, 0]), openvino.Coordinate(SHAPE))


def region_of_a_region(context: Any, native: Any) -> Any:
    return region_of(context, region_of(context, native))


def request_with(context: Any, native: Any) -> Any:
    request = compiled(context).create_infer_request()
    request.set_tensor("x", native)
    return request


def as_openvino_tensor(_: Any, native: Any) -> Any:
    if isinstance(native, openvino.Tensor):
        return openvino.Tensor(native, [0, 0], SHAPE)
    return converted(native, openvino.Type.f32, len(SHAPE))


def converted(native: Any, element: Any, rank: int) -> Any:
    """The openvino.Tensor that a request gives back for a remote one that was set by its name."""
    x = ops.parameter(openvino.PartialShape([-1] * rank), element)
    x.output(0).set_names({"x"})
    model = openvino.Model([ops.result(x.output(0))], [x])
    request = openvino.Core().compile_model(model, "CPU").create_infer_request()
    request.set_tensor("x", native)
    return request.get_tensor("x")


USERS = [region_of, region_of_a_region, request_with, as_openvino_tensor]

_compiled: dict[str, Any] = {}


def compiled(context: Any) -> Any:
    """y = x + 1, in this context."""
    if str(context) not in _compiled:
        exact = {"INFERENCE_PRECISION_HINT": "f32"} if context.device_name != "NPU" else {}
        _compiled[str(context)] = compile_model(adding_one(SHAPE), context, exact)
    return _compiled[str(context)]


def reads(context: Any, user: Any, value: float) -> bool:
    """True if the device finds that value everywhere, or cannot read the region of a region."""
    request = user
    if not isinstance(user, openvino.InferRequest):
        request = request_with(context, user)
    try:
        request.infer(share_outputs=True)
    except RuntimeError as error:
        # The GPU plugin cannot read the region of a region, which holds the memory nevertheless.
        if "iremote_tensor" not in str(error):
            raise
        return True
    return bool((request.get_output_tensor(0).data == value + 1).all())


def source_with(value: float) -> Any:
    source = samebytes.context("cpu").allocate(SHAPE, "float32")
    source.native[...] = value
    return source


def guarded(value: float) -> tuple[GuardedMemory, Any]:
    """An array whose pages cannot be touched after its last holder is gone."""
    guard = GuardedMemory()
    (array,) = guard.arrays([samebytes.TensorInfo("float32", SHAPE)])
    array[...] = value
    return guard, array


def assert_kept_for(context: Any, users: list[Any], guard: GuardedMemory) -> None:
    """The memory, which holds 7, is there until its last user is gone. Takes the users."""
    gc.collect()
    assert not guard.released
    assert all(reads(context, user, 7) for user in users)
    users.clear()
    sweep_loans()
    assert guard.released


def made_over(context: Any, array: Any) -> Any:
    """The native of a tensor that was made by hand over an array, and of which nothing is left."""
    if context.device_name == "NPU":
        return context.create_tensor("float32", SHAPE, array).native
    from samebytes_openvino.intel_gpu import VirtualAddressMemory

    return context.create_tensor("float32", SHAPE, VirtualAddressMemory(array)).native
