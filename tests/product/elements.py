# SPDX-License-Identifier: Apache-2.0
"""Elements of the cases, which note what they see."""

from __future__ import annotations

from typing import Any

import samebytes as sb
import samebytes.elements as el

from .material import Planes
from .models import Box

__all__ = ["Collect", "addresses", "boxes_of", "read", "write"]


def addresses(frame: sb.Frame) -> list[int]:
    """The addresses of the planes of a frame that is mapped to the CPU."""
    return [plane.native.ctypes.data for plane in frame.planes]


def boxes_of(frame: sb.Frame) -> list[Box]:
    """The regions of a frame."""
    return [(r.x, r.y, r.width, r.height) for r in frame.regions]


@el.inplace(takes=el.Image(memory="cpu"))
def read(frame: Any) -> None:
    """Reads, and notes where the planes lie."""
    assert frame.planes[0].native.any()
    frame.metadata["addresses"] = addresses(frame)


@el.inplace(takes=el.Image(memory="cpu", access="rw"))
def write(frame: Any) -> None:
    """Makes the luma brighter by one, and notes where the planes lie."""
    frame.planes[0].native[...] += 1
    frame.metadata["addresses"] = addresses(frame)


class Collect(el.Sink):
    """Keeps copies of the pictures, and the boxes."""

    name = "collect"
    takes = el.Image(memory="cpu")

    def open(self, context: Any) -> None:
        self.pictures: list[Planes] = []
        self.boxes: list[list[Box]] = []
        self.moved: list[bool] = []

    def write(self, frame: Any) -> None:
        self.pictures.append([plane.native.copy() for plane in frame.planes])
        self.boxes.append(boxes_of(frame))
        before = frame.metadata.get("addresses")
        self.moved.append(before is not None and before != addresses(frame))
