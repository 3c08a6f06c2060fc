# SPDX-License-Identifier: Apache-2.0
"""VA-API surfaces as samebytes frames: pictures in a GPU's video memory.

    gpu = samebytes.context("vaapi")              # or VAAPIContext.open("/dev/dri/renderD129")
    frame = gpu.allocate_frame("NV12", 1920, 1080)
    y, uv = frame.map("dma")                      # the same memory, by file descriptor
    with frame.map("cpu", "w") as view:           # if the driver maps it
        view.native[0][...] = 16

Importing this does not load libva; using a context does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._context import VAAPIContext
    from ._frame import VAFrame
    from ._library import VAError
    from ._surface import VAPlane, VASurface
    from ._tensor import VATensor

__version__ = "0.1.0"

__all__ = [
    "VAAPIContext",
    "VAError",
    "VAFrame",
    "VAPlane",
    "VASurface",
    "VATensor",
]

_HOME = {
    "VAAPIContext": "._context",
    "VAError": "._library",
    "VAFrame": "._frame",
    "VAPlane": "._surface",
    "VASurface": "._surface",
    "VATensor": "._tensor",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
