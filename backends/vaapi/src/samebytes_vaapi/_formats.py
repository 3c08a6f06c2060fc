# SPDX-License-Identifier: Apache-2.0
"""The image formats of surfaces: samebytes' name, VA-API's fourcc, and the class it allocates by.

DRM's code of a format is `ImageFormat.fourcc`. Layouts are as va/va.h describes them, except for
AYUV and XYUV: drivers, DRM and FFmpeg put V first in memory.

Left out are formats that samebytes has no layout for (NV11, YV32, IMC3, AI44, 411R), and ARGB64
and ABGR64, whose descriptions in va/va.h contradict themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from samebytes import ImageFormat
from samebytes.errors import UnknownNameError

from ._abi import constants as va

__all__ = ["FORMATS", "Format", "format_of", "fourcc_text", "name_of"]


class Format(NamedTuple):
    """A format of surfaces.

    Attributes:
        fourcc: VA_FOURCC_*.
        rt_format: VA_RT_FORMAT_*, the class of formats that vaCreateSurfaces is asked for.
    """

    fourcc: int
    rt_format: int


FORMATS: dict[str, Format] = {
    # Luma and interleaved chroma
    "NV12": Format(va.VA_FOURCC_NV12, va.VA_RT_FORMAT_YUV420),
    "NV21": Format(va.VA_FOURCC_NV21, va.VA_RT_FORMAT_YUV420),
    "NV16": Format(va.VA_FOURCC_P208, va.VA_RT_FORMAT_YUV422),
    "P010": Format(va.VA_FOURCC_P010, va.VA_RT_FORMAT_YUV420_10),
    "P012": Format(va.VA_FOURCC_P012, va.VA_RT_FORMAT_YUV420_12),
    "P016": Format(va.VA_FOURCC_P016, va.VA_RT_FORMAT_YUV420_12),
    # Three planes
    "I420": Format(va.VA_FOURCC_I420, va.VA_RT_FORMAT_YUV420),
    "YV12": Format(va.VA_FOURCC_YV12, va.VA_RT_FORMAT_YUV420),
    "I420_10": Format(va.VA_FOURCC_I010, va.VA_RT_FORMAT_YUV420_10),
    "I422": Format(va.VA_FOURCC_422H, va.VA_RT_FORMAT_YUV422),
    "YV16": Format(va.VA_FOURCC_YV16, va.VA_RT_FORMAT_YUV422),
    "I440": Format(va.VA_FOURCC_422V, va.VA_RT_FORMAT_YUV422),
    "I411": Format(va.VA_FOURCC_411P, va.VA_RT_FORMAT_YUV411),
    "I444": Format(va.VA_FOURCC_444P, va.VA_RT_FORMAT_YUV444),
    "YV24": Format(va.VA_FOURCC_YV24, va.VA_RT_FORMAT_YUV444),
    # Packed 4:2:2
    "YUY2": Format(va.VA_FOURCC_YUY2, va.VA_RT_FORMAT_YUV422),
    "UYVY": Format(va.VA_FOURCC_UYVY, va.VA_RT_FORMAT_YUV422),
    "YVYU": Format(va.VA_FOURCC_YVYU, va.VA_RT_FORMAT_YUV422),
    "VYUY": Format(va.VA_FOURCC_VYUY, va.VA_RT_FORMAT_YUV422),
    "Y210": Format(va.VA_FOURCC_Y210, va.VA_RT_FORMAT_YUV422_10),
    "Y212": Format(va.VA_FOURCC_Y212, va.VA_RT_FORMAT_YUV422_12),
    "Y216": Format(va.VA_FOURCC_Y216, va.VA_RT_FORMAT_YUV422_12),
    # Packed 4:4:4
    "VUYA": Format(va.VA_FOURCC_AYUV, va.VA_RT_FORMAT_YUV444),
    "VUYX": Format(va.VA_FOURCC_XYUV, va.VA_RT_FORMAT_YUV444),
    "Y410": Format(va.VA_FOURCC_Y410, va.VA_RT_FORMAT_YUV444_10),
    "Y412": Format(va.VA_FOURCC_Y412, va.VA_RT_FORMAT_YUV444_12),
    "Y416": Format(va.VA_FOURCC_Y416, va.VA_RT_FORMAT_YUV444_12),
    # Gray
    "GRAY8": Format(va.VA_FOURCC_Y800, va.VA_RT_FORMAT_YUV400),
    "GRAY16": Format(va.VA_FOURCC_Y16, va.VA_RT_FORMAT_YUV400),
    # RGB
    "RGBA": Format(va.VA_FOURCC_RGBA, va.VA_RT_FORMAT_RGB32),
    "RGBX": Format(va.VA_FOURCC_RGBX, va.VA_RT_FORMAT_RGB32),
    "BGRA": Format(va.VA_FOURCC_BGRA, va.VA_RT_FORMAT_RGB32),
    "BGRX": Format(va.VA_FOURCC_BGRX, va.VA_RT_FORMAT_RGB32),
    "ARGB": Format(va.VA_FOURCC_ARGB, va.VA_RT_FORMAT_RGB32),
    "XRGB": Format(va.VA_FOURCC_XRGB, va.VA_RT_FORMAT_RGB32),
    "ABGR": Format(va.VA_FOURCC_ABGR, va.VA_RT_FORMAT_RGB32),
    "XBGR": Format(va.VA_FOURCC_XBGR, va.VA_RT_FORMAT_RGB32),
    "RGB565": Format(va.VA_FOURCC_RGB565, va.VA_RT_FORMAT_RGB16),
    "BGR565": Format(va.VA_FOURCC_BGR565, va.VA_RT_FORMAT_RGB16),
    "BGR10A2": Format(va.VA_FOURCC_A2R10G10B10, va.VA_RT_FORMAT_RGB32_10),
    "RGB10A2": Format(va.VA_FOURCC_A2B10G10R10, va.VA_RT_FORMAT_RGB32_10),
    "X2RGB10": Format(va.VA_FOURCC_X2R10G10B10, va.VA_RT_FORMAT_RGB32_10),
    "X2BGR10": Format(va.VA_FOURCC_X2B10G10R10, va.VA_RT_FORMAT_RGB32_10),
    "RGBP": Format(va.VA_FOURCC_RGBP, va.VA_RT_FORMAT_RGBP),
    "BGRP": Format(va.VA_FOURCC_BGRP, va.VA_RT_FORMAT_RGBP),
}
"""By the name of the ImageFormat."""

_NAMES = {
    **{format_.fourcc: name for name, format_ in FORMATS.items()},
    # Two codes each.
    va.VA_FOURCC_IYUV: "I420",
    va.VA_FOURCC_Y8: "GRAY8",
}


def format_of(image: ImageFormat) -> Format:
    """Return VA-API's format for one of samebytes.

    Raises:
        UnknownNameError: VA-API has no such format.
    """
    try:
        return FORMATS[image.name]
    except KeyError:
        raise UnknownNameError("image format of VA-API", image.name, FORMATS) from None


def name_of(fourcc: int) -> str | None:
    """The name of the ImageFormat that VA-API has this code for, or None."""
    return _NAMES.get(fourcc)


def fourcc_text(fourcc: int) -> str:
    """A code as people know it, for messages: a samebytes name, or the four characters."""
    return name_of(fourcc) or repr(fourcc.to_bytes(4, "little").decode("latin-1"))
