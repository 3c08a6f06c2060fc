# SPDX-License-Identifier: Apache-2.0
"""Rows of OpenVINO tensors in host memory, and of a request that gets one."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo
from samebytes.benchmarks import Ways, check_way

__all__ = [
    "array_to_openvino",
    "by_index",
    "by_name",
    "bytes_to_cpu",
    "float_to_cpu",
    "frame_to_cpu",
    "frame_to_openvino",
    "of_array",
    "of_cpu_tensor",
    "to_openvino",
]

Array = np.ndarray[Any, Any]


def picture(width: int, height: int) -> Array:
    """One image, NHWC."""
    return np.ones((1, height, width, 3), np.uint8)


def planes(width: int, height: int) -> list[Array]:
    """The planes of NV12, NHWC."""
    shapes = ((1, height, width, 1), (1, height // 2, width // 2, 2))
    return [np.ones(shape, np.uint8) for shape in shapes]


def to_openvino(width: int, height: int) -> Ways:
    """A tensor that is kept."""
    array = picture(width, height)
    tensor = sb.tensor(array)
    check_way("cpu -> openvino tensor alias", tensor, "openvino")
    return Ways(
        ours=lambda: tensor.map("openvino"),
        by_hand=lambda: ov.Tensor(array, shared_memory=True),
        copying=lambda: ov.Tensor(array),
    )


def array_to_openvino(width: int, height: int) -> Ways:
    """A new tensor each time."""
    array = picture(width, height)
    return Ways(
        ours=lambda: sb.tensor(array).map("openvino"),
        by_hand=lambda: ov.Tensor(array, shared_memory=True),
        copying=lambda: ov.Tensor(array),
    )


def frame_to_openvino(width: int, height: int) -> Ways:
    """Planes as [1, rows, columns, channels]."""
    arrays = planes(width, height)
    frame = sb.frame(
        [arrays[0][0, :, :, 0], arrays[1][0]], format="NV12", width=width, height=height
    )
    check_way("cpu -> openvino frame alias", frame, "openvino")
    return Ways(
        ours=lambda: list(frame.map("openvino")),
        by_hand=lambda: [ov.Tensor(array, shared_memory=True) for array in arrays],
        copying=lambda: [ov.Tensor(array) for array in arrays],
    )


def float_to_cpu(width: int, height: int) -> Ways:
    """A tensor of floats, as a model outputs it."""
    return _to_cpu(np.zeros((1, height, width), np.float32))


def bytes_to_cpu(width: int, height: int) -> Ways:
    """Elements that numpy's type does not tell apart from packed ones."""
    return _to_cpu(picture(width, height))


def _to_cpu(array: Array) -> Ways:
    native = ov.Tensor(array, shared_memory=True)
    tensor = sb.tensor(native)
    check_way("openvino -> cpu tensor alias", tensor, "cpu", "rw")
    return Ways(
        ours=lambda: tensor.map("cpu", "rw"),
        by_hand=lambda: native.data,
        copying=lambda: np.array(native.data),
    )


def frame_to_cpu(width: int, height: int) -> Ways:
    """Both planes."""
    frame = sb.context("openvino").allocate_frame("NV12", width, height)
    natives: Any = frame.native
    check_way("openvino -> cpu frame alias", frame, "cpu")
    return Ways(
        ours=lambda: frame.map("cpu"),
        by_hand=lambda: [native.data for native in natives],
        copying=lambda: [native.data.copy() for native in natives],
    )


def by_name(width: int, height: int) -> Ways:
    """An input that is set by the name of a tensor of the model."""
    native, ours, array = _requests(width, height)
    made = ov.Tensor(array, shared_memory=True)
    tensor = sb.tensor(made)
    return Ways(
        ours=lambda: ours.set_tensor("x", tensor), by_hand=lambda: native.set_tensor("x", made)
    )


def by_index(width: int, height: int) -> Ways:
    """An input that is set by its index."""
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
    """A request of OpenVINO, one of samebytes, and an array for their input "x"."""
    array = picture(width, height)
    x = ops.parameter(array.shape, np.uint8, name="x")
    x.output(0).set_names({"x"})
    model = ov.Model([ops.result(ops.reduce_max(x, ops.constant(np.array([1, 2, 3]))))], [x])
    compiled = ov.Core().compile_model(model, "CPU")
    return compiled.create_infer_request(), sbo.InferRequest(compiled), array
