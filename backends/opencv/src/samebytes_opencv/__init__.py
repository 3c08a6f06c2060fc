# SPDX-License-Identifier: Apache-2.0
"""OpenCV's Mat and UMat as samebytes memory.

    image = samebytes.tensor(array).map("opencv", "rw")    # the same bytes, if a Mat can lie there
    cv2.rectangle(image.native, (10, 10), (50, 50), (0, 0, 255))

In Python a Mat is a numpy array, of a type and with strides that OpenCV takes without a copy. A
UMat is an OpenCL buffer. OpenCV itself is imported by the first mapping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._context import OpenCVContext
    from ._elements._crop import OpenCVCrop
    from ._elements._draw import OpenCVDraw
    from ._elements._scale import OpenCVScale
    from ._elements._warp import OpenCVWarp
    from ._in_place import in_place
    from ._resize import resize
    from ._tensor import OpenCVTensor
    from ._umat_context import UMatContext
    from ._umat_tensor import UMatTensor

__all__ = [
    "OpenCVContext",
    "OpenCVCrop",
    "OpenCVDraw",
    "OpenCVScale",
    "OpenCVTensor",
    "OpenCVWarp",
    "UMatContext",
    "UMatTensor",
    "in_place",
    "resize",
]

_HOME = {
    "OpenCVContext": "._context",
    "OpenCVCrop": "._elements._crop",
    "OpenCVDraw": "._elements._draw",
    "OpenCVScale": "._elements._scale",
    "OpenCVTensor": "._tensor",
    "OpenCVWarp": "._elements._warp",
    "UMatContext": "._umat_context",
    "UMatTensor": "._umat_tensor",
    "in_place": "._in_place",
    "resize": "._resize",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
