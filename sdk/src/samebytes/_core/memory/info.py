# SPDX-License-Identifier: Apache-2.0
"""TensorInfo: dtype, shape and byte strides of one array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._dtypes import DType, dtype
from ..._numbers import MAX_BYTES, check_shape, integers
from ...errors import LayoutError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["TensorInfo", "dense_strides"]


def dense_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The row-major strides, in bytes, of an array without gaps.

    Args:
        shape: elements along each axis.
        itemsize: bytes of an element.
    """
    strides = [0] * len(shape)
    step = itemsize
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


class TensorInfo:
    """The layout of one array. Immutable and hashable.

    Args:
        dtype: a name ("uint8", "bfloat16"), a numpy dtype, or a DType.
        shape: elements along each axis; () is a scalar, a 0 makes it empty.
        strides: BYTES from one element to the next along each axis; left out, the array is
            row-major without gaps. `opaque=True` instead says that the memory has no linear
            layout (a tiled surface, an image), and packed types (below 8 bits) have no strides:
            both give None.

    Raises:
        LayoutError: what is not a sequence of integers, a negative extent, strides that do not
            fit the shape, more than 64 axes, or more bytes than can be addressed.
        UnknownNameError: no such dtype.
    """

    __slots__ = ("_extent", "_is_contiguous", "_key", "_overlaps", "dtype", "shape", "strides")

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    _key: tuple[DType, tuple[int, ...], tuple[int, ...] | None]
    # Worked out when they are first asked for: mappings ask at each call.
    _extent: tuple[int, int]
    _is_contiguous: bool
    _overlaps: bool

    def __init__(
        self,
        dtype_: Any,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        opaque: bool = False,
    ) -> None:
        element = dtype(dtype_)
        extents = integers(shape, "shape")
        check_shape(extents, element.bits)
        steps: tuple[int, ...] | None
        if opaque or element.itemsize is None:
            if strides is not None:
                raise LayoutError(f"{element} memory without a linear layout takes no strides")
            steps = None
        elif strides is None:
            steps = dense_strides(extents, element.itemsize)
        else:
            steps = integers(strides, "strides")
            if len(steps) != len(extents):
                raise LayoutError(
                    f"strides {steps} for shape {extents}: one is needed for each axis"
                )
            # Strides along axes of one element are never walked: numpy has odd ones there.
            reach = sum([abs(s) * (n - 1) for n, s in zip(extents, steps, strict=True) if n > 1])
            if reach > MAX_BYTES:
                raise LayoutError(f"shape {extents} with strides {steps} exceeds the address space")
        set_ = object.__setattr__
        set_(self, "dtype", element)
        set_(self, "shape", extents)
        set_(self, "strides", steps)
        set_(self, "_key", (element, extents, steps))

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Self:
        """The layout of a numpy array. The planes of a stream have few: they are checked once.

        Args:
            array: a numpy array.
        """
        found: Self = _layout_of(
            cls,  # type: ignore[arg-type]  # a class is hashable
            array.dtype, array.shape, array.strides,
        )  # fmt: skip
        return found

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements alone, without gaps between rows."""
        return (self.size * self.dtype.bits + 7) // 8

    @property
    def extent(self) -> tuple[int, int]:
        """(low, high): the bytes in use, relative to the first element; low is <= 0.

        Raises:
            LayoutError: the memory has no linear layout.
        """
        try:
            return self._extent
        except AttributeError:
            object.__setattr__(self, "_extent", self._find_extent())
            return self._extent

    def _find_extent(self) -> tuple[int, int]:
        if self.strides is None or self.dtype.itemsize is None:
            if self.dtype.packed:
                return 0, self.nbytes
            raise LayoutError("memory without a linear layout has no extent in bytes")
        if self.size == 0:
            return 0, 0
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = sum(r for r in reach if r < 0)
        high = sum(r for r in reach if r > 0)
        return low, high + self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Row-major without gaps; strides of axes of extent 1 do not matter."""
        try:
            return self._is_contiguous
        except AttributeError:
            object.__setattr__(self, "_is_contiguous", self._find_contiguous())
            return self._is_contiguous

    def _find_contiguous(self) -> bool:
        if self.strides is None or self.dtype.itemsize is None:
            return self.dtype.packed
        if self.size == 0:
            return True
        dense = dense_strides(self.shape, self.dtype.itemsize)
        return all(
            n == 1 or s == d for n, s, d in zip(self.shape, self.strides, dense, strict=True)
        )

    @property
    def overlaps(self) -> bool:
        """True if two elements may share a byte (a broadcast axis, a sliding window)."""
        try:
            return self._overlaps
        except AttributeError:
            object.__setattr__(self, "_overlaps", self._find_overlaps())
            return self._overlaps

    def _find_overlaps(self) -> bool:
        if self.strides is None or self.dtype.itemsize is None or self.size == 0:
            return False
        axes = sorted((abs(s), n) for n, s in zip(self.shape, self.strides, strict=True) if n > 1)
        reach = self.dtype.itemsize
        for stride, extent in axes:
            if stride < reach:
                return True
            reach = stride * (extent - 1) + reach
        return False

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"TensorInfo is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"TensorInfo is immutable: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, TensorInfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.strides is None:
            return _opaque, (str(self.dtype), self.shape)
        return TensorInfo, (str(self.dtype), self.shape, self.strides)

    def __repr__(self) -> str:
        layout = "" if self.is_contiguous else f", strides={self.strides}"
        return f"TensorInfo({str(self.dtype)!r}, {self.shape}{layout})"


@lru_cache(maxsize=512)
def _layout_of(
    make: Any, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> Any:
    return make(dtype, shape, strides)


def _opaque(name: str, shape: tuple[int, ...]) -> TensorInfo:
    return TensorInfo(name, shape, opaque=True)
