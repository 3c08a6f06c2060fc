# SPDX-License-Identifier: Apache-2.0
"""The edge from "dma" to "vaapi": a surface over buffers, imported once for each."""

from __future__ import annotations

import fcntl
import os
from typing import Any, cast

from samebytes import Access, Frame, ImageInfo, MemoryMapper, Storage, Tensor
from samebytes.errors import LayoutError, NativeError, UnknownNameError
from samebytes.formats import DRM_FORMAT_MOD_INVALID, DRM_FORMAT_MOD_LINEAR
from samebytes.plugins import Refused, file_identity, memory_size

from ._context import VAAPIContext
from ._formats import format_of
from ._importing import Imported, import_layout
from ._layout import Object, PlaneLocation, SurfaceLayout
from ._surface import VASurface

__all__ = ["DmaToVaapi"]

_IN_ROWS = (DRM_FORMAT_MOD_LINEAR, DRM_FORMAT_MOD_INVALID)
_MOST_OBJECTS = 4
# Offsets and pitches of VADRMPRIMESurfaceDescriptor have 32 bits.
_MOST_BYTES = 0xFFFFFFFF


class DmaToVaapi(MemoryMapper):
    """dma -> vaapi: the whole picture as one surface, fully described to the driver."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A surface over the same memory."""
        target = cast(VAAPIContext, self.target)
        display = target.native_display()
        layout = _layout_of(item)
        # Devices that still write to the buffers come first; not every driver looks for them.
        item.wait()
        try:
            imported = target.imports.of_source(
                item.storage, layout, lambda: Imported(display, *import_layout(display, layout))
            )
        except (NativeError, LayoutError) as error:
            raise Refused(f"{error}{_advice(layout)}") from error
        storage = imported.mapping()
        return VASurface(target, imported.surface, layout.image, storage, display), None, storage


def _layout_of(frame: Frame) -> SurfaceLayout:
    """Return the layout of a frame's planes in the terms of VA-API.

    Raises:
        Refused: VA-API cannot express it, or the planes do not lie in their buffers.
    """
    if frame.media != "image":
        raise Refused("only images can be mapped to surfaces")
    image = frame.image
    try:
        format_of(image.format)
        planes = [_handles(plane) for plane in frame.planes]
        objects, indices = _objects(planes)
        places = tuple(
            PlaneLocation(index, offset, pitch)
            for index, (_, offset, pitch, _) in zip(indices, planes, strict=True)
        )
        _check_places(frame, image, objects, places)
    except (LayoutError, UnknownNameError) as error:
        raise Refused(str(error)) from error
    return SurfaceLayout(image, objects, places)


def _handles(plane: Tensor) -> tuple[int, int, int, int]:
    """(descriptor, offset, pitch, modifier)."""
    return (
        plane.handle("dma_fd"),
        plane.handle("offset"),
        plane.handle("pitch"),
        plane.handle("drm_modifier"),
    )


def _objects(planes: list[tuple[int, int, int, int]]) -> tuple[tuple[Object, ...], list[int]]:
    """The distinct pieces of memory, and the index of each plane's piece.

    Cameras hand out a descriptor for each plane of one buffer. Most drivers only take a picture in
    one object, so such descriptors are recognised as one: since Linux 5.3 each DMA-BUF has its own
    inode.
    """
    found: dict[tuple[int, int], int] = {}
    objects: list[Object] = []
    indices = []
    for fd, _, _, modifier in planes:
        size = memory_size(fd)
        identity = file_identity(fd)
        if identity not in found:
            found[identity] = len(objects)
            objects.append(Object(fd, size, modifier))
        index = found[identity]
        if objects[index].modifier != modifier:
            raise LayoutError(
                f"planes of one buffer have different modifiers, {objects[index].modifier:#x} and "
                f"{modifier:#x}"
            )
        indices.append(index)
    if len(objects) > _MOST_OBJECTS:
        raise LayoutError(f"a surface can use up to {_MOST_OBJECTS} buffers, not {len(objects)}")
    return tuple(objects), indices


def _check_places(
    frame: Frame, image: ImageInfo, objects: tuple[Object, ...], places: tuple[PlaneLocation, ...]
) -> None:
    layouts = image.plane_layouts([p.pitch for p in places], [p.offset for p in places])
    for layout, place, plane in zip(layouts, places, frame.planes, strict=True):
        memory = objects[place.object]
        if memory.modifier in _IN_ROWS:
            if plane.strides != layout.strides:
                raise LayoutError(
                    f"plane {layout.name!r} has strides {plane.strides}, but only rows can be "
                    f"padded: {layout.strides}"
                )
            end = place.offset + layout.span
        else:
            end = place.offset + 1  # only the driver knows how many bytes tiles take
        if end > memory.size:
            raise LayoutError(
                f"plane {layout.name!r} ends at byte {end} of a buffer of {memory.size}"
            )
        if max(place.offset, place.pitch) > _MOST_BYTES:
            raise LayoutError(f"plane {layout.name!r} starts beyond 4 GiB")


def _advice(layout: SurfaceLayout) -> str:
    for memory in layout.objects:
        if fcntl.fcntl(memory.fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            return " (its descriptor is open for reading alone, and drivers mostly want to write)"
    return ""
