# SPDX-License-Identifier: Apache-2.0
"""Device memory that tests index like an array: each access reads or writes the device."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from samebytes import TensorInfo

from .._core.memory.info import dense_strides

__all__ = ["DeviceView"]

_WRITEABLE = SimpleNamespace(writeable=True)


class Reader(Protocol):
    """The operations of a memory type that a DeviceView needs."""

    def layout(self, native: Any) -> TensorInfo:
        """dtype and shape."""

    def read(self, native: Any) -> np.ndarray[Any, Any]:
        """A copy of the elements."""

    def write(self, native: Any, values: np.ndarray[Any, Any]) -> None:
        """Set all elements."""


class DeviceView:
    """The elements of a native object, or a part of them, which it keeps alive.

    It holds no elements: numpy gets those that are there when it asks.

    Attributes:
        native: the object that holds the elements.
        dtype, shape, strides, ndim, size, flags: as for an array. A part, and memory without
            strides, has the strides of a dense array.
    """

    def __init__(self, memory: Reader, native: Any, index: tuple[Any, ...] = ()) -> None:
        self.native = native
        self._memory = memory
        self._index = index
        info = memory.layout(native)
        self.dtype, self.shape = info.dtype.carrier, info.shape
        if index:
            self.shape = self._part(np.broadcast_to(np.zeros((), self.dtype), info.shape)).shape
        self.ndim, self.size = len(self.shape), prod(self.shape)
        self.strides = info.strides
        if index or info.strides is None:
            self.strides = dense_strides(self.shape, self.dtype.itemsize)
        self.flags = _WRITEABLE

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self._part(self._memory.read(self.native)), dtype)

    def __getitem__(self, key: Any) -> DeviceView:
        return DeviceView(self._memory, self.native, (*self._index, key))

    def __setitem__(self, key: Any, values: Any) -> None:
        whole = np.array(self._memory.read(self.native))
        self._part(whole)[key] = values
        self._memory.write(self.native, whole)

    def __len__(self) -> int:
        return int(self.shape[0])

    def copy(self) -> np.ndarray[Any, Any]:
        """The elements as they are now."""
        return np.array(self)

    def any(self) -> bool:
        """True if an element is not zero."""
        return bool(np.any(np.asarray(self)))

    def _part(self, whole: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        for step in self._index:
            whole = whole[step]
        return whole
