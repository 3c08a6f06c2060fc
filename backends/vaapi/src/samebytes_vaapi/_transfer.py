# SPDX-License-Identifier: Apache-2.0
"""vaGetImage and vaPutImage: the bytes of a surface to and from arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ._image import Array, created
from ._surface import SurfaceHandle

__all__ = ["download", "upload"]


def download(surface: SurfaceHandle, targets: Mapping[int, Array]) -> None:
    """Copy planes of a surface.

    Args:
        targets: the arrays to copy to, by the number of the plane.

    Raises:
        VAError: the driver refuses.
        LayoutError: it has no images of the format.
    """
    display, image = surface.display, surface.image
    surface.sync()
    with created(display, image) as copy:
        display.call("vaGetImage", surface.id, 0, 0, image.width, image.height, copy.id)
        copy.map()
        arrays = copy.arrays()
        for number, target in targets.items():
            np.copyto(target, arrays[number])


def upload(surface: SurfaceHandle, sources: Mapping[int, Array]) -> None:
    """Copy planes into a surface, and wait until they are there. The other planes stay.

    Args:
        sources: the arrays to copy from, by the number of the plane.

    Raises:
        VAError: the driver refuses.
        LayoutError: it has no images of the format.
    """
    display, image = surface.display, surface.image
    size = (0, 0, image.width, image.height)
    surface.sync()
    with created(display, image) as copy:
        if len(sources) < len(image.format.planes):
            # An image is put as a whole, with the current contents of the other planes.
            display.call("vaGetImage", surface.id, *size, copy.id)
        copy.map()
        arrays = copy.arrays()
        for number, source in sources.items():
            np.copyto(arrays[number], source)
        copy.unmap()
        display.call("vaPutImage", surface.id, copy.id, *size, *size)
    surface.sync()
