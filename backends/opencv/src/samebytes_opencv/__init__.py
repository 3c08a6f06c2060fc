# SPDX-License-Identifier: Apache-2.0
"""OpenCV's Mat as samebytes memory.

    image = samebytes.tensor(array).map("opencv", "rw")    # the same bytes, if a Mat can be so
    cv2.rectangle(image.native, (10, 10), (50, 50), (0, 0, 255))

In Python a Mat is a numpy array, of a type and with strides that OpenCV takes without a copy.
OpenCV itself is imported by the first mapping.
"""

from __future__ import annotations

from ._context import OpenCVContext
from ._in_place import in_place
from ._tensor import OpenCVTensor

__all__ = ["OpenCVContext", "OpenCVTensor", "in_place"]
