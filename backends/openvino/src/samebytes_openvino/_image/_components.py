# SPDX-License-Identifier: Apache-2.0
"""The place of each component of a pixel in the rows of its plane, counted in bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from samebytes import ImageFormat
from samebytes.errors import UnknownNameError
from samebytes.formats import known_formats

__all__ = ["Component", "components_of", "is_readable", "supported_formats",
           "without_subsampling"]  # fmt: skip


class Component(NamedTuple):
    """One of Y, U, V, R, G, B.

    The component of the pixel in column x and row y begins at byte
    (x >> x_shift) * step + offset of row (y >> y_shift) of its plane.

    Attributes:
        plane: number of the plane.
        nbytes: 1 or 2, the low one first.
        scale: what the stored number is multiplied by to be one of 0 to 255.
    """

    plane: int
    offset: int
    step: int
    x_shift: int
    y_shift: int
    nbytes: int
    scale: float


_WANTED = {"yuv": "yuv", "rgb": "rgb", "gray": "y"}


def is_readable(format_: ImageFormat) -> bool:
    """True if a format has the components of its colour model, each of one or two whole bytes.

    Palettes, Bayer patterns and XYZ have other components.
    """
    letters = set("".join(format_.plane_names))
    return set(_WANTED[format_.color_model]) <= letters <= set("yuvrgbax") and all(
        plane.dtype in ("uint8", "uint16")
        and plane.channels * plane.x_multiple == len(name)
        # A group of four pixels (uyyvyy411) has more of a letter than it has columns.
        and all(plane.x_multiple % name.count(letter) == 0 for letter in name)
        for plane, name in zip(format_.planes, format_.plane_names, strict=True)
    )


@lru_cache(maxsize=64)
def components_of(format_: ImageFormat) -> dict[str, Component]:
    """The components by their letters: y, u and v; y alone; or r, g and b. Alpha is left out.

    Raises:
        UnknownNameError: pixels of several components to a word, or elements of float.
    """
    if not is_readable(format_):
        names = [known.name for known in supported_formats()]
        raise UnknownNameError(
            "format of image_model",
            format_.name,
            names,
            f"(planes {', '.join(format_.plane_names)} of {format_.planes[0].dtype}): convert the "
            "frames first: frame.convert('RGB'), in a pipeline el.create('convert', 'RGB')",
            nearest=(),
        )
    wide = format_.bit_depth > 8
    # 10 bits of YUV are 8 bits with a fraction; an RGB of 10 bits has 1023 where 8 have 255.
    full = 2.0 ** (format_.bit_depth - 8) if format_.color_model == "yuv" else 0.0
    full = full or ((1 << format_.bit_depth) - 1) / 255
    scale = 1 / (full * (1 << format_.bit_shift)) if wide else 1.0
    found: dict[str, Component] = {}
    for number, (plane, letters) in enumerate(
        zip(format_.planes, format_.plane_names, strict=True)
    ):
        size = plane.itemsize
        for letter in dict.fromkeys(letters):
            # A letter that a pair of pixels has once belongs to both.
            shared = plane.x_multiple // letters.count(letter)
            found[letter] = Component(
                number,
                letters.index(letter) * size,
                plane.channels * shared * size,
                plane.x_shift + shared.bit_length() - 1,
                plane.y_shift,
                size,
                scale,
            )
    return {letter: found[letter] for letter in _WANTED[format_.color_model]}


@lru_cache(maxsize=64)
def without_subsampling(format_: ImageFormat) -> ImageFormat:
    """The same format with chroma for each pixel; itself where it is so already."""
    planes = tuple(replace(plane, x_shift=0, y_shift=0) for plane in format_.planes)
    return (
        format_
        if planes == format_.planes
        else ImageFormat(
            f"{format_.name} with full chroma",
            planes,
            plane_names=format_.plane_names,
            color_model=format_.color_model,
            bit_depth=format_.bit_depth,
            bit_shift=format_.bit_shift,
        )
    )


@lru_cache(maxsize=1)
def supported_formats() -> tuple[ImageFormat, ...]:
    """Every known format that `components_of` takes."""
    return tuple(known for known in known_formats() if is_readable(known))
