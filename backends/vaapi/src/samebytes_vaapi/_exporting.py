# SPDX-License-Identifier: Apache-2.0
"""vaExportSurfaceHandle: the memory of a surface as DMA-BUFs."""

from __future__ import annotations

from ctypes import byref
from typing import NamedTuple

from samebytes import Access
from samebytes.errors import LayoutError
from samebytes.plugins import DRM_FORMAT_MOD_INVALID, Fd

from ._abi import constants as va
from ._abi.structures import VADRMPRIMESurfaceDescriptor
from ._errors import VAError
from ._formats import fourcc_text, name_of
from ._layout import Object, Place, SurfaceLayout
from ._surface import VASurface

__all__ = ["Exported", "check_picture", "export"]

_FLAGS: dict[Access, int] = {
    "r": va.VA_EXPORT_SURFACE_READ_ONLY,
    "w": va.VA_EXPORT_SURFACE_WRITE_ONLY,
    "rw": va.VA_EXPORT_SURFACE_READ_WRITE,
}
# Mesa's drivers know separate layers only; others want one layer for formats with auxiliary planes.
_WAYS = (va.VA_EXPORT_SURFACE_COMPOSED_LAYERS, va.VA_EXPORT_SURFACE_SEPARATE_LAYERS)
_MOST_OBJECTS = 4


class Exported(NamedTuple):
    """The memory of a surface.

    Attributes:
        fds: the owners of the descriptors, one for each object of the layout.
        layout: where the planes lie.
    """

    fds: tuple[Fd, ...]
    layout: SurfaceLayout


def export(surface: VASurface, access: Access) -> Exported:
    """The memory of a surface, whose rendering is complete.

    Raises:
        VAError: the driver does not export it.
        LayoutError: what it exports is not what the surface was said to be.
    """
    surface.sync()
    descriptor = _described(surface, _FLAGS[access])
    fds = _owned(descriptor)
    return Exported(fds, _layout(surface, descriptor, len(fds)))


def check_picture(surface: VASurface, fourcc: int, width: int, height: int) -> None:
    """Raise LayoutError if the driver knows a surface as another format, or as smaller."""
    image = surface.image
    if name_of(fourcc) != image.format.name or width < image.width or height < image.height:
        raise LayoutError(
            f"surface {surface.id} was said to be {image}, and the driver says it is "
            f"{fourcc_text(fourcc)} {width}x{height}"
        )


def _described(surface: VASurface, flags: int) -> VADRMPRIMESurfaceDescriptor:
    failures: list[VAError] = []
    for way in _WAYS:
        descriptor = VADRMPRIMESurfaceDescriptor()
        try:
            surface.native_display.call(
                "vaExportSurfaceHandle",
                surface.id,
                va.VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                flags | way,
                byref(descriptor),
            )
        except VAError as error:
            failures.append(error)
        else:
            return descriptor
    raise failures[-1]


def _owned(descriptor: VADRMPRIMESurfaceDescriptor) -> tuple[Fd, ...]:
    """Owners of the descriptors. Before anything else is looked at, so that none stays open."""
    count = min(descriptor.num_objects, _MOST_OBJECTS)
    numbers = [descriptor.objects[n].fd for n in range(count)]
    owners = {number: Fd(number) for number in numbers if number >= 0}
    if len(owners) != descriptor.num_objects:
        raise LayoutError(
            f"the driver exported {descriptor.num_objects} objects with descriptors {numbers}"
        )
    return tuple(owners[number] for number in numbers)


def _layout(
    surface: VASurface, descriptor: VADRMPRIMESurfaceDescriptor, count: int
) -> SurfaceLayout:
    image = surface.image
    check_picture(surface, descriptor.fourcc, descriptor.width, descriptor.height)
    objects = tuple(Object(o.fd, o.size, o.drm_format_modifier) for o in descriptor.objects[:count])
    places = tuple(
        Place(layer.object_index[n], layer.offset[n], layer.pitch[n])
        for layer in descriptor.layers[: descriptor.num_layers]
        for n in range(min(layer.num_planes, len(layer.offset)))
    )
    planes = len(image.format.planes)
    if len(places) != planes or any(place.object >= count for place in places):
        raise LayoutError(
            f"{image} has {planes} planes, and the driver exported {len(places)} in {count} "
            "objects: compressed surfaces have more, and cannot be handed on"
        )
    if any(o.modifier == DRM_FORMAT_MOD_INVALID for o in objects):
        # Older drivers keep the tiling to themselves: read as rows, tiles would be wrong numbers.
        raise LayoutError(
            "the driver does not say how the memory is laid out (DRM_FORMAT_MOD_INVALID): allocate "
            "the surface with modifiers=(0,), or map it to the CPU"
        )
    return SurfaceLayout(image, objects, places)
