# SPDX-License-Identifier: Apache-2.0
"""Pixel formats, audio blocks, and where each plane of them lies in memory.

    fmt = image_format("nv12")                       # any spelling: NV12, nv12, P010_10LE, yuv420p
    y, uv = fmt.plane_layouts(1920, 1080, (2048, 2048))
    y.shape, y.strides, y.span                       # (1080, 1920), (2048, 1), 2211712

This is the one place in samebytes that knows formats. It describes memory and holds none. The names
for the meaning of that memory (colours, fields, loudspeakers) are here too: see
docs/reference/frame-metadata.md.
"""

from typing import TYPE_CHECKING

from samebytes._lazy import lazy_exports
from samebytes.formats._image import ImageFormat, known_formats
from samebytes.formats._info import ImageInfo
from samebytes.formats._planes import PlaneFormat, PlaneLayout

if TYPE_CHECKING:
    from samebytes.formats._audio import AudioInfo
    from samebytes.formats._channels import CHANNELS, channel_layout, channel_names
    from samebytes.formats._color import (
        CHROMA_LOCATIONS,
        COLOR_MATRICES,
        COLOR_PRIMARIES,
        COLOR_RANGES,
        COLOR_TRANSFERS,
        Colorimetry,
    )
    from samebytes.formats._components import LUMA_WEIGHTS, color_components, colors_of
    from samebytes.formats._drm import (
        DRM_FORMAT_MOD_INVALID,
        DRM_FORMAT_MOD_LINEAR,
        check_modifier,
        drm_layer_fourccs,
        image_format_of_drm_layers,
        is_linear_modifier,
    )
    from samebytes.formats._fields import (
        FIELD_ORDERS,
        ROTATIONS,
        duration_of,
        field_order_of,
        length_of,
        mirrored_of,
        repeat_fields_of,
        rotation_of,
        sample_aspect_of,
    )
    from samebytes.formats._hdr import (
        LUMINANCES,
        MASTERING_PRIMARIES,
        content_light_of,
        mastering_display_of,
    )

__all__ = [
    "CHANNELS",
    "CHROMA_LOCATIONS",
    "COLOR_MATRICES",
    "COLOR_PRIMARIES",
    "COLOR_RANGES",
    "COLOR_TRANSFERS",
    "DRM_FORMAT_MOD_INVALID",
    "DRM_FORMAT_MOD_LINEAR",
    "FIELD_ORDERS",
    "LUMA_WEIGHTS",
    "LUMINANCES",
    "MASTERING_PRIMARIES",
    "ROTATIONS",
    "AudioInfo",
    "Colorimetry",
    "ImageFormat",
    "ImageInfo",
    "PlaneFormat",
    "PlaneLayout",
    "channel_layout",
    "channel_names",
    "check_modifier",
    "color_components",
    "colors_of",
    "content_light_of",
    "drm_layer_fourccs",
    "duration_of",
    "field_order_of",
    "image_format",
    "image_format_of_drm_layers",
    "is_linear_modifier",
    "known_formats",
    "length_of",
    "mastering_display_of",
    "mirrored_of",
    "repeat_fields_of",
    "rotation_of",
    "sample_aspect_of",
]

image_format = ImageFormat.of
"""The format with a name, in any spelling: `ImageFormat.of`."""

# Names that few frames need are imported when they are first used.
_HOME = {
    "AudioInfo": "._audio",
    "CHANNELS": "._channels",
    "channel_layout": "._channels",
    "channel_names": "._channels",
    "CHROMA_LOCATIONS": "._color",
    "COLOR_MATRICES": "._color",
    "COLOR_PRIMARIES": "._color",
    "COLOR_RANGES": "._color",
    "COLOR_TRANSFERS": "._color",
    "Colorimetry": "._color",
    "LUMA_WEIGHTS": "._components",
    "color_components": "._components",
    "colors_of": "._components",
    "DRM_FORMAT_MOD_INVALID": "._drm",
    "DRM_FORMAT_MOD_LINEAR": "._drm",
    "check_modifier": "._drm",
    "drm_layer_fourccs": "._drm",
    "image_format_of_drm_layers": "._drm",
    "is_linear_modifier": "._drm",
    "FIELD_ORDERS": "._fields",
    "ROTATIONS": "._fields",
    "duration_of": "._fields",
    "field_order_of": "._fields",
    "length_of": "._fields",
    "mirrored_of": "._fields",
    "repeat_fields_of": "._fields",
    "rotation_of": "._fields",
    "sample_aspect_of": "._fields",
    "LUMINANCES": "._hdr",
    "MASTERING_PRIMARIES": "._hdr",
    "content_light_of": "._hdr",
    "mastering_display_of": "._hdr",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
