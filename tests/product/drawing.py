# SPDX-License-Identifier: Apache-2.0
"""A box drawn into planes by hand, with OpenCV."""

from __future__ import annotations

import cv2

from .material import Planes
from .models import Box

__all__ = ["COLOR", "draw"]

COLOR = (200, 40, 90)
_LINE = 2


def draw(planes: Planes, box: Box, *, full_range: bool) -> Planes:
    """Copies of the planes of I420 or NV12, with the outline of the box.

    Args:
        planes: they are left as they are.
        box: even numbers.
        full_range: of the planes' numbers.
    """
    luma, *chroma = (plane.copy() for plane in planes)
    y, u, v = _yuv(full_range=full_range)
    left, top, width, height = box
    right, bottom = left + width, top + height
    for x0, y0, x1, y1 in (
        (left, top, right, top + _LINE),
        (left, bottom - _LINE, right, bottom),
        (left, top, left + _LINE, bottom),
        (right - _LINE, top, right, bottom),
    ):
        cv2.rectangle(luma, (x0, y0), (x1 - 1, y1 - 1), [y], cv2.FILLED)
        values = [[u, v]] if len(chroma) == 1 else [[u], [v]]
        for plane, value in zip(chroma, values, strict=True):
            first, last = (x0 // 2, y0 // 2), ((x1 + 1) // 2 - 1, (y1 + 1) // 2 - 1)
            cv2.rectangle(plane, first, last, value, cv2.FILLED)
    return [luma, *chroma]


def _yuv(*, full_range: bool) -> tuple[int, int, int]:
    red, green, blue = COLOR
    kr, kb = 0.299, 0.114
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    u, v = (blue - luma) / (2 * (1 - kb)), (red - luma) / (2 * (1 - kr))
    if full_range:
        return round(luma), round(128 + u), round(128 + v)
    return round(16 + luma * 219 / 255), round(128 + u * 224 / 255), round(128 + v * 224 / 255)
