# SPDX-License-Identifier: Apache-2.0
"""ImageInfo: a pixel format together with a size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from samebytes._frozen import frozen
from samebytes._numbers import positive
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.formats._image import ImageFormat
from samebytes.formats._planes import PlaneLayout

__all__ = ["ImageInfo"]


@frozen()
class ImageInfo:
    """An image's format and its size in pixels.

    Raises LayoutError when width or height is not a positive integer, or when no memory is large
    enough for the image; and UnsupportedObjectError when the format is not an ImageFormat (`of`
    also takes names).
    """

    format: ImageFormat
    width: int
    height: int

    def __post_init__(self) -> None:
        if not isinstance(self.format, ImageFormat):
            raise UnsupportedObjectError(
                f"the format of an ImageInfo must be an ImageFormat, not {self.format!r}: "
                f"ImageInfo.of({self.format!r}, {self.width!r}, {self.height!r}) takes names"
            )
        set_ = object.__setattr__
        set_(self, "width", positive(self.width, "width"))
        set_(self, "height", positive(self.height, "height"))
        self.plane_layouts()  # its size in bytes

    @staticmethod
    def of(format: str | ImageFormat, width: int, height: int) -> ImageInfo:
        """The same, cached, from a format or any spelling of its name.

        Args:
            format: the pixel format, in any spelling: "NV12", "bgr24".
            width: pixels in a row.
            height: rows.

        Raises:
            LayoutError: a size that is not positive, or not a whole number.
            UnknownNameError: a format that is not known.
        """
        try:
            return _image_info(ImageFormat.of(format), width, height)
        except TypeError:  # a value without a hash cannot be looked up, and cannot be a number
            raise LayoutError(
                f"width and height must be positive integers, not {width!r} and {height!r}"
            ) from None

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
        """`ImageFormat.plane_layouts` for this size.

        Args:
            pitches, offsets: in bytes, as for `ImageFormat.plane_layouts`.
            allow_negative: as for `ImageFormat.plane_layouts`.
        """
        return self.format.plane_layouts(
            self.width, self.height, pitches, offsets, allow_negative=allow_negative
        )

    def packed_layouts(self) -> tuple[PlaneLayout, ...]:
        """`ImageFormat.packed_layouts` for this size."""
        return self.format.packed_layouts(self.width, self.height)


@lru_cache(maxsize=512, typed=True)
def _image_info(format: ImageFormat, width: int, height: int) -> ImageInfo:
    return ImageInfo(format, width, height)
