# SPDX-License-Identifier: Apache-2.0
"""Conversions of pictures by VA-API's video processing: a surface is made of a surface."""

from __future__ import annotations

from ctypes import pointer
from typing import TYPE_CHECKING, Any

from samebytes import Frame
from samebytes.errors import UnknownNameError
from samebytes.plugins import Conversion, PictureInfo, Refused

from ._abi import constants as va
from ._abi.structures import VAProcPipelineParameterBuffer, VARectangle
from ._formats import format_of
from ._library import VAError

if TYPE_CHECKING:
    from samebytes import Context

__all__ = ["SurfaceConversion"]

_FILTERS = {
    "linear": va.VA_FILTER_INTERPOLATION_BILINEAR,
    "nearest": va.VA_FILTER_INTERPOLATION_NEAREST_NEIGHBOR,
}
_STANDARDS = {
    "gbr": va.VAProcColorStandardSRGB,
    "smpte170m": va.VAProcColorStandardBT601,
    "bt470bg": va.VAProcColorStandardBT601,
    "bt709": va.VAProcColorStandardBT709,
    "bt2020nc": va.VAProcColorStandardBT2020,
}
_RANGES = {"limited": va.VA_SOURCE_RANGE_REDUCED, "full": va.VA_SOURCE_RANGE_FULL}
_LINEAR = 0  # DRM_FORMAT_MOD_LINEAR


class SurfaceConversion(Conversion):
    """A conversion on the GPU: format, size and colours, from surface to surface.

    The driver gets the colours of both, and chooses the place of chroma between pixels itself.
    """

    def __init__(self, source: PictureInfo, target: PictureInfo, method: str) -> None:
        super().__init__(source, target, method)
        for picture in (source, target):
            try:
                format_of(picture.image.format)
            except UnknownNameError as error:
                raise Refused(str(error)) from error
            if picture.color_matrix not in _STANDARDS:
                raise Refused(f"VA-API does not compute the matrix {picture.color_matrix!r}")
        if self.by_fields:
            raise Refused("VA-API does not convert the fields of interlaced pictures separately")
        if method not in _FILTERS:
            raise Refused(f"VA-API scales by {' and '.join(_FILTERS)}, not by {method}")

    def new_frame(self, context: Context) -> Frame[Any]:
        """A surface in rows, if the driver can make one, so that other devices can read it, too."""
        from ._context import VAAPIContext

        assert isinstance(context, VAAPIContext)
        image = self.target.image
        size = image.format, image.width, image.height
        try:
            return context.allocate_frame(*size, modifiers=(_LINEAR,))
        except VAError:
            pass  # it knows no modifiers, or has no such surfaces in rows
        try:
            return context.allocate_frame(*size)
        except VAError as error:
            raise Refused(f"the driver has no surfaces of {image}: {error}") from error

    def run(self, source: Frame[Any], target: Frame[Any]) -> None:
        """Convert one picture."""
        before, after = source.native, target.native
        wanted = VAProcPipelineParameterBuffer(
            surface=before.id,
            # A decoder's surfaces may be larger than its pictures.
            surface_region=pointer(_whole(self.source)),
            output_region=pointer(_whole(self.target)),
            surface_color_standard=_STANDARDS[self.source.color_matrix],
            output_color_standard=_STANDARDS[self.target.color_matrix],
            filter_flags=_FILTERS[self.method],
        )
        wanted.input_color_properties.color_range = _RANGES[self.source.color_range]
        wanted.output_color_properties.color_range = _RANGES[self.target.color_range]
        try:
            processor = before.context.processor()
            processor.run(before.native_display, after.id, wanted)
        except VAError as error:
            raise Refused(
                f"the driver does not make this conversion of {self.source}: {error}"
            ) from error


def _whole(picture: PictureInfo) -> VARectangle:
    return VARectangle(0, 0, picture.image.width, picture.image.height)
