# SPDX-License-Identifier: Apache-2.0
"""vaExportSurfaceHandle: the memory of a surface as DMA-BUFs."""

from __future__ import annotations

from contextlib import ExitStack
from ctypes import byref
from typing import NamedTuple

from samebytes import Access, Fd
from samebytes.errors import LayoutError
from samebytes.formats import DRM_FORMAT_MOD_INVALID
from samebytes.plugins import counted

from ._abi import constants as va
from ._abi.structures import VADRMPRIMESurfaceDescriptor
from ._formats import fourcc_text, name_of
from ._layout import Object, PlaneLocation, SurfaceLayout
from ._library import VAError
from ._surface import SurfaceHandle

__all__ = ["Exported", "check_picture", "export"]

_FLAGS: dict[Access, int] = {
    "r": va.VA_EXPORT_SURFACE_READ_ONLY,
    "w": va.VA_EXPORT_SURFACE_WRITE_ONLY,
    "rw": va.VA_EXPORT_SURFACE_READ_WRITE,
}
_MOST_OBJECTS = 4


class Exported(NamedTuple):
    """The memory of a surface.

    Attributes:
        fds: the owners of the descriptors, one for each object of the layout.
        layout: the places of the planes.
    """

    fds: tuple[Fd, ...]
    layout: SurfaceLayout


def export(surface: SurfaceHandle, access: Access) -> Exported:
    """The memory of a surface, whose rendering is complete.

    Raises:
        VAError: the driver does not export it.
        LayoutError: the export does not match the declaration of the surface.
    """
    surface.sync()
    descriptor = VADRMPRIMESurfaceDescriptor()
    with ExitStack() as undo:
        undo.callback(_close, descriptor)
        _describe(surface, _FLAGS[access], descriptor)
        numbers = _numbers(descriptor)
        layout = _layout(surface, descriptor, len(numbers))
        undo.pop_all()  # first: no number may have two owners
    return Exported(tuple(map(Fd, numbers)), layout)


def check_picture(surface: SurfaceHandle, fourcc: int, width: int, height: int) -> None:
    """Raise LayoutError if the driver knows a surface as another format, or as smaller."""
    image = surface.image
    if name_of(fourcc) != image.format.name or width < image.width or height < image.height:
        raise LayoutError(
            f"surface {surface.id} was declared as {image}, but the driver reports "
            f"{fourcc_text(fourcc)} {width}x{height}"
        )


def _describe(surface: SurfaceHandle, flags: int, descriptor: VADRMPRIMESurfaceDescriptor) -> None:
    # Mesa's drivers know separate layers only; others want one layer for formats with auxiliary
    # planes.
    try:
        _call(surface, flags | va.VA_EXPORT_SURFACE_COMPOSED_LAYERS, descriptor)
    except VAError:
        _call(surface, flags | va.VA_EXPORT_SURFACE_SEPARATE_LAYERS, descriptor)


def _call(surface: SurfaceHandle, flags: int, descriptor: VADRMPRIMESurfaceDescriptor) -> None:
    kind = va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
    try:
        surface.display.call("vaExportSurfaceHandle", surface.id, kind, flags, byref(descriptor))
    except VAError:
        descriptor.num_objects = 0
        raise


def _numbers(descriptor: VADRMPRIMESurfaceDescriptor) -> list[int]:
    """The descriptors, one for each object."""
    count = descriptor.num_objects
    if not 0 < count <= _MOST_OBJECTS:
        raise LayoutError(f"the driver exported {count} objects, not 1 to {_MOST_OBJECTS}")
    numbers = [o.fd for o in descriptor.objects[:count]]
    if len({number for number in numbers if number >= 0}) != count:
        raise LayoutError(
            f"the driver exported {counted(count, 'object')} with descriptors {numbers}"
        )
    return numbers


def _close(descriptor: VADRMPRIMESurfaceDescriptor) -> None:
    """Close the exported descriptors, each number once, even if a driver reports one twice."""
    count = descriptor.num_objects
    if 0 < count <= _MOST_OBJECTS:
        for number in {o.fd for o in descriptor.objects[:count] if o.fd >= 0}:
            Fd(number).close()


def _layout(
    surface: SurfaceHandle, descriptor: VADRMPRIMESurfaceDescriptor, count: int
) -> SurfaceLayout:
    image = surface.image
    check_picture(surface, descriptor.fourcc, descriptor.width, descriptor.height)
    objects = tuple(Object(o.fd, o.size, o.drm_format_modifier) for o in descriptor.objects[:count])
    places = tuple(
        PlaneLocation(layer.object_index[n], layer.offset[n], layer.pitch[n])
        for layer in descriptor.layers[: descriptor.num_layers]
        for n in range(min(layer.num_planes, len(layer.offset)))
    )
    planes = len(image.format.planes)
    if len(places) != planes or any(place.object >= count for place in places):
        raise LayoutError(
            f"{image} has {counted(planes, 'plane')}, but the driver exported {len(places)} in "
            f"{counted(count, 'object')}: compressed surfaces have more, and cannot be shared"
        )
    if any(o.modifier == DRM_FORMAT_MOD_INVALID for o in objects):
        # Older drivers keep the tiling to themselves: read as rows, tiles would be wrong numbers.
        raise LayoutError(
            "the driver does not say how the memory is laid out (DRM_FORMAT_MOD_INVALID): allocate "
            "the surface with modifiers=(0,), or map it to the CPU"
        )
    return SurfaceLayout(image, objects, places)
