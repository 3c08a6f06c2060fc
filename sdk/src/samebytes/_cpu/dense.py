# SPDX-License-Identifier: Apache-2.0
"""The copy of last resort: any layout into a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.edges.edge import Access
from .._core.edges.mapper import MemoryMapper
from .._core.memory.frame import Frame
from .._core.memory.info import TensorInfo
from .._core.memory.tensor import Tensor
from .._core.owner.storage import Storage
from .context import CPU
from .pages import allocate_pages, places_of_planes

__all__ = ["DenseCopy", "DenseFrameCopy"]

_DENSE = "it is dense already"


class DenseCopy(MemoryMapper):
    """cpu -> cpu: new dense memory with the same elements."""

    __slots__ = ()

    def accepts(self, item: Tensor) -> str | None:
        """Copying what is dense already would be of no use."""
        return _DENSE if item.info.is_contiguous else None

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A new array and its storage."""
        info = item.info
        copy = CPU.allocate(info.shape, info.dtype, zeroed=False)
        np.copyto(copy.native, item.native)
        copy.native.flags.writeable = False
        lazy = copy.info if info.dtype.numpy is None else None
        return copy.native, lazy, copy.storage


class DenseFrameCopy(MemoryMapper):
    """cpu -> cpu for frames: all planes copied, one after another, into one piece of memory."""

    __slots__ = ()

    def accepts(self, item: Frame) -> str | None:
        """As for tensors, if every plane is dense."""
        return _DENSE if all(plane.info.is_contiguous for plane in item.planes) else None

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of new arrays, and their storage."""
        offsets, end = places_of_planes(plane.info.nbytes for plane in item.planes)
        storage = allocate_pages(end, zeroed=False)
        pages = np.asarray(storage)
        arrays = []
        for plane, offset in zip(item.planes, offsets, strict=True):
            array: Any = np.ndarray(plane.shape, plane.native.dtype, pages, offset)
            np.copyto(array, plane.native)
            array.flags.writeable = False
            arrays.append(array)
        return tuple(arrays), None, storage
