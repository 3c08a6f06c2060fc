# SPDX-License-Identifier: Apache-2.0
"""Conversions of pictures by OpenCV, from Mats into memory of the CPU."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from samebytes import Frame
from samebytes.errors import LayoutError
from samebytes.plugins import Conversion, PictureInfo, Refused

from ._resize import METHODS, resize

__all__ = ["OpenCVConversion"]

_Array = np.ndarray[Any, Any]

# Formats whose channels OpenCV's names of conversions spell, with padding as alpha.
_RGB = {"RGB": "RGB", "BGR": "BGR", "RGBA": "RGBA", "BGRA": "BGRA", "RGBX": "RGBA", "BGRX": "BGRA"}
_TWO_PLANES = ("NV12", "NV21")
_THREE_PLANES = ("I420", "YV12")
_PACKED = ("YUY2", "UYVY", "YVYU")
_WITH_LUMA = (*_TWO_PLANES, *_THREE_PLANES, "I422", "NV16", "NV24", "I444")
_SCALED = (*_WITH_LUMA, "GRAY8", *_RGB)

_BT601 = ("smpte170m", "bt470bg")


class OpenCVConversion(Conversion):
    """A conversion by cv2.cvtColor, of the colours that it knows, and cv2.resize.

    Chroma is repeated for the pixels that share it. Fields are pictures of their own.
    """

    def __init__(self, source: PictureInfo, target: PictureInfo, method: str) -> None:
        super().__init__(source, target, method)
        self._field = (
            OpenCVConversion(source.field, target.field, method) if self.by_fields else None
        )
        before, after = source.image, target.image
        self._interpolation = METHODS[method]
        self._resizes = (before.width, before.height) != (after.width, after.height)
        self._code = _code(source, target)
        channels = len(after.format.plane_names[0])
        # The new colours in the old size, and chroma as OpenCV reads it.
        shape = (before.height, before.width, channels)[: 2 if channels == 1 else 3]
        self._colors: _Array | None = (
            np.empty(shape, np.uint8) if self._resizes and self._code is not None else None
        )
        self._chroma: _Array | None = None
        if self._code is not None and before.format.name in _THREE_PLANES:
            self._chroma = np.empty((before.height // 2, before.width // 2, 2), np.uint8)

    def run(self, source: Frame[Any], target: Frame[Any]) -> None:
        """Convert one picture."""
        if self._field is None:
            self._convert(source.native, target.native)
            return
        for number in (0, 1):
            self._field._convert(
                tuple(plane[number::2] for plane in source.native),
                tuple(plane[number::2] for plane in target.native),
            )

    def _convert(self, planes: tuple[_Array, ...], new: tuple[_Array, ...]) -> None:
        if self._code is not None:
            into = new[0] if self._colors is None else self._colors
            self._color(planes, into, self._code)
            planes = (into,)
        if self._code is None or self._resizes:
            for one, other in zip(planes[: len(new)], new, strict=True):
                resize(one, other, self._interpolation)

    def _color(self, planes: tuple[_Array, ...], into: _Array, code: int) -> None:
        if len(planes) == 1:
            made: Any = cv2.cvtColor(planes[0], code, dst=into)
        elif self._chroma is None:
            made = cv2.cvtColorTwoPlane(planes[0], planes[1], code, dst=into)
        else:
            chroma: Any = cv2.merge(planes[1:], dst=self._chroma)
            made = cv2.cvtColorTwoPlane(planes[0], chroma, code, dst=into)
        if made.__array_interface__["data"] != into.__array_interface__["data"]:
            raise LayoutError("OpenCV wrote to its own memory, not to the new picture")


def _code(source: PictureInfo, target: PictureInfo) -> int | None:
    """OpenCV's number for the conversion of colours; None if planes are only resized.

    Raises:
        Refused: it has none.
    """
    before, after = source.image.format, target.image.format
    colors = source.color_range, source.color_matrix
    same = colors == (target.color_range, target.color_matrix)
    letters = _RGB.get(after.name)
    if before == after and same and before.name in _SCALED:
        return None
    if before.color_model == "yuv" and after.name == "GRAY8" and before.name in _WITH_LUMA:
        if source.color_range != target.color_range:
            raise Refused(
                f"OpenCV takes the luma as it is: pass color_range={source.color_range!r}"
            )
        return None
    if before.color_model == "yuv" and letters:
        return _from_yuv(source, letters)
    if before.name in _RGB and letters and _RGB[before.name] != letters:
        return _named(f"COLOR_{_RGB[before.name]}2{letters}", before.name, after.name)
    full = source.color_range == target.color_range == "full"
    if full and before.name in _RGB and after.name == "GRAY8":
        return _named(f"COLOR_{_RGB[before.name]}2GRAY", before.name, after.name)
    if full and before.name == "GRAY8" and letters:
        return _named(f"COLOR_GRAY2{letters}", before.name, after.name)
    raise Refused(f"OpenCV does not convert {source} to {target}")


def _from_yuv(source: PictureInfo, letters: str) -> int:
    image = source.image
    name = image.format.name
    if name not in (*_TWO_PLANES, *_THREE_PLANES, *_PACKED):
        raise Refused(f"OpenCV does not convert {name} to RGB")
    if source.color_range != "limited" or source.color_matrix not in _BT601:
        raise Refused(
            f"OpenCV computes only YUV of limited range and of BT.601 ({' or '.join(_BT601)}), "
            f"not of {source.color_range} range and {source.color_matrix}; the converter "
            "of samebytes-ffmpeg takes those of each frame"
        )
    if image.width % 2 or (image.height % 2 and name not in _PACKED):
        raise Refused(f"OpenCV converts {name} only of even width and height, not {image}")
    kind = {"I420": "NV12", "YV12": "NV21"}.get(name, name)
    return _named(f"COLOR_YUV2{letters}_{kind}", name, letters)


def _named(name: str, before: str, after: str) -> int:
    code = getattr(cv2, name, None)
    if code is None:
        raise Refused(f"OpenCV does not convert {before} to {after}")
    return int(code)
