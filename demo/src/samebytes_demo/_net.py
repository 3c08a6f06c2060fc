# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a user's network: convolutions over a BGR picture, with weights made up here.

It has the size and the kinds of layers of a small detector (depthwise separable convolutions, as
in MobileNet), so that it costs what such a network costs. It was never trained, and its output
means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

__all__ = ["SIZE", "Network", "stand_in"]

SIZE = 300
"""The rows and columns of its input."""

_BLOCKS = ((16, 2), (32, 2), (64, 2), (64, 1))
"""The channels and the stride of each block."""
_ANSWERS = 24
"""The number of values for each place of the last layer."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network of one image, to be run in several ways.

    Attributes:
        summary: one line for the report.
        model: the openvino.Model; its input has a fixed shape.
        layout: "NCHW" or "NHWC".
        device: OpenVINO's name of the device.
        threads: how many threads a CPU may use; None for OpenVINO's choice.
    """

    summary: str
    model: Any
    layout: str = "NCHW"
    device: str = "CPU"
    threads: int | None = None

    @property
    def size(self) -> tuple[int, int]:
        """The width and height of the image, as OpenCV takes them."""
        sizes = dict(zip(self.layout, self.model.input(0).get_shape(), strict=True))
        return sizes["W"], sizes["H"]

    @property
    def config(self) -> dict[str, str]:
        """The properties for OpenVINO's compile_model()."""
        config = {"PERFORMANCE_HINT": "LATENCY"}
        if self.threads is not None and self.device == "CPU":
            config["INFERENCE_NUM_THREADS"] = str(self.threads)
        return config

    def echo(self) -> Network:
        """A network with the same input that returns the image itself, to show its input."""
        shape = list(self.model.input(0).get_shape())
        image = ops.parameter(shape, np.float32, name="image")
        image.output(0).get_tensor().set_names({"image"})
        same = ops.multiply(image, ops.constant(np.float32(1)))
        return replace(self, model=openvino.Model([ops.result(same)], [image], "echo"))


def stand_in() -> Any:
    """A fixed model from float32 [1, 3, 300, 300], BGR from 0 to 255, to [1, 24, 10, 10]."""
    weights = np.random.default_rng(2026)

    def convolve(node: Any, channels: int, size: int, stride: int) -> Any:
        inputs = node.get_shape()[1]
        kernel = _weights(weights, (channels, inputs, size, size))
        return ops.convolution(node, kernel, *_steps(size, stride)).output(0)

    def depthwise(node: Any, stride: int) -> Any:
        kernel = _weights(weights, (node.get_shape()[1], 1, 1, 3, 3))
        return ops.group_convolution(node, kernel, *_steps(3, stride)).output(0)

    def active(node: Any) -> Any:
        return ops.clamp(node, 0.0, 6.0).output(0)

    image = ops.parameter([1, 3, SIZE, SIZE], np.float32, name="image")
    image.output(0).get_tensor().set_names({"image"})
    centred = ops.divide(
        ops.subtract(image, ops.constant(np.float32(127.5))), ops.constant(np.float32(127.5))
    )
    node = active(convolve(centred.output(0), 8, 3, 2))
    for channels, stride in _BLOCKS:
        node = active(convolve(active(depthwise(node, stride)), channels, 1, 1))
    node = convolve(node, _ANSWERS, 3, 2)
    return openvino.Model([ops.result(node)], [image], "stand_in")


def _weights(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Normally distributed weights with which values keep their size from layer to layer."""
    inputs = int(np.prod(shape[-3:]))
    return ops.constant((random.standard_normal(shape) * (2 / inputs) ** 0.5).astype(np.float32))


def _steps(size: int, stride: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, padding before and after, and dilation, for a kernel of that size."""
    around = [size // 2] * 2
    return [stride] * 2, around, around, [1, 1]
