# SPDX-License-Identifier: Apache-2.0
"""Checks of layouts that come from outside, before numpy turns them into addresses."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from samebytes._numbers import MAX_BYTES, check_shape
from samebytes.errors import LayoutError

__all__ = ["check_extent", "check_reach", "reach"]


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
            elements outside what a pointer can reach.
    """
    check_reach(reach(shape, strides, itemsize), address, offset, (shape, strides))


def reach(
    shape: Sequence[int], strides: Sequence[int] | None, itemsize: int
) -> tuple[int, int] | None:
    """How many bytes the elements reach from the first one, down and up; None of an empty array.

    Raises:
        LayoutError: too many axes, or a negative extent.
    """
    check_shape(shape, itemsize * 8)
    if 0 in shape:
        return None
    if strides is None:
        return 0, math.prod(shape) * itemsize
    low, high = 0, itemsize
    for n, stride in zip(shape, strides, strict=True):
        length = (n - 1) * stride
        if length < 0:
            low += length
        else:
            high += length
    return low, high


def check_reach(
    found: tuple[int, int] | None,
    address: int,
    offset: int,
    layout: tuple[Sequence[int], Sequence[int] | None],
) -> None:
    """Refuse an array by what `reach` says of its shape and strides, and where it lies.

    Raises:
        LayoutError: no memory for elements that there are, or elements outside what a pointer can
            reach.
    """
    if found is None:
        return
    shape, strides = layout
    if address == 0:
        raise LayoutError(f"a null pointer for an array of shape {tuple(shape)}")
    first = address + offset
    low, high = first + found[0], first + found[1]
    if low <= 0 or high - low > MAX_BYTES or high > 2 * sys.maxsize:
        raise LayoutError(
            f"shape {tuple(shape)} with strides {strides and tuple(strides)} from {first:#x} on "
            "exceeds the address space"
        )
