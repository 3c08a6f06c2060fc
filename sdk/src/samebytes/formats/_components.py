# SPDX-License-Identifier: Apache-2.0
"""The numbers that a colour has in the planes of a picture, by its range and matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..errors import LayoutError, UnknownNameError
from ._color import COLOR_MATRICES, Colorimetry
from ._image import ImageFormat

__all__ = ["LUMA_WEIGHTS", "color_components", "colors_of"]

LUMA_WEIGHTS: Mapping[str, tuple[float, float]] = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
}
"""(Kr, Kb) of the names in COLOR_MATRICES that are defined by them (H.273 clause 8.3, equations 38
to 40): how much red and blue, each 0 to 1, add to luma. BT.601 is "bt470bg" and "smpte170m"."""

_USUAL = "smpte170m"
# Matrices that do not put the chroma of grays in the middle.
_COLOURED_GRAYS = ("gbr", "smpte2085")


def colors_of(format: ImageFormat, metadata: Mapping[str, Any]) -> tuple[str, str]:
    """(range, matrix) of a picture: those in its metadata, or else the usual ones.

    Without metadata, YUV has limited range and BT.601 ("smpte170m"), and gray has full range. RGB
    always has full range and the matrix "gbr": FFmpeg's conversions to RGB leave the metadata of
    the YUV in place.

    Args:
        format: the format of the picture.
        metadata: the metadata of its frame.

    Returns:
        "limited" or "full", and a name in COLOR_MATRICES.

    Raises:
        UnknownNameError: an entry about colours has a name that is not in its table.
    """
    said = Colorimetry.of(metadata)
    if format.color_model == "rgb":
        return "full", "gbr"
    if format.color_model == "gray":
        matrix = said.color_matrix if said.color_matrix in LUMA_WEIGHTS else None
        return said.color_range or "full", matrix or _USUAL
    return said.color_range or "limited", said.color_matrix or _USUAL


def color_components(
    rgb: Sequence[int], format: ImageFormat, range: str, matrix: str
) -> Mapping[str, float]:
    """The numbers that stand for a colour in the elements of a picture, by component.

    Args:
        rgb: red, green and blue, 0 to 255, with the picture's own primaries and transfer.
        format: the format of the picture.
        range, matrix: those of the picture, as `colors_of` returns them.

    Returns:
        The numbers of all components that planes of the colour model can have, by the letters of
        `format.plane_names`: "r", "g", "b", or "y", "u", "v"; and "a" and "x", which are opaque.
        They are whole numbers, except for formats of floats, whose white is 1.0.

    Raises:
        LayoutError: all components share one element (RGB565), or the matrix is not in
            LUMA_WEIGHTS and the colour is not a gray.
        UnknownNameError: there is no such range or matrix.
    """
    red, green, blue = rgb
    return _components((red, green, blue), format, range, matrix)


@lru_cache(maxsize=256)
def _components(
    rgb: tuple[int, int, int], format: ImageFormat, range: str, matrix: str
) -> Mapping[str, float]:
    for what, name, known in (
        ("colour range", range, ("limited", "full")),
        ("colour matrix", matrix, COLOR_MATRICES),
    ):
        if name not in known:
            raise UnknownNameError(what, name, known)
    first, letters = format.planes[0], format.plane_names[0]
    if first.channels * first.x_multiple < len(letters):
        raise LayoutError(
            f"{format} has all components of a pixel in one element, so that no number stands for "
            "a component: convert the picture to bytes first, to BGRX for instance"
        )
    # From 0 to 1; chroma from -0.5 to 0.5.
    r, g, b = (value / 255 for value in rgb)
    if format.color_model == "rgb":
        found = {"r": r, "g": g, "b": b}
        range = "full"
    else:
        found = _luma_and_chroma(r, g, b, format, matrix)
    numbers = {name: _number(value, name in "uv", format, range) for name, value in found.items()}
    opaque = _number(1.0, False, format, "full")
    return {**numbers, "a": opaque, "x": opaque}


def _luma_and_chroma(
    r: float, g: float, b: float, format: ImageFormat, matrix: str
) -> dict[str, float]:
    if r == g == b and matrix not in _COLOURED_GRAYS:
        return {"y": r, "u": 0.0, "v": 0.0}
    try:
        kr, kb = LUMA_WEIGHTS[matrix]
    except KeyError:
        raise LayoutError(
            f"the colour {tuple(round(255 * value) for value in (r, g, b))} cannot be computed for "
            f"{format} of the matrix {matrix!r}, only for {', '.join(LUMA_WEIGHTS)}: convert the "
            "picture first, or use a gray"
        ) from None
    y = kr * r + (1 - kr - kb) * g + kb * b
    return {"y": y, "u": (b - y) / (1 - kb) / 2, "v": (r - y) / (1 - kr) / 2}


def _number(value: float, chroma: bool, format: ImageFormat, range: str) -> float:
    """The number that stands for 0 to 1, or -0.5 to 0.5 of chroma: H.273, equations 20 to 37."""
    if format.planes[0].dtype.startswith("float"):
        middle = 0.5 if chroma else 0.0
        if range == "full":
            return middle + value
        return (16 + 219 * value) / 255 if not chroma else (128 + 224 * value) / 255
    top = (1 << format.bit_depth) - 1
    if range == "full":
        number = round(top * value) + (top + 1 >> 1 if chroma else 0)
    else:
        scale = 2.0 ** (format.bit_depth - 8)
        number = round(scale * (128 + 224 * value if chroma else 16 + 219 * value))
    return min(max(number, 0), top) << format.bit_shift
