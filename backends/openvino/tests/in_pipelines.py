# SPDX-License-Identifier: Apache-2.0
"""Sources and models for pipelines of openvino.infer, and results that can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el

__all__ = ["as_region", "doubled", "grays", "mean_of_image", "tensors", "value"]


def mean_of_image(size: int = 32) -> openvino.Model:
    image = ops.parameter([1, 3, size, size], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
    mean.output(0).get_tensor().set_names({"mean"})
    return openvino.Model([ops.result(mean)], [image], "mean")


def doubled() -> openvino.Model:
    x = ops.parameter([4, 8], np.float32, name="x")
    made = ops.multiply(x, ops.constant(np.float32(2)))
    made.output(0).get_tensor().set_names({"made"})
    return openvino.Model([ops.result(made)], [x], "doubled")


@el.source(gives=el.Image("GRAY8", memory="cpu", width=64, height=48))
def grays(*, count: int = 6) -> Iterator[sb.Frame[Any]]:
    for number in range(count):
        frame = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
        frame.planes[0].native[...] = 20 * number
        frame.meta.pts = number
        yield frame


@el.source(gives=el.Tensors(memory="cpu"))
def tensors(*, count: int = 3) -> Iterator[sb.Frame[Any]]:
    for number in range(count):
        tensor = sb.context("cpu").allocate((4, 8), "float32")
        tensor.native[...] = number
        native = (tensor.native,)
        yield sb.Frame.borrowed(native, tensor.context, sb.FrameMeta(None), keep=tensor)


def value(tensor: sb.Tensor) -> float:
    return float(np.asarray(tensor.map("cpu").native).reshape(-1)[0])


def as_region(frame: sb.Frame[Any], outputs: Any) -> list[sb.Region]:
    assert outputs.names == ("mean",)
    assert repr(outputs).startswith("<OutputFrame mean float32[1")
    return [sb.Region(0, 0, 8, 8, str(frame.meta.pts), value(outputs["mean"]))]
