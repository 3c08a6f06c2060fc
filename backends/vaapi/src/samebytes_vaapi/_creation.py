# SPDX-License-Identifier: Apache-2.0
"""New surfaces: allocated by the driver, or over memory that is described to it."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import Structure, addressof, byref, c_uint32, c_uint64
from functools import partial
from operator import index

from samebytes import ImageInfo, Storage
from samebytes.errors import LayoutError
from samebytes.formats import check_modifier

from ._abi import constants as va
from ._abi.structures import VADRMFormatModifierList, VASurfaceAttrib
from ._display import NativeDisplay
from ._formats import format_of
from ._library import VAError

__all__ = ["allocate", "create", "valid_id"]

# VAImage has 16 bits for each.
_MOST_PIXELS = 0xFFFF


def allocate(
    display: NativeDisplay, image: ImageInfo, modifiers: Sequence[int]
) -> tuple[int, Storage]:
    """A new surface whose memory the driver allocates: its id, and its owner.

    Args:
        modifiers: layout modifiers of drm_fourcc.h among which the driver chooses; none for the
            driver's own choice.

    Raises:
        UnknownNameError: VA-API has no such format.
        LayoutError: a size that no image has, or a modifier that is not a 64-bit number.
        VAError: the driver refuses.
    """
    numbers = [check_modifier(m) for m in modifiers]
    wanted = (c_uint64 * len(numbers))(*numbers)
    if not numbers:
        return create(display, image, ())
    chosen = VADRMFormatModifierList(len(numbers), wanted)
    return create(display, image, [pointer_to(va.VASurfaceAttribDRMFormatModifiers, chosen)])


def create(
    display: NativeDisplay, image: ImageInfo, attributes: Sequence[VASurfaceAttrib]
) -> tuple[int, Storage]:
    """A new surface, with attributes besides its format: its id, and its owner.

    Structures that the attributes point to must live until this returns. The owner destroys the
    surface after its last use, or the display does when it ends.
    """
    format_ = format_of(image.format)
    if max(image.width, image.height) > _MOST_PIXELS:
        raise LayoutError(
            f"{image}: width and height of an image of VA-API are at most {_MOST_PIXELS} pixels"
        )
    given = [whole(va.VASurfaceAttribPixelFormat, format_.fourcc), *attributes]
    made = c_uint32(va.VA_INVALID_ID)
    # Before the surface, which no exception of a signal handler can lose then.
    owner = Storage(partial(display.resources.destroy_surface, made), keep=display)
    display.resources.add_surface(made)
    try:
        display.call(
            "vaCreateSurfaces",
            format_.rt_format,
            image.width,
            image.height,
            byref(made),
            1,
            (VASurfaceAttrib * len(given))(*given),
            len(given),
        )
    except VAError:
        made.value = va.VA_INVALID_ID
        raise
    owner.wait = partial(display.sync, made.value)
    return made.value, owner


def valid_id(display: NativeDisplay, surface: int) -> int:
    """The id of a surface that was made elsewhere, checked.

    Raises:
        LayoutError: it is not an id.
        VAError: the driver knows no such surface.
    """
    try:
        number = index(surface)
    except TypeError:
        number = -1
    if not 0 <= number < va.VA_INVALID_ID:
        raise LayoutError(f"{surface!r} is not a VASurfaceID")
    display.check_surface(number)
    return number


def whole(kind: int, value: int) -> VASurfaceAttrib:
    """An attribute that is a number."""
    attribute = VASurfaceAttrib(type=kind, flags=va.VA_SURFACE_ATTRIB_SETTABLE)
    attribute.value.type = va.VAGenericValueTypeInteger
    attribute.value.value.i = value
    return attribute


def pointer_to(kind: int, value: Structure) -> VASurfaceAttrib:
    """An attribute that points to a structure, which must live as long as it is used."""
    attribute = VASurfaceAttrib(type=kind, flags=va.VA_SURFACE_ATTRIB_SETTABLE)
    attribute.value.type = va.VAGenericValueTypePointer
    attribute.value.value.p = addressof(value)
    return attribute
