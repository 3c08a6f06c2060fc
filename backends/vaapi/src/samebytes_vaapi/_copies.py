# SPDX-License-Identifier: Apache-2.0
"""The edges between "vaapi" and CPU memory that copy, where the driver cannot map a surface."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import numpy as np

import samebytes
from samebytes import Access, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, NativeError, UnknownNameError
from samebytes.formats import PlaneLayout
from samebytes.plugins import Refused, count_copy

from ._context import VAAPIContext
from ._image import Array, planes_at
from ._surface import SurfaceHandle, VAPlane, VASurface
from ._transfer import download, upload

__all__ = ["CpuToVaapi", "VaapiFrameToCpuCopy", "VaapiToCpuCopy"]

_BACK = "vaapi -> cpu (write back)"


class VaapiFrameToCpuCopy(MemoryMapper):
    """vaapi -> cpu for frames: new memory, which is written back if it was mapped for writing."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of arrays, and the owner of their memory."""
        surface: VASurface = item.native
        layouts = dict(enumerate(surface.image.packed_layouts()))
        arrays, storage = _copied(surface, layouts, access)
        return tuple(arrays.values()), None, storage


class VaapiToCpuCopy(MemoryMapper):
    """vaapi -> cpu for one plane: the same."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The array, and the owner of its memory."""
        native: VAPlane = item.native
        layout = native.surface.image.plane_layouts()[native.index]
        arrays, storage = _copied(native.surface, {native.index: layout}, access)
        return arrays[native.index], None, storage


class CpuToVaapi(MemoryMapper):
    """cpu -> vaapi: a new surface with the picture. It is not written back."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """The new surface."""
        if item.media != "image":
            raise Refused("only images can be mapped to surfaces")
        image = item.image
        try:
            made = cast(VAAPIContext, self.target).allocate_frame(
                image.format, image.width, image.height
            )
            surface = made.native
            upload(surface.handle, {n: plane.native for n, plane in enumerate(item.planes)})
        except (LayoutError, NativeError, UnknownNameError) as error:
            raise Refused(str(error)) from error
        return surface, None, surface.storage


def _copied(
    surface: VASurface, layouts: Mapping[int, PlaneLayout], access: Access
) -> tuple[dict[int, Array], Storage]:
    """Arrays over new memory, by the numbers of the planes, and its owner."""
    nbytes = max(p.offset + p.span for p in layouts.values())
    pages = samebytes.context("cpu").allocate((nbytes,), zeroed=access == "w").storage
    # For the write back, which must not hold the storage that calls it, nor that of the surface.
    inner = dict(zip(layouts, planes_at(np.asarray(pages), tuple(layouts.values())), strict=True))
    if access != "w":
        try:
            download(surface.handle, inner)
        except (LayoutError, NativeError) as error:
            raise Refused(str(error)) from error
    back = None if access == "r" else partial(_write_back, surface.handle, inner)
    storage = Storage(
        back,
        address=pages.address,
        nbytes=pages.nbytes,
        # What is written back holds the pages, and needs the surface.
        keep=pages if back is None else surface.storage,
        readonly=access == "r",
        flush=back,
    )
    outer = planes_at(np.asarray(storage), tuple(layouts.values()))
    return dict(zip(layouts, outer, strict=True)), storage


def _write_back(surface: SurfaceHandle, arrays: Mapping[int, Array]) -> None:
    if not surface.display.resources.usable:
        return  # the interpreter ends, or this is a forked child: nobody would see it
    upload(surface, arrays)
    count_copy(_BACK, sum(a.nbytes for a in arrays.values()))
