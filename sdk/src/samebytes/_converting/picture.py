# SPDX-License-Identifier: Apache-2.0
"""The meaning of a picture's numbers, before and after a conversion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._frozen import frozen
from ..errors import LayoutError, UnsupportedObjectError
from ..formats import (
    COLOR_MATRICES,
    COLOR_RANGES,
    Colorimetry,
    ImageFormat,
    ImageInfo,
    colors_of,
    field_order_of,
)
from ..formats._color import unknown_color_name

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["PictureInfo", "picture_of", "wanted"]


@frozen()
class PictureInfo:
    """The meaning of a picture's numbers.

    Attributes:
        image: format and size.
        color_range: "limited" or "full"; of RGB "full".
        color_matrix: a name in COLOR_MATRICES; of RGB "gbr".
        chroma_location: a name in CHROMA_LOCATIONS; None where it is not specified.
        interlaced: whether its even rows are one field and its odd rows the other one.
    """

    image: ImageInfo
    color_range: str
    color_matrix: str
    chroma_location: str | None = None
    interlaced: bool = False

    def __str__(self) -> str:
        image = self.image
        if image.format.color_model == "rgb":
            return str(image)
        matrix = f", {self.color_matrix}" if image.format.color_model == "yuv" else ""
        return f"{image} ({self.color_range} range{matrix})"

    @property
    def field(self) -> PictureInfo:
        """The meaning of every second row of it, as a picture of its own."""
        image = self.image
        half = ImageInfo(image.format, image.width, image.height // 2)
        return replace(self, image=half, interlaced=False)


def picture_of(frame: Frame[Any]) -> PictureInfo:
    """The meaning of a frame's numbers: as it says, or as goes without saying.

    Raises:
        UnsupportedObjectError: it is not a picture.
        UnknownNameError: an entry about colours is not one of the names that it can be.
    """
    info = frame.meta.info
    if not isinstance(info, ImageInfo):
        raise UnsupportedObjectError(
            f"a frame of {frame.media} cannot be converted: convert() takes images"
        )
    metadata = frame.meta.metadata
    said = colors_of(info.format, metadata)
    where = Colorimetry.of(metadata).chroma_location if _is_subsampled(info.format) else None
    return PictureInfo(info, *said, where, field_order_of(metadata) in ("top", "bottom"))


def wanted(
    source: PictureInfo,
    format_: str | ImageFormat,
    width: int | None,
    height: int | None,
    color_range: str | None,
    color_matrix: str | None,
) -> PictureInfo:
    """The picture that is to be made.

    YUV keeps the colours of YUV. What becomes YUV is of limited range and of BT.601, and what
    becomes gray is of full range, unless the arguments say otherwise.

    Raises:
        UnknownNameError: there is no such format, range or matrix.
        LayoutError: a size that the format cannot have, or colours that it does not have.
    """
    before = source.image
    image = ImageInfo.of(
        format_,
        before.width if width is None else width,
        before.height if height is None else height,
    )
    for what, name, known in (
        ("color_range", color_range, COLOR_RANGES),
        ("color_matrix", color_matrix, COLOR_MATRICES),
    ):
        if name is not None and name not in known:
            raise unknown_color_name(what.replace("_", " "), str(name), known)
    interlaced = source.interlaced and image.height == before.height
    model = image.format.color_model
    if model == "rgb":
        for what, name in (("color_range", color_range), ("color_matrix", color_matrix)):
            if name is not None:
                raise LayoutError(f"{what}= is about YUV, and {image.format} is RGB")
        return PictureInfo(image, *colors_of(image.format, {}), None, interlaced)
    same = before.format.color_model == model
    usual = colors_of(image.format, {})
    return PictureInfo(
        image,
        color_range or (source.color_range if same else usual[0]),
        color_matrix or (source.color_matrix if same else usual[1]),
        source.chroma_location if _is_subsampled(image.format) else None,
        interlaced,
    )


def _is_subsampled(format_: ImageFormat) -> bool:
    """True if several pixels share a chroma sample, where the format's planes show it."""
    return any(plane.x_shift or plane.y_shift for plane in format_.planes)
