# SPDX-License-Identifier: Apache-2.0
"""The modifiers and DRM codes of an image's layers: one composed layer, or one for each plane.

VA-API's VADRMPRIMESurfaceDescriptor and FFmpeg's AVDRMFrameDescriptor describe an image either
way. A composed layer has the code of the whole format; `ImageFormat.fourcc` has it. A layer for
one plane has the code of a format of one or two components, whatever they mean: R8 is the luma of
NV12 and a plane of I420 alike. So separate layers do not determine the format; they can be checked
against one that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from samebytes._numbers import counted
from samebytes.errors import LayoutError
from samebytes.formats._image import ImageFormat
from samebytes.formats._planes import PlaneFormat

__all__ = [
    "DRM_FORMAT_MOD_INVALID",
    "DRM_FORMAT_MOD_LINEAR",
    "check_modifier",
    "drm_layer_fourccs",
    "image_format_of_drm_layers",
    "is_linear_modifier",
]


DRM_FORMAT_MOD_LINEAR = 0
"""The `drm_modifier` of memory that lies in rows, drm/drm_fourcc.h."""
DRM_FORMAT_MOD_INVALID = (1 << 56) - 1
"""The `drm_modifier` of memory whose layout is unknown, drm/drm_fourcc.h."""


def is_linear_modifier(modifier: int) -> bool:
    """True if memory with that `drm_modifier` is used as rows.

    That includes memory of unknown layout: exporters without tiling have no modifiers, and those
    that tile declare it.

    Args:
        modifier: 64 bits, as in drm_fourcc.h.
    """
    return modifier in (DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID)


def check_modifier(modifier: int) -> int:
    """A `drm_modifier` that a caller passed, as an int.

    Args:
        modifier: the value that was passed.

    Raises:
        LayoutError: it is not an unsigned 64-bit number.
    """
    try:
        number = index(modifier)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise LayoutError(f"a DRM modifier must be an unsigned 64-bit number, not {modifier!r}")
    return number


def _code(name: str) -> int:
    return int.from_bytes(name.ljust(4).encode(), "little")


# drm_fourcc.h, by the channels and bytes of an element. DRM names components from the highest to
# the lowest, so its GR88 has the first one in the low byte.
_PLANE_CODES = {
    (1, 1): _code("R8"),
    (2, 1): _code("GR88"),
    (1, 2): _code("R16"),
    (2, 2): _code("GR32"),
}

# Drivers differ in which of the two components they call red; the bytes are the same.
_ALSO = {_code("GR88"): _code("RG88"), _code("GR32"): _code("RG32")}


def drm_layer_fourccs(format: ImageFormat) -> tuple[int, ...]:
    """The code of each plane as its own layer: R8 and GR88 for NV12, R16 and GR1616 for P010.

    A format of one plane has the code of the whole.

    Raises LayoutError when drm_fourcc.h has no code for one of the planes.

    Args:
        format: the pixel format.
    """
    if len(format.planes) == 1 and format.fourcc is not None:
        return (format.fourcc,)
    return tuple(_plane_code(format, plane) for plane in format.planes)


def image_format_of_drm_layers(
    layers: Sequence[tuple[int, int]], expected: ImageFormat | None = None
) -> ImageFormat:
    """The format of an image that is described by layers.

    Args:
        layers: for each layer its DRM code and the number of its planes.
        expected: the format that is declared elsewhere: that of the exported surface, or FFmpeg's
            sw_format. Separate layers need it.

    Raises:
        LayoutError: the layers contradict `expected`, or do not determine the format.
        UnknownNameError: no known format has the code.
    """
    if len(layers) == 1:
        ((code, planes),) = layers
        # A lone plane may be called by either kind of code.
        alone = expected is not None and len(expected.planes) == planes == 1
        if expected is not None and alone and code in (expected.fourcc, *_accepted(expected, 0)):
            return expected
        found = ImageFormat.from_fourcc(code)
        if len(found.planes) != planes:
            own = counted(len(found.planes), "plane")
            raise LayoutError(f"{found} has {own}, but its layer has {planes}")
        if expected is not None and found != expected:
            raise LayoutError(f"the layer is {found}, but the image was declared as {expected}")
        return found
    if expected is None:
        raise LayoutError(
            f"{len(layers)} separate layers do not determine the image format: pass it"
        )
    if len(layers) != len(expected.planes) or any(planes != 1 for _, planes in layers):
        raise LayoutError(
            f"{expected} has {counted(len(expected.planes), 'plane')}, but the layers have "
            f"{[planes for _, planes in layers]}"
        )
    for number, (code, _) in enumerate(layers):
        if code not in _accepted(expected, number):
            raise LayoutError(
                f"layer {number} has the code {_text(code)}, which does not match that plane of "
                f"{expected}"
            )
    return expected


def _plane_code(format: ImageFormat, plane: PlaneFormat) -> int:
    try:
        return _PLANE_CODES[plane.channels, plane.itemsize]
    except KeyError:
        raise LayoutError(
            f"DRM has no code for a plane of {format} with {plane.channels} x {plane.dtype}"
        ) from None


def _accepted(format: ImageFormat, number: int) -> tuple[int, ...]:
    plane = format.planes[number]
    try:
        code = _PLANE_CODES[plane.channels, plane.itemsize]
    except KeyError:
        return ()
    return (code, _ALSO.get(code, code))


def _text(code: int) -> str:
    return repr(code.to_bytes(4, "little").decode("latin-1"))
