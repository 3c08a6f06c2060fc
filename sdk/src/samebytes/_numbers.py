# SPDX-License-Identifier: Apache-2.0
"""Checks of numbers that callers pass (extents, strides, widths, descriptors); counts in words.

`operator.index` alone accepts True, and a width of True is a slip of the caller's. numpy's integers
are accepted and become ints, so that two layouts of equal numbers are equal and print alike.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence, Set
from operator import index
from typing import Any

from samebytes.errors import LayoutError

__all__ = ["MAX_AXES", "MAX_BYTES", "check_shape", "counted", "integer", "integers", "positive"]

# NPY_MAXDIMS, numpy/ndarraytypes.h of numpy 2.
MAX_AXES = 64

MAX_BYTES = min(sys.maxsize, 1 << 56)
"""More than any process can address: user space is half of the 57 bits that today's widest page
tables translate (x86-64 with five levels; AArch64 has at most 52)."""

# They can be iterated, but are not numbers in an order.
_UNORDERED = (str, bytes, bytearray, Mapping, Set)


def integer(value: Any, what: str) -> int:
    """The value as an int.

    Raises:
        LayoutError: it is not an integer; True and False are not.
    """
    if type(value) is int:
        return value
    if not isinstance(value, bool):
        try:
            return index(value)
        except TypeError:
            pass
    raise LayoutError(f"{what} must be an integer, not {value!r}")


def positive(value: Any, what: str) -> int:
    """The value as an int above zero, and not above what can be addressed.

    Raises:
        LayoutError: it is not.
    """
    try:
        number = integer(value, what)
    except LayoutError:
        number = 0
    if number <= 0:
        raise LayoutError(f"{what} must be a positive integer, not {value!r}")
    if number > MAX_BYTES:
        raise LayoutError(f"{what} {number} is larger than the address space")
    return number


def integers(values: Sequence[int], what: str) -> tuple[int, ...]:
    """The values as a tuple of ints.

    Raises:
        LayoutError: they are not a sequence of integers.
    """
    if type(values) is tuple and all(type(v) is int for v in values):
        return values
    if not isinstance(values, _UNORDERED):
        try:
            return tuple([integer(v, what) for v in values])
        except (TypeError, LayoutError):
            pass
    raise LayoutError(f"{what} must be a sequence of integers, got {values!r}")


def check_shape(shape: Sequence[int], bits: int) -> None:
    """Refuse a shape that no array can have.

    Args:
        shape: elements along each axis.
        bits: width of one element.

    Raises:
        LayoutError: too many axes, a negative extent, or more bytes than can be addressed. In an
            empty array the extents other than 0 are counted, as numpy does.
    """
    if len(shape) > MAX_AXES:
        raise LayoutError(f"{len(shape)} axes: numpy arrays have at most {MAX_AXES}")
    if min(shape, default=0) < 0:
        raise LayoutError(f"shape {tuple(shape)} has a negative extent")
    if math.prod([n or 1 for n in shape]) * bits > MAX_BYTES * 8:
        raise LayoutError(f"shape {tuple(shape)} is larger than the address space")


def counted(number: int, noun: str) -> str:
    """A number of things: "1 frame", "2 frames".

    Args:
        number: of them.
        noun: what one of them is called; its plural ends in s.
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
