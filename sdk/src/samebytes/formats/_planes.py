# SPDX-License-Identifier: Apache-2.0
"""One plane: what it stores for each pixel, and where its elements lie."""

from __future__ import annotations

from dataclasses import field
from math import prod
from types import MappingProxyType
from typing import Final

from samebytes._frozen import frozen
from samebytes._numbers import MAX_BYTES, integer, positive
from samebytes.errors import LayoutError

__all__ = ["ITEM_SIZES", "PlaneFormat", "PlaneLayout", "checked_dtype", "lay_out"]

ITEM_SIZES: Final = MappingProxyType(
    {
        "uint8": 1,
        "int8": 1,
        "uint16": 2,
        "int16": 2,
        "float16": 2,
        "uint32": 4,
        "int32": 4,
        "float32": 4,
        "int64": 8,
        "float64": 8,
    }
)
"""Bytes of one element, for every dtype name that a plane can have."""


def checked_dtype(name: str) -> str:
    """The name; LayoutError when no plane can have such elements."""
    if not isinstance(name, str) or name not in ITEM_SIZES:
        raise LayoutError(f"no plane has elements of dtype {name!r}; use {', '.join(ITEM_SIZES)}")
    return name


@frozen()
class PlaneFormat:
    """The elements that one plane of an image stores.

    Attributes:
        channels: elements stored for each pixel position of this plane (2 for NV12's uv).
        x_shift, y_shift: log2 of the subsampling (1, 1 for the chroma of 4:2:0).
            Sizes round up: a 5x3 image has 3x2 chroma samples.
        dtype: name of the element type, in the machine's byte order. Pixels packed into one
            word (RGB565, Y410) are one element of "uint16" or "uint32".
        x_multiple: the number of columns that are stored as a group. Packed 4:2:2 shares chroma
            between two pixels, so its rows hold an even number of columns: (h, w, 2) for an
            even width, (h, w + 1, 2) for an odd one, whose last column is padding.

    Raises LayoutError for an impossible plane.
    """

    channels: int
    x_shift: int = 0
    y_shift: int = 0
    dtype: str = "uint8"
    x_multiple: int = 1

    def __post_init__(self) -> None:
        positive(self.channels, "channels of a plane")
        positive(self.x_multiple, "x_multiple of a plane")
        if self.x_shift < 0 or self.y_shift < 0:
            raise LayoutError(
                f"subsampling shifts must not be negative: {(self.x_shift, self.y_shift)}"
            )
        checked_dtype(self.dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEM_SIZES[self.dtype]

    def shape(self, width: int, height: int) -> tuple[int, ...]:
        """Elements of this plane in an image of width x height: (h, w), or (h, w, channels).

        Args:
            width: pixels in a row.
            height: rows.
        """
        rows = _divided_up(height, 1 << self.y_shift)
        columns = _divided_up(width, 1 << self.x_shift)
        columns = _divided_up(columns, self.x_multiple) * self.x_multiple
        return (rows, columns) if self.channels == 1 else (rows, columns, self.channels)


def _divided_up(value: int, divisor: int) -> int:
    return -(-value // divisor)


@frozen()
class PlaneLayout:
    """The layout of one plane. Elements within a row are always dense.

    Attributes:
        name: which plane: "y", "uv", "rgb" ...
        dtype: name of the element type.
        shape: in elements: (rows, columns) or (rows, columns, channels).
        strides: in bytes, one for each dimension of shape.
        offset: byte of element [0, 0], from the start of the buffer in which the plane lies.
        pitch: bytes from one row to the next; negative when the image is stored bottom up.
        row_nbytes: bytes of one row that hold elements.
        nbytes: bytes of all elements, without padding.
        span: bytes from the lowest byte used to one past the highest: the padding between rows
            counts, the padding after the last row does not.
        start: the lowest byte used, from the start of the buffer. Equal to offset unless the
            pitch is negative.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    pitch: int = field(init=False, repr=False, compare=False)
    row_nbytes: int = field(init=False, repr=False, compare=False)
    nbytes: int = field(init=False, repr=False, compare=False)
    span: int = field(init=False, repr=False, compare=False)
    start: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Worked out once, since layouts are cached and read for every frame.
        pitch = self.strides[0]
        row_nbytes = prod(self.shape[1:]) * ITEM_SIZES[self.dtype]
        reach = pitch * (self.shape[0] - 1)
        derive = object.__setattr__
        derive(self, "pitch", pitch)
        derive(self, "row_nbytes", row_nbytes)
        derive(self, "nbytes", row_nbytes * self.shape[0])
        derive(self, "span", abs(reach) + row_nbytes)
        derive(self, "start", self.offset + min(reach, 0))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEM_SIZES[self.dtype]

    @property
    def contiguous(self) -> bool:
        """True when the rows follow one another without a gap, in rising order."""
        return self.shape[0] == 1 or self.pitch == self.row_nbytes


def lay_out(
    plane: PlaneFormat,
    name: str,
    size: tuple[int, int],
    pitch: int | None,
    offset: int | None,
    *,
    allow_negative: bool,
) -> PlaneLayout:
    """Place one plane of an image of size (width, height).

    A pitch of None means dense rows. An offset of None lets the lowest byte used be byte 0.
    Raises LayoutError; `ImageFormat.plane_layouts` says when.
    """
    shape = plane.shape(*size)
    itemsize = plane.itemsize
    row_nbytes = prod(shape[1:]) * itemsize
    if pitch is None:
        pitch = row_nbytes
    else:
        pitch = _whole(pitch, itemsize, f"the pitch of plane {name!r}")
        if pitch < 0 and not allow_negative:
            raise LayoutError(
                f"the pitch of plane {name!r} is negative ({pitch}): an image stored bottom up "
                "is not accepted here; flip it first"
            )
        if abs(pitch) < row_nbytes:
            raise LayoutError(
                f"the pitch of plane {name!r} is {pitch} bytes, but a row of it has {row_nbytes}"
            )
    if abs(pitch) * shape[0] > MAX_BYTES:
        raise LayoutError(f"plane {name!r} of shape {shape} is larger than the address space")
    lowest = min(pitch * (shape[0] - 1), 0)
    if offset is None:
        offset = -lowest
    else:
        offset = _whole(offset, itemsize, f"the offset of plane {name!r}")
        if offset + lowest < 0:
            raise LayoutError(
                f"plane {name!r} with offset {offset} and pitch {pitch} would begin "
                f"{-offset - lowest} bytes before its buffer"
            )
        if offset > MAX_BYTES:
            raise LayoutError(f"offset {offset} of plane {name!r} is beyond the address space")
    inner = (itemsize,) if plane.channels == 1 else (plane.channels * itemsize, itemsize)
    return PlaneLayout(name, plane.dtype, shape, (pitch, *inner), offset)


def _whole(value: int, itemsize: int, what: str) -> int:
    """The value as an int; LayoutError when it is not an integer or would misalign the elements."""
    number = integer(value, what)
    if number % itemsize:
        raise LayoutError(f"{what} is {number}, not a multiple of its {itemsize}-byte elements")
    return number
