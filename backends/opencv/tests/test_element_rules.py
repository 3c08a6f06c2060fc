# SPDX-License-Identifier: Apache-2.0
"""The rules for elements, tried on those of OpenCV."""

from __future__ import annotations

from typing import Any, ClassVar

import samebytes
from samebytes.testing import ElementSuite


class TestDraw(ElementSuite):
    element = "opencv.draw"

    def frame(self, number: int) -> Any:
        """With a box to draw."""
        made = super().frame(number)
        made.regions.append(samebytes.Region(4, 4, 20, 16, "car", 0.5))
        return made


class TestScale(ElementSuite):
    element = "opencv.scale"
    parameters: ClassVar[dict[str, Any]] = {"width": 32, "height": 24}


class TestCrop(ElementSuite):
    element = "opencv.crop"
    parameters: ClassVar[dict[str, Any]] = {"x": 16, "y": 8, "width": 32, "height": 24}


class TestWarp(ElementSuite):
    element = "opencv.warp"
    parameters: ClassVar[dict[str, Any]] = {
        "width": 32, "height": 24, "matrix": (0.5, 0.1, 0.2, -0.1, 0.5, 0.3),
    }  # fmt: skip


class TestConvert(ElementSuite):
    element = "convert"
    parameters: ClassVar[dict[str, Any]] = {
        "format": "RGB24", "width": 32, "height": 24, "by": "opencv",
    }  # fmt: skip

    def frame(self, number: int) -> Any:
        """A picture that it converts."""
        made = samebytes.context("cpu").allocate_frame("NV12", 64, 48)
        for plane in made:
            plane.native[...] = number % 200
        return made
