# SPDX-License-Identifier: Apache-2.0
"""Resizing one plane of a frame into another."""

from __future__ import annotations

from functools import lru_cache
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
"""OpenCV's numbers for the ways to scale."""

_Array = np.ndarray[Any, Any]
_Sizes = tuple[int, ...]


@lru_cache(maxsize=512)
def _why_not_both(
    from_dtype: np.dtype[Any], from_shape: _Sizes, from_strides: _Sizes,
    to_dtype: np.dtype[Any], to_shape: _Sizes, to_strides: _Sizes,
) -> str | None:  # fmt: skip
    """None if OpenCV resizes such an array into such another, else the reason why it does not."""
    layouts = (from_dtype, from_shape, from_strides), (to_dtype, to_shape, to_strides)
    for name, layout in zip(("source", "target"), layouts, strict=True):
        reason = why_not_array(*layout)
        if reason is not None:
            return f"{name} cannot be used in place: {reason}"
    axes = len(from_shape)
    if axes in (2, 3) and (axes, from_shape[2:], from_dtype) == (
        len(to_shape), to_shape[2:], to_dtype,
    ):  # fmt: skip
        return None
    return (
        f"source is {from_dtype}{list(from_shape)} and target {to_dtype}{list(to_shape)}: both are "
        "(rows, columns) or (rows, columns, channels), of one element type and as many channels"
    )


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
        LayoutError: OpenCV would copy `source`, or write to its own memory; the message gives the
            reason.
        cv2.error: OpenCV's, for a read-only `target` or element types that it does not resize.
    """
    for name, array in (("source", source), ("target", target)):
        if not isinstance(array, np.ndarray):
            raise UnsupportedObjectError(
                f"{name} must be a numpy array, not {type(array).__name__}"
            )
    size = target.shape
    reason = _why_not_both(
        source.dtype, source.shape, source.strides, target.dtype, size, target.strides
    )
    if reason is not None:
        raise LayoutError(reason)
    rows, columns = size[:2]
    result: Any = cv2.resize(source, (columns, rows), dst=target, interpolation=interpolation)
    if result is target:  # as nearly always: the array whose memory OpenCV has written to
        return
    if result.__array_interface__["data"] != target.__array_interface__["data"]:
        raise LayoutError(
            f"OpenCV wrote {result.dtype}{list(result.shape)} to its own memory, not to target, "
            f"{target.dtype}{list(target.shape)}"
        )
