# SPDX-License-Identifier: Apache-2.0
"""Boxes and labels, drawn into the planes of a picture in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from samebytes import Frame, Region
from samebytes.formats import ImageInfo, color_components, colors_of, image_format
from samebytes.metadata import Classification, ObjectId, all_of

__all__ = ["FORMATS", "Paint", "draw", "line_width", "text_of"]

FORMATS = "NV12|I420|NV21|YV12|NV16|I422|NV24|I444|GRAY8|BGR|RGB|BGRA|RGBA|BGRX|RGBX"

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_Array = np.ndarray[Any, Any]
_GRAY = image_format("GRAY8")


class Paint:
    """A colour, and black or white to write on it, as the numbers of one frame's planes.

    Args:
        color: red, green and blue, 0 to 255.
        frame: the frame, with its format, range and matrix.

    Raises:
        LayoutError: the numbers cannot be computed for the frame's matrix.
    """

    def __init__(self, color: Sequence[int], frame: Frame[Any]) -> None:
        format_ = frame.image.format
        said = colors_of(format_, frame.metadata)
        bright = color_components(color, _GRAY, "full", "smpte170m")["y"] > 127
        self._ground = color_components(color, format_, *said)
        self._ink = color_components([0 if bright else 255] * 3, format_, *said)

    def ground(self, names: str) -> list[float]:
        """The colour in a plane of these components."""
        return [self._ground[name] for name in names]

    def ink(self, names: str) -> list[float]:
        """Black or white in luma, or in all of r, g and b. Chroma stays that of the ground."""
        return [(self._ink if name in "yrgb" else self._ground)[name] for name in names]


def line_width(image: ImageInfo) -> int:
    """The width of a box's lines in pixels: even, so that they are whole pixels of chroma, too."""
    return max(2, round(image.height / 360) * 2)


def draw(
    planes: Sequence[_Array],
    image: ImageInfo,
    regions: Sequence[Region],
    paint: Paint,
    line: int,
    labels: bool,
) -> None:
    """Draw outlines, and labels on a ground of the same colour above or below the top line.

    Args:
        planes: writable arrays; OpenCV writes into them, and refuses one that it would have to
            copy.
        paint: the paint for this frame.
        line: the width of the lines in pixels.
    """
    for region in regions:
        box = (region.x, region.y, region.x + region.width, region.y + region.height)
        for edge in _edges(box, line):
            _fill(planes, image, edge, paint)
        text = text_of(region) if labels else ""
        if text:
            _label(planes, image, box, text, paint)


def _edges(box: tuple[int, int, int, int], line: int) -> list[tuple[int, int, int, int]]:
    left, top, right, bottom = box
    return [
        (left, top, right, top + line),
        (left, bottom - line, right, bottom),
        (left, top, left + line, bottom),
        (right - line, top, right, bottom),
    ]


def _fill(
    planes: Sequence[_Array], image: ImageInfo, box: tuple[int, int, int, int], paint: Paint
) -> None:
    """Fill the part of a rectangle inside the picture; far edges round up, as plane sizes do.

    OpenCV is slow for rows outside the picture, and takes no numbers of more than 32 bits.
    """
    left, top, right, bottom = box
    format_ = image.format
    for array, plane, names in zip(planes, format_.planes, format_.plane_names, strict=True):
        rows, columns = array.shape[:2]
        first = max(left >> plane.x_shift, 0), max(top >> plane.y_shift, 0)
        last = (
            min(-(-right >> plane.x_shift), columns) - 1,
            min(-(-bottom >> plane.y_shift), rows) - 1,
        )
        if first[0] <= last[0] and first[1] <= last[1]:
            cv2.rectangle(array, first, last, paint.ground(names), cv2.FILLED)


def _label(
    planes: Sequence[_Array],
    image: ImageInfo,
    box: tuple[int, int, int, int],
    text: str,
    paint: Paint,
) -> None:
    size = max(0.4, image.height / 900)
    thickness = max(1, round(image.height / 500))
    (width, height), below = cv2.getTextSize(text, _FONT, size, thickness)
    left, top = box[0], box[1]
    ground = height + below + 4
    # Above the box where there is room.
    upper = top - ground if top >= ground else top
    upper -= upper % 2
    right, lower = left + width + 4, upper + ground
    if right <= 0 or lower <= 0 or left >= image.width or upper >= image.height:
        return
    _fill(planes, image, (left, upper, right, lower), paint)
    values = paint.ink(image.format.plane_names[0])
    cv2.putText(
        planes[0], text, (left + 2, upper + height + 2), _FONT, size, values, thickness, cv2.LINE_8
    )


def text_of(region: Region) -> str:
    """The label, the confidence, the tracker's number, and the results of classifiers."""
    words = [region.label] if region.label else []
    if region.confidence is not None:
        words.append(f"{region.confidence:.2f}")
    words += [f"#{tracked.id}" for tracked in all_of(region, ObjectId)]
    words += [found.label or str(found.label_id) for found in all_of(region, Classification)]
    return " ".join(words)
