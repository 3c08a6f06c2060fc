# SPDX-License-Identifier: Apache-2.0
"""Parts of pictures in the kit's checks of lifetimes: drops in every order, leaks, fork, exit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from samebytes import Access, Frame, ImageInfo, Tensor
from samebytes.testing import ArrayMemory, MapperSuite


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


class Lifetimes(MapperSuite):
    """The tests of the suite that need no route of its own: those of lifetimes."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in dir(cls):
            if name.startswith("test_") and name not in LIFETIMES:
                setattr(cls, name, None)


LIFETIMES = {
    "test_drop_orders", "test_ends_in_any_thread", "test_exit_with_living_mappings", "test_fork",
    "test_lifetimes", "test_nothing_is_left", "test_nothing_stays",
    "test_nothing_stays_of_sources", "test_threads",
}  # fmt: skip


class TestWholes(Lifetimes):
    """A part that is all of the picture: the scenarios look at arrays of both."""

    source = target = ArrayMemory()
    cases: ClassVar[tuple[ImageInfo, ...]] = CASES

    def map(self, item: Tensor | Frame, access: Access = "r", **_: object) -> Frame:
        assert isinstance(item, Frame)
        return item.map("cpu", access).crop(0, 0, item.width, item.height)


class TestParts(Lifetimes):
    source = Middle()
    target = ArrayMemory()
    cases: ClassVar[tuple[ImageInfo, ...]] = CASES
    in_child = ("check_fork", "check_drop_orders", "check_exit")
    test_lifetimes = None  # type: ignore[assignment]  # see above: they look beyond the middle

    def map(self, item: Tensor | Frame, access: Access = "r", **_: object) -> Frame:
        assert isinstance(item, Frame)
        width, height = item.width, item.height
        seen = item.map("cpu", access)
        return seen.crop(width // 4, height // 4, width // 2, height // 2)


class TestPartsOfParts(TestParts):
    def map(self, item: Tensor | Frame, access: Access = "r", **_: object) -> Frame:
        assert isinstance(item, Frame)
        width, height = item.width, item.height
        seen = item.map("cpu", access).crop(0, height // 4, width, height // 2)
        return seen.crop(width // 4, 0, width // 2, height // 2)
