# SPDX-License-Identifier: Apache-2.0
"""Boxes that are found in a mask and drawn into the planes of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from samebytes import ImageInfo

__all__ = ["COLOUR", "Array", "Box", "draw_boxes", "find_boxes", "line_width"]

Array = npt.NDArray[Any]

COLOUR = {"y": 210, "u": 16, "v": 146, "a": 255}
"""The yellow of the boxes, opaque, by component. Gray pictures get its y."""

_SMALLEST = 2
"""The smallest group of cells that is a box; fewer cells count as noise of the encoder."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels from the top left."""

    x: int
    y: int
    width: int
    height: int

    def overlap(self, other: Box) -> float:
        """Intersection over union, 0 to 1."""
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        down = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        both = max(across, 0) * max(down, 0)
        return both / (self.width * self.height + other.width * other.height - both)


def find_boxes(mask: Array, cell: int, image: ImageInfo) -> list[Box]:
    """One box around each connected group of cells that are not zero, from the top down.

    Args:
        mask: uint8 [rows, columns]; OpenCV reads it in place.
        cell: pixels of the picture along each side of a cell.
    """
    count, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    boxes = []
    for left, top, width, height, area in np.asarray(stats[1:count]).tolist():
        if area < _SMALLEST:
            continue
        x, y = left * cell, top * cell
        right = min(x + width * cell, image.width)
        bottom = min(y + height * cell, image.height)
        boxes.append(Box(x, y, right - x, bottom - y))
    return boxes


def line_width(image: ImageInfo) -> int:
    """The width of a box's lines in pixels: even, so that chroma has whole pixels too."""
    return max(2, round(image.height / 180) * 2)


def draw_boxes(planes: Sequence[Array], image: ImageInfo, boxes: Sequence[Box]) -> None:
    """Draw the outlines of the boxes into the planes of an 8-bit YUV or gray picture.

    Args:
        planes: [rows, columns] or [rows, columns, channels], writable; OpenCV writes into them
            in place, and refuses an array that it would have to copy.
    """
    for array, plane, names in zip(
        planes, image.format.planes, image.format.plane_names, strict=True
    ):
        colour = tuple(COLOUR[name] for name in names)
        for box in boxes:
            _outline(array, colour, box, line_width(image), (plane.x_shift, plane.y_shift))


def _outline(
    array: Array, colour: Sequence[int], box: Box, line: int, shifts: tuple[int, int]
) -> None:
    # In units of this plane's elements; the far edges are rounded up, as the planes' sizes are.
    left, top = box.x >> shifts[0], box.y >> shifts[1]
    right = -(-(box.x + box.width) >> shifts[0])
    bottom = -(-(box.y + box.height) >> shifts[1])
    across, down = max(1, line >> shifts[0]), max(1, line >> shifts[1])
    for x1, y1, x2, y2 in (
        (left, top, right, top + down),
        (left, bottom - down, right, bottom),
        (left, top, left + across, bottom),
        (right - across, top, right, bottom),
    ):
        cv2.rectangle(array, (x1, y1), (x2 - 1, y2 - 1), colour, cv2.FILLED)
