# SPDX-License-Identifier: Apache-2.0
"""Size, type and strides of a cv2.UMat, which cv2 does not expose."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import cv2

from samebytes import DType, TensorInfo, dtype
from samebytes.errors import LayoutError
from samebytes.plugins import deferred

from ._layout import MAX_CHANNELS
from ._umat_abi import POINTER_AT, UMatHeader4, UMatHeader5

__all__ = ["mat_type", "umat_layout"]

_MAJOR = int(cv2.__version__.partition(".")[0])
_CHANNEL_SHIFT = 5 if _MAJOR >= 5 else 3
"""CV_CN_SHIFT, opencv2/core/hal/interface.h."""
_TYPE_MASK = 0xFFF

_DEPTHS = {
    "uint8": "CV_8U",
    "int8": "CV_8S",
    "uint16": "CV_16U",
    "int16": "CV_16S",
    "int32": "CV_32S",
    "float32": "CV_32F",
    "float64": "CV_64F",
    "float16": "CV_16F",
    "uint32": "CV_32U",
    "bool": "CV_Bool",
}
_CODES: dict[str, int] = {
    name: getattr(cv2, constant) for name, constant in _DEPTHS.items() if hasattr(cv2, constant)
}
_NAMES = {code: name for name, code in _CODES.items()}


def mat_type(element: DType, channels: int) -> int:
    """OpenCV's number for pixels with that number of channels.

    Raises:
        LayoutError: OpenCV has no such elements, or not so many channels.
    """
    if channels > MAX_CHANNELS:
        raise LayoutError(
            f"OpenCV {cv2.__version__} has UMats of at most {MAX_CHANNELS} channels, not {channels}"
        )
    code = _CODES.get(element.name)
    if code is None:
        raise LayoutError(
            f"OpenCV {cv2.__version__} has no UMat of {element}: it has {', '.join(_CODES)}"
        )
    return code + ((channels - 1) << _CHANNEL_SHIFT)


def umat_layout(native: Any) -> tuple[TensorInfo, int]:
    """The layout of a two-dimensional UMat, and the bytes from its buffer's start.

    Raises:
        LayoutError: it is empty, or has more than two axes; or this OpenCV keeps its UMats in a
            way that is not known here.
    """
    if not _is_known():
        raise LayoutError(
            f"OpenCV {cv2.__version__} keeps the size of a UMat in a place unknown to samebytes: "
            "allocate it with samebytes.context('opencv_umat').allocate(shape, dtype)"
        )
    header = _header(native)
    if header.dims != 2 or not header.u:
        raise LayoutError("only UMats with rows and columns of pixels can be mapped")
    kind = header.flags & _TYPE_MASK
    channels = (kind >> _CHANNEL_SHIFT) + 1
    name = _NAMES.get(kind & ((1 << _CHANNEL_SHIFT) - 1))
    if name is None:
        raise LayoutError("numpy has no type for the elements of this UMat")
    itemsize = dtype(name).itemsize or 1
    shape: tuple[int, ...] = (header.rows, header.cols)
    strides: tuple[int, ...] = (header.step[0], itemsize * channels)
    if channels > 1:
        shape, strides = (*shape, channels), (*strides, itemsize)
    return TensorInfo(name, shape, strides), header.offset


def _header(native: Any) -> UMatHeader4 | UMatHeader5:
    kind = UMatHeader5 if _MAJOR >= 5 else UMatHeader4
    address = ctypes.c_void_p.from_address(id(native) + POINTER_AT).value
    assert address is not None  # every cv2.UMat points to one
    return kind.from_address(address)


@cache
def _is_known() -> bool:
    """True if a UMat of a known layout is read correctly, the only check of the header."""
    with deferred():  # as CpuToUMat
        whole = cv2.UMat(5, 7, mat_type(dtype("uint16"), 3))
        part = cv2.UMat(whole, [1, 4], [2, 6])
    for native, rows, cols, offset in ((whole, 5, 7, 0), (part, 3, 4, 54)):
        header = _header(native)
        found = (header.dims, header.rows, header.cols, header.offset, *header.step)
        kind = header.flags & _TYPE_MASK
        if found != (2, rows, cols, offset, 42, 6) or kind != mat_type(dtype("uint16"), 3):
            return False
    return True
