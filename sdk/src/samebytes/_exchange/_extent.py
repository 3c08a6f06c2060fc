# SPDX-License-Identifier: Apache-2.0
"""Checks of layouts that come from outside, before numpy turns them into addresses."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from samebytes._numbers import MAX_BYTES, check_shape
from samebytes.errors import LayoutError

__all__ = ["check_extent"]


def check_extent(
    shape: Sequence[int],
    strides: Sequence[int] | None,
    itemsize: int,
    address: int | None,
    offset: int = 0,
) -> tuple[int, int]:
    """Refuse an array whose elements cannot all have addresses.

    Args:
        shape: elements along each axis.
        strides: in bytes; None for row-major memory without gaps.
        itemsize: bytes of one element.
        address: where the memory begins; None where that is not asked.
        offset: bytes from there to the first element.

    Returns:
        Where the bytes begin and end, from the first element on; (0, 0) where there are none.

    Raises:
        LayoutError: too many axes, a negative extent, no memory for elements that there are, or
            elements outside what a pointer can reach.
    """
    check_shape(shape, itemsize * 8)
    if 0 in shape:
        return 0, 0
    if address == 0:
        raise LayoutError(f"a null pointer for an array of shape {tuple(shape)}")
    low, high = 0, itemsize
    if strides is None:
        high = math.prod(shape) * itemsize
    else:
        for n, stride in zip(shape, strides, strict=True):
            reach = (n - 1) * stride
            if reach < 0:
                low += reach
            else:
                high += reach
    first = 1 - low if address is None else address + offset
    if first + low <= 0 or high - low > MAX_BYTES or first + high > 2 * sys.maxsize:
        raise LayoutError(
            f"shape {tuple(shape)} with strides {strides and tuple(strides)} from {first:#x} on "
            "exceeds the address space"
        )
    return low, high
