# SPDX-License-Identifier: Apache-2.0
"""The edges from "vaapi" to CPU memory without a copy: the driver maps the surface."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from samebytes import Access, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import PlaneLayout
from samebytes.plugins import Refused, count_copy

from ._image import Array, arrays_at, derived, planes_at
from ._library import VAError
from ._surface import SurfaceHandle, VAPlane, VASurface

__all__ = ["VaapiFrameToCpu", "VaapiToCpu"]


class VaapiFrameToCpu(MemoryMapper):
    """vaapi -> cpu for frames: all planes in one mapping."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of arrays, one over each plane, and the owner of the mapping."""
        arrays, storage = _mapped(item.native, access)
        return arrays, None, storage


class VaapiToCpu(MemoryMapper):
    """vaapi -> cpu for one plane."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The array over the plane, and the owner of the mapping."""
        native: VAPlane = item.native
        arrays, storage = _mapped(native.surface, access)
        return arrays[native.index], None, storage


def _mapped(surface: VASurface, access: Access) -> tuple[tuple[Array, ...], Storage]:
    try:
        surface.sync()
        image = derived(surface.handle)
    except (VAError, LayoutError) as error:
        raise Refused(str(error)) from error
    storage = image.storage
    storage.keep = surface.storage
    storage.readonly = access == "r"
    address, nbytes, layouts = image.address, image.nbytes, image.layouts
    if access != "r":
        storage.flush = partial(_publish, surface.handle, address, nbytes, layouts)
    storage.expose(address, nbytes)
    return planes_at(np.asarray(storage), image.layouts), storage


def _publish(
    surface: SurfaceHandle, address: int, nbytes: int, layouts: tuple[PlaneLayout, ...]
) -> None:
    """Make writes visible to the driver, without moving the mapping.

    Some drivers map their own copy, which they take back when it is unmapped. Mapping it again
    could give another address, and leave arrays without memory. So the surface is mapped a second
    time: if that is other memory, the bytes are put there, and unmapping it hands them over.
    """
    with derived(surface) as second:
        if second.address == address:
            return
        copied = 0
        for source, target in zip(
            arrays_at(address, nbytes, layouts), second.arrays(), strict=True
        ):
            np.copyto(target, source)
            copied += source.nbytes
    count_copy("vaapi -> cpu (flush)", copied)
