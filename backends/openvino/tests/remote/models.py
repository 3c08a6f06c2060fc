# SPDX-License-Identifier: Apache-2.0
"""Small models for the tests on devices."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes
from samebytes_openvino import InferRequest

__all__ = [
    "DEVICES",
    "LONG",
    "N",
    "adding_one",
    "first_of",
    "full",
    "named",
    "native",
    "numbers",
    "nv12_model",
    "unaligned",
    "until",
]

DEVICES = ["CPU", "GPU", "NPU"]
LONG = 60
"""Seconds: what is waited for comes at once, or never."""
N = 4096
"""Elements of a test tensor: float32 then are whole pages."""


def named(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """A model of parameters and results; their names are those of the nodes."""
    model = openvino.Model([ops.result(node) for node in outputs], list(inputs), "test")
    for port, node in zip([*model.inputs, *model.outputs], [*inputs, *outputs], strict=True):
        port.tensor.set_names({node.friendly_name})
    return model


def adding_one(shape: Sequence[int] = (1, N), type_: str = "f32", count: int = 1) -> Any:
    """An uncompiled model: "y" is "x" and one; with a count "y0" is "x0" and one, and so on."""
    parameters, results = [], []
    for index in range(count):
        suffix = str(index) if count > 1 else ""
        element = getattr(openvino.Type, type_)
        x = ops.parameter(openvino.PartialShape(list(shape)), element, name=f"x{suffix}")
        one = ops.convert(ops.constant(np.ones((), np.float32)), element)
        y = ops.add(x, one)
        y.set_friendly_name(f"y{suffix}")
        parameters.append(x)
        results.append(y)
    return named(parameters, results)


def nv12_model(height: int, width: int, memory: str | None, batch: int = 1) -> Any:
    """An uncompiled model whose inputs are the planes of NV12, and whose output is BGR float32."""
    from openvino.preprocess import ColorFormat, PrePostProcessor

    x = ops.parameter([1, 3, height, width], np.float32, name="image")
    y = ops.add(x, ops.constant(np.float32(0)))
    y.set_friendly_name("bgr")
    steps = PrePostProcessor(named([x], [y]))
    tensor = steps.input().tensor()
    tensor.set_element_type(openvino.Type.u8)
    tensor.set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
    if memory is not None:
        tensor.set_memory_type(memory)
    steps.input().preprocess().convert_color(ColorFormat.BGR)
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    model = steps.build()
    if batch > 1:
        openvino.set_batch(model, batch)
    return model


def numbers(shape: Sequence[int] = (1, N), start: int = 0) -> Any:
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


def native(context: Any, shape: Sequence[int] = (1, N), type_: str = "f32") -> Any:
    """An openvino.RemoteTensor, made with OpenVINO alone."""
    create = openvino.RemoteContext.create_tensor
    return create(context.native, getattr(openvino.Type, type_), openvino.Shape(shape), {})


def unaligned(shape: Sequence[int] = (1, N)) -> Any:
    """Zeros at an address that no device takes."""
    size = 4 * int(np.prod(shape))
    memory = np.zeros(size + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + 4
    return memory[begin : begin + size].view(np.float32).reshape(shape)


def full(value: float) -> Any:
    """Memory that every device takes in place."""
    tensor = samebytes.context("cpu").allocate((1, N), "float32")
    tensor.native[...] = value
    return tensor


def first_of(request: InferRequest) -> float:
    """The first element of the output of `adding_one`."""
    (y,) = request.outputs()
    return float(y.map("cpu", copy=True).native[0, 0])


def until(condition: Any) -> bool:
    """True if the condition is met within LONG; garbage is collected meanwhile."""
    end = time.monotonic() + LONG
    while not condition() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.005)
    return bool(condition())
