# SPDX-License-Identifier: Apache-2.0
"""Small models for the tests, compiled for the CPU, and arrays for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

__all__ = [
    "SHAPE",
    "Array",
    "adding",
    "address",
    "compiled",
    "core",
    "image_model",
    "numbers",
    "slow",
]

Array = np.ndarray[Any, Any]
SHAPE = (1, 4, 6, 2)


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def numbers(shape: tuple[int, ...] = SHAPE, start: int = 0) -> Array:
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


@cache
def core() -> Any:
    return openvino.Core()


def compiled(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """Compile a model of parameters and results; their names are those of the nodes."""
    model = openvino.Model([ops.result(node) for node in outputs], list(inputs), "test")
    for port, node in zip([*model.inputs, *model.outputs], [*inputs, *outputs], strict=True):
        port.tensor.set_names({node.friendly_name})
    return core().compile_model(model, "CPU")


@cache
def adding(shape: tuple[int, ...] = SHAPE, dtype: str = "float32", count: int = 1) -> Any:
    """Inputs "x0", "x1" ...; outputs "y0", "y1" ... are one more. -1 is a dynamic dimension."""
    parameters, results = [], []
    for index in range(count):
        x = ops.parameter(openvino.PartialShape(list(shape)), np.dtype(dtype), name=f"x{index}")
        y = ops.add(x, ops.constant(np.ones((), dtype)))
        y.set_friendly_name(f"y{index}")
        parameters.append(x)
        results.append(y)
    return compiled(parameters, results)


@cache
def slow() -> Any:
    """From "a" to "b", float32 [600, 600]: runs for some hundredths of a second."""
    a = ops.parameter([600, 600], np.float32, name="a")
    node = a
    weights = np.eye(600, dtype=np.float32)
    for _ in range(40):
        node = ops.matmul(node, ops.constant(weights), False, False)
    node.set_friendly_name("b")
    return compiled([a], [node])


def image_model(height: int = 24, width: int = 32, layout: str = "NCHW") -> Any:
    """An uncompiled model of one float32 image, "image", whose output is the image."""
    shape = [1, 3, height, width] if layout == "NCHW" else [1, height, width, 3]
    x = ops.parameter(shape, np.float32, name="image")
    model = openvino.Model([ops.result(ops.relu(x))], [x], "image")
    model.inputs[0].tensor.set_names({"image"})
    return model
