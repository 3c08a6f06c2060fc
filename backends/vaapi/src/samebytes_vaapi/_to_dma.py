# SPDX-License-Identifier: Apache-2.0
"""The edges from "vaapi" to "dma": the same memory behind file descriptors."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from samebytes import Access, Context, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import AccessError, LayoutError
from samebytes.formats import DRM_FORMAT_MOD_LINEAR
from samebytes.plugins import Refused, joint_owner

from ._exporting import Exported, export
from ._layout import SurfaceLayout
from ._library import VAError
from ._surface import VAPlane, VASurface

__all__ = ["VaapiFrameToDma", "VaapiToDma"]


class VaapiFrameToDma(MemoryMapper):
    """vaapi -> dma for frames: each object once, however many planes lie in it."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of planes in buffers."""
        planes, storage = _exported(item.native, access, self.target)
        return planes, None, storage


class VaapiToDma(MemoryMapper):
    """vaapi -> dma for one plane: it is plane n there, too."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The plane in its buffer."""
        native: VAPlane = item.native
        planes, storage = _exported(native.surface, access, self.target)
        plane = planes[native.index]
        return plane, None, None if storage is None else plane.buffer.storage


def _exported(
    surface: VASurface, access: Access, target: Context
) -> tuple[tuple[Any, ...], Storage | None]:
    """The planes, and the owner of the buffers if they belong to this mapping only.

    Memory in one piece is exported once for each access: mapped again, it has the same descriptor
    and storage, by which others remember their imports. That does not hold for several pieces:
    their descriptors could be confused once they were closed and their numbers used again.
    """
    try:
        known = surface.exports.get(access)
        if known is not None:
            surface.sync()
            return known, None
        with ExitStack() as undo:
            exported = export(surface.handle, access)
            for fd in exported.fds:
                undo.enter_context(fd)
            buffers = _buffers(exported, target, surface.storage)
            planes = _planes(exported.layout, buffers)
            undo.pop_all()
    except (VAError, LayoutError, AccessError) as error:
        raise Refused(str(error)) from error
    if len(buffers) > 1:
        return planes, joint_owner([plane.buffer.storage for plane in planes])
    return surface.exports.setdefault(access, planes), None


def _buffers(exported: Exported, target: Context, keep: Storage) -> list[Any]:
    """A buffer of the dma plugin around each descriptor; its context makes them."""
    make: Any = target
    return [make.import_fd(fd, keep=keep) for fd in exported.fds]


def _planes(layout: SurfaceLayout, buffers: list[Any]) -> tuple[Any, ...]:
    image, places = layout.image, layout.places
    pitches, offsets = [p.pitch for p in places], [p.offset for p in places]
    found = []
    for plane, place in zip(image.plane_layouts(pitches, offsets), places, strict=True):
        modifier = layout.objects[place.object].modifier
        tiled = modifier != DRM_FORMAT_MOD_LINEAR
        strides = None if tiled else plane.strides
        info = TensorInfo(plane.dtype, plane.shape, strides, opaque=tiled)
        buffer = buffers[place.object]
        found.append(buffer.plane(info, offset=place.offset, pitch=place.pitch, modifier=modifier))
    return tuple(found)
