# SPDX-License-Identifier: Apache-2.0
"""Resizing one plane of a frame into another."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from samebytes.errors import LayoutError, UnsupportedObjectError

from ._layout import why_not_array

__all__ = ["METHODS", "resize"]

METHODS: dict[str, int] = {
    "linear": cv2.INTER_LINEAR,
    "area": cv2.INTER_AREA,
    "nearest": cv2.INTER_NEAREST,
    "cubic": cv2.INTER_CUBIC,
}
"""OpenCV's numbers of the ways to scale."""

_Array = np.ndarray[Any, Any]


def resize(source: _Array, target: _Array, interpolation: int = cv2.INTER_LINEAR) -> None:
    """Resize `source` to the size of `target`, into its memory: cv2.resize(..., dst=target).

    Made to be passed as `samebytes_openvino.image_model(..., resize=samebytes_opencv.resize)`, and
    with another interpolation as functools.partial(resize, interpolation=cv2.INTER_AREA).

    Args:
        source, target: arrays of (rows, columns) or (rows, columns, channels) with the same
            element type and number of channels. Rows may be padded, and are left so.
        interpolation: one of OpenCV's INTER_*.

    Raises:
        UnsupportedObjectError: one of them is not an array.
        LayoutError: OpenCV would copy `source`, or write to its own memory; the message says
            why.
        cv2.error: OpenCV's, for a read-only `target` or element types that it does not resize.
    """
    for name, array in (("source", source), ("target", target)):
        if not isinstance(array, np.ndarray):
            raise UnsupportedObjectError(
                f"{name} must be a numpy array, not {type(array).__name__}"
            )
        reason = why_not_array(array.dtype, array.shape, array.strides)
        if reason is not None:
            raise LayoutError(f"{name} cannot be used in place: {reason}")
    alike = source.ndim, source.shape[2:], source.dtype
    if source.ndim not in (2, 3) or alike != (target.ndim, target.shape[2:], target.dtype):
        raise LayoutError(
            f"source is {source.dtype}{list(source.shape)} and target {target.dtype}"
            f"{list(target.shape)}: both are (rows, columns) or (rows, columns, channels), of one "
            "element type and as many channels"
        )
    rows, columns = target.shape[:2]
    result: Any = cv2.resize(source, (columns, rows), dst=target, interpolation=interpolation)
    if result is target:  # as nearly always: the array whose memory OpenCV has written to
        return
    if result.__array_interface__["data"] != target.__array_interface__["data"]:
        raise LayoutError(
            f"OpenCV wrote {result.dtype}{list(result.shape)} to its own memory, not to target, "
            f"{target.dtype}{list(target.shape)}"
        )
