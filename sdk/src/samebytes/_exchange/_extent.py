# SPDX-License-Identifier: Apache-2.0
"""Checks of layouts that come from outside, before numpy turns them into addresses."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from samebytes.errors import LayoutError

__all__ = ["MAX_AXES", "check_extent"]

# NPY_MAXDIMS, numpy/ndarraytypes.h of numpy 2.
MAX_AXES = 64


def check_extent(
    shape: Sequence[int],
    strides: Sequence[int] | None,
    itemsize: int,
    address: int,
    offset: int = 0,
) -> None:
    """Refuse an array whose elements cannot all have addresses.

    Args:
        shape: elements along each axis.
        strides: in bytes; None for row-major memory without gaps.
        itemsize: bytes of one element.
        address: where the memory begins.
        offset: bytes from there to the first element.

    Raises:
        LayoutError: too many axes, a negative extent, no memory for elements that there are, or
            elements outside of what a pointer can reach.
    """
    if len(shape) > MAX_AXES:
        raise LayoutError(f"{len(shape)} axes: numpy arrays have at most {MAX_AXES}")
    size = 1
    for n in shape:
        if n < 0:
            raise LayoutError(f"shape {tuple(shape)} has a negative extent")
        size *= n
    if size == 0:
        # numpy multiplies the other extents all the same.
        if math.prod(max(n, 1) for n in shape) * itemsize > sys.maxsize:
            raise LayoutError(f"shape {tuple(shape)} is larger than the address space")
        return
    if address == 0:
        raise LayoutError(f"a null pointer for an array of shape {tuple(shape)}")
    first = address + offset
    low, high = first, first + itemsize
    if strides is None:
        high = first + size * itemsize
    else:
        for n, stride in zip(shape, strides, strict=True):
            reach = (n - 1) * stride
            if reach < 0:
                low += reach
            else:
                high += reach
    if (
        low <= 0
        or high - low > sys.maxsize
        or high > 2 * sys.maxsize
        or (size * itemsize > sys.maxsize)
    ):
        raise LayoutError(
            f"shape {tuple(shape)} with strides {strides and tuple(strides)} from {first:#x} on "
            "leaves the address space"
        )
