# SPDX-License-Identifier: Apache-2.0
"""The rules for arrays that OpenCV takes as a Mat in place.

They are those of `pyopencv_to(PyObject*, Mat&, ...)` in OpenCV's
modules/python/src2/cv2_convert.cpp: an array that breaks one is copied as an input and refused as
an output. Some are stricter, where OpenCV goes on with a meaningless result or ends the process:
arrays without elements or axes, rows that overlap or are not aligned to elements, and negative or
growing strides, which OpenCV overlooks next to an axis of one element.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import cv2
import numpy as np

from samebytes import TensorInfo

__all__ = ["DTYPES", "MAX_CHANNELS", "MAX_DIMS", "why_not", "why_not_array"]

_MAJOR = int(cv2.__version__.partition(".")[0])

DTYPES = frozenset(
    ("uint8", "int8", "uint16", "int16", "int32", "float16", "float32", "float64")
    + (("bool", "uint32") if _MAJOR >= 5 else ())
)
"""Element types. 64-bit integers are cast to 32 bits on the way in, so they are not among them."""

MAX_CHANNELS = 128 if _MAJOR >= 5 else 512
"""CV_CN_MAX, opencv2/core/hal/interface.h: more make a 3-D array a volume of one channel."""

MAX_DIMS = 10 if _MAJOR >= 5 else 31
"""MatShape::MAX_DIMS, opencv2/core/mat.hpp; before 5.0 less than CV_MAX_DIM."""

_INT_MAX = 2**31 - 1


@lru_cache(maxsize=512)
def why_not_array(
    dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> str | None:
    """`why_not` for the layout of an array, worked out once for each."""
    return why_not(TensorInfo(dtype, shape, strides))


def why_not(info: TensorInfo) -> str | None:
    """None if OpenCV takes such an array in place, else the reason why it does not."""
    if str(info.dtype) not in DTYPES:
        return (
            f"OpenCV {cv2.__version__} has no Mat of {info.dtype}: "
            f"it has {', '.join(sorted(DTYPES))}"
        )
    if not info.shape or not info.size:
        return f"a Mat has at least one axis and one element, the shape is {info.shape}"
    if info.ndim > MAX_DIMS:
        return f"a Mat of OpenCV {cv2.__version__} has at most {MAX_DIMS} axes, not {info.ndim}"
    if max(info.shape) > _INT_MAX:
        return f"an axis of a Mat has at most {_INT_MAX} elements, the shape is {info.shape}"
    return _why_not_strides(info)


def _why_not_strides(info: TensorInfo) -> str | None:
    shape, strides, itemsize = info.shape, info.strides, info.dtype.itemsize
    assert strides is not None  # every type in DTYPES fills whole bytes
    assert itemsize is not None
    said = f"shape {shape}, strides {strides} bytes"
    if any(n > 1 and s < 0 for n, s in zip(shape, strides, strict=True)):
        return f"a Mat cannot have negative strides, as a flipped array has them ({said})"
    is_image = info.ndim == 3 and shape[2] <= MAX_CHANNELS
    if shape[-1] > 1 and strides[-1] != itemsize:
        what = "channels of a pixel" if is_image else "elements of a row"
        return f"the {what} of a Mat lie one after another without gaps ({said})"
    if is_image and strides[1] != itemsize * shape[2]:
        return f"the pixels in a row of a Mat lie one after another without gaps ({said})"
    # OpenCV compares with the stride of the next axis even where that has one element only.
    axes = list(zip(shape, strides, strict=True))
    if any(n > 1 and outer < inner for (n, outer), (_, inner) in pairwise(axes)):
        return f"a Mat cannot be transposed: its strides never grow ({said})"
    if info.overlaps:
        return f"the rows of a Mat do not overlap ({said})"
    if any(n > 1 and step % itemsize for n, step in axes):
        return f"the rows of a Mat begin at a multiple of {itemsize} bytes ({said})"
    return None
