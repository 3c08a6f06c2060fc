# SPDX-License-Identifier: Apache-2.0
"""Parts of pictures in the kit's checks of lifetimes: drops in every order, leaks, fork, exit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from samebytes import Access, Frame, ImageInfo, Tensor
from samebytes.testing import ArrayMemory
from samebytes.testing._drop_orders import DropChecks


class Middle(ArrayMemory):
    """Frames that are looked at in their middle alone: half of the width, half of the height."""

    def views(self, native: Any) -> tuple[np.ndarray[Any, Any], ...]:
        return tuple(_middle(self.view(plane)) for plane in native)


def _middle(plane: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows, columns = plane.shape[:2]
    return plane[rows // 4 : rows * 3 // 4, columns // 4 : columns * 3 // 4]


CASES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 32, 16),
    ImageInfo.of("YUY2", 48, 16),
    ImageInfo.of("BGRA", 24, 20),
)


class TestWholes(DropChecks):
    """A part that is all of the picture: the scenarios look at arrays of both."""

    source = target = ArrayMemory()
    cases: ClassVar[tuple[ImageInfo, ...]] = CASES

    def map(self, item: Tensor | Frame, access: Access = "r") -> Frame:
        assert isinstance(item, Frame)
        return item.map("cpu", access).crop(0, 0, item.width, item.height)


class TestParts(DropChecks):
    source = Middle()
    target = ArrayMemory()
    cases: ClassVar[tuple[ImageInfo, ...]] = CASES
    in_child = ("check_fork", "check_drop_orders", "check_exit")
    test_lifetimes = None  # type: ignore[assignment]  # see above: they look beyond the middle

    def map(self, item: Tensor | Frame, access: Access = "r") -> Frame:
        assert isinstance(item, Frame)
        width, height = item.width, item.height
        seen = item.map("cpu", access)
        return seen.crop(width // 4, height // 4, width // 2, height // 2)


class TestPartsOfParts(TestParts):
    def map(self, item: Tensor | Frame, access: Access = "r") -> Frame:
        assert isinstance(item, Frame)
        width, height = item.width, item.height
        seen = item.map("cpu", access).crop(0, height // 4, width, height // 2)
        return seen.crop(width // 4, 0, width // 2, height // 2)
