# SPDX-License-Identifier: Apache-2.0
"""ImageInfo: a pixel format together with a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from samebytes.formats._image import ImageFormat
from samebytes.formats._planes import PlaneLayout, positive

__all__ = ["ImageInfo"]


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """An image's format and its size in pixels.

    Raises LayoutError when width or height is not a positive integer.
    """

    format: ImageFormat
    width: int
    height: int

    def __post_init__(self) -> None:
        positive(self.width, "width")
        positive(self.height, "height")

    @staticmethod
    def of(format: str | ImageFormat, width: int, height: int) -> ImageInfo:
        """The same, cached, from a format or any spelling of its name.

        Raises LayoutError, and UnknownNameError for a format that is not known.
        """
        return _image_info(ImageFormat.of(format), width, height)

    def __str__(self) -> str:
        return f"{self.format} {self.width}x{self.height}"

    @property
    def nbytes(self) -> int:
        """Bytes of the whole image without padding, as in `ImageFormat.frame_nbytes`."""
        return self.format.frame_nbytes(self.width, self.height)

    def plane_layouts(
        self,
        pitches: Sequence[int] | None = None,
        offsets: Sequence[int] | None = None,
        *,
        allow_negative: bool = False,
    ) -> tuple[PlaneLayout, ...]:
        """`ImageFormat.plane_layouts` for this size."""
        return self.format.plane_layouts(
            self.width, self.height, pitches, offsets, allow_negative=allow_negative
        )

    def packed_layouts(self) -> tuple[PlaneLayout, ...]:
        """`ImageFormat.packed_layouts` for this size."""
        return self.format.packed_layouts(self.width, self.height)


@lru_cache(maxsize=512, typed=True)
def _image_info(format: ImageFormat, width: int, height: int) -> ImageInfo:
    return ImageInfo(format, width, height)
