# SPDX-License-Identifier: Apache-2.0
"""Tensors as inputs of a request."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo
from samebytes.benchmarks import Ways

from .host import Array, picture

__all__ = ["by_index", "by_name", "of_array", "of_cpu_tensor"]


def by_name(width: int, height: int) -> Ways:
    """With the name of a tensor of the model."""
    native, ours, array = _requests(width, height)
    made = ov.Tensor(array, shared_memory=True)
    tensor = sb.tensor(made)
    return Ways(
        ours=lambda: ours.set_tensor("x", tensor), by_hand=lambda: native.set_tensor("x", made)
    )


def by_index(width: int, height: int) -> Ways:
    """With its place among the inputs."""
    native, ours, array = _requests(width, height)
    made = ov.Tensor(array, shared_memory=True)
    tensor = sb.tensor(made)
    return Ways(
        ours=lambda: ours.set_input_tensor(0, tensor),
        by_hand=lambda: native.set_input_tensor(0, made),
    )


def of_cpu_tensor(width: int, height: int) -> Ways:
    """A CPU tensor, which is mapped when it is set."""
    native, ours, array = _requests(width, height)
    tensor = sb.tensor(array)
    return _of(lambda: ours.set_tensor("x", tensor), native, array)


def of_array(width: int, height: int) -> Ways:
    """An array, which becomes a tensor first."""
    native, ours, array = _requests(width, height)
    return _of(lambda: ours.set_tensor("x", array), native, array)


def _of(ours: Any, native: Any, array: Array) -> Ways:
    return Ways(
        ours=ours,
        by_hand=lambda: native.set_tensor("x", ov.Tensor(array, shared_memory=True)),
        copying=lambda: native.set_tensor("x", ov.Tensor(array)),
    )


def _requests(width: int, height: int) -> tuple[Any, sbo.InferRequest, Array]:
    """One of OpenVINO's, one of samebytes', and what fits their input "x"."""
    array = picture(width, height)
    x = ops.parameter(array.shape, np.uint8, name="x")
    x.output(0).set_names({"x"})
    model = ov.Model([ops.result(ops.reduce_max(x, ops.constant(np.array([1, 2, 3]))))], [x])
    compiled = ov.Core().compile_model(model, "CPU")
    return compiled.create_infer_request(), sbo.InferRequest(compiled), array
