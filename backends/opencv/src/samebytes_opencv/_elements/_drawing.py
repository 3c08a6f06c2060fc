# SPDX-License-Identifier: Apache-2.0
"""Boxes and labels, drawn into the planes of a picture where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from samebytes import Region
from samebytes.formats import ImageInfo

__all__ = ["FORMATS", "components_of", "draw", "line_width"]

FORMATS = "NV12|I420|NV21|YV12|NV16|I422|NV24|I444|GRAY8|BGR|RGB|BGRA|RGBA|BGRX|RGBX"

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_Array = np.ndarray[Any, Any]
_Numbers = dict[str, int]


def components_of(color: Sequence[int]) -> _Numbers:
    """A colour by component: "r", "g", "b", the same as "y", "u", "v" (BT.601, limited), and
    opaque.

    Args:
        color: red, green and blue, 0 to 255.
    """
    r, g, b = color
    return {
        "r": r, "g": g, "b": b, "a": 255, "x": 255,
        "y": round(16 + (65.738 * r + 129.057 * g + 25.064 * b) / 256),
        "u": round(128 + (-37.945 * r - 74.494 * g + 112.439 * b) / 256),
        "v": round(128 + (112.439 * r - 94.154 * g - 18.285 * b) / 256),
    }  # fmt: skip


def line_width(image: ImageInfo) -> int:
    """Pixels of a box's lines: even, so that chroma has whole ones too."""
    return max(2, round(image.height / 360) * 2)


def draw(
    planes: Sequence[_Array],
    image: ImageInfo,
    regions: Sequence[Region],
    colour: _Numbers,
    line: int,
    labels: bool,
) -> None:
    """Draw outlines, and labels on a ground of the same colour above or below the top line.

    Args:
        planes: writable; OpenCV writes into them, and refuses an array that it would have to copy.
        colour: from `components_of`.
        line: pixels of the lines.
    """
    for region in regions:
        box = (region.x, region.y, region.x + region.width, region.y + region.height)
        for edge in _edges(box, line):
            _fill(planes, image, edge, colour)
        text = _text(region) if labels else ""
        if text:
            _label(planes, image, box, text, colour)


def _edges(box: tuple[int, int, int, int], line: int) -> list[tuple[int, int, int, int]]:
    left, top, right, bottom = box
    return [
        (left, top, right, top + line),
        (left, bottom - line, right, bottom),
        (left, top, left + line, bottom),
        (right - line, top, right, bottom),
    ]


def _fill(
    planes: Sequence[_Array], image: ImageInfo, box: tuple[int, int, int, int], colour: _Numbers
) -> None:
    """Fill a rectangle in all planes; the far edges round up, as the planes' sizes do."""
    left, top, right, bottom = box
    format_ = image.format
    for array, plane, names in zip(planes, format_.planes, format_.plane_names, strict=True):
        first = left >> plane.x_shift, top >> plane.y_shift
        last = -(-right >> plane.x_shift) - 1, -(-bottom >> plane.y_shift) - 1
        cv2.rectangle(array, first, last, [colour[name] for name in names], cv2.FILLED)


def _label(
    planes: Sequence[_Array],
    image: ImageInfo,
    box: tuple[int, int, int, int],
    text: str,
    colour: _Numbers,
) -> None:
    size = max(0.4, image.height / 900)
    thickness = max(1, round(image.height / 500))
    (width, height), below = cv2.getTextSize(text, _FONT, size, thickness)
    left, top = box[0], box[1]
    ground = height + below + 4
    # Above the box where there is room.
    upper = top - ground if top >= ground else top
    upper -= upper % 2
    _fill(planes, image, (left, upper, left + width + 4, upper + ground), colour)
    # Chroma stays that of the ground: black or white in luma, or in all of r, g and b.
    ink = 16 if colour["y"] > 125 else 235
    names = image.format.plane_names[0]
    values = [ink if name in "yrgb" else colour[name] for name in names]
    cv2.putText(
        planes[0], text, (left + 2, upper + height + 2), _FONT, size, values, thickness, cv2.LINE_8
    )


def _text(region: Region) -> str:
    words = [region.label] if region.label else []
    if region.confidence is not None:
        words.append(f"{region.confidence:.2f}")
    return " ".join(words)
