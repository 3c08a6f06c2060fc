# SPDX-License-Identifier: Apache-2.0
"""The rules for elements, tried on openvino.infer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes
from samebytes.elements import Element, create
from samebytes.testing import ElementSuite


class TestInfer(ElementSuite):
    element = "openvino.infer"
    many = 300

    def make(self) -> Element:
        """The mean of a picture."""
        image = ops.parameter([1, 3, 48, 64], np.float32, name="image")
        mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
        return create("openvino.infer", openvino.Model([mean], [image]), **self.parameters)

    def frame(self, number: int) -> Any:
        """One grey, in a format that image models take."""
        made = samebytes.context("cpu").allocate_frame("NV12", 64, 48)
        for plane in made.planes:
            plane.native[...] = number % 200
        made.meta.pts = number
        return made

    def seen(self, frame: Any) -> Any:
        """The time, and the result."""
        (mean,) = frame.metadata["inference"].values()
        return frame.pts, float(mean.host_array().ravel()[0])


class TestInferInLine(TestInfer):
    parameters: ClassVar[dict[str, Any]] = {"batch": 3, "requests": 2}
