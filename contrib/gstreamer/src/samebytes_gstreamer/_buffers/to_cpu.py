# SPDX-License-Identifier: Apache-2.0
"""gstreamer -> cpu: numpy arrays on mapped memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Access, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import Refused, array_in

from .._abi.gi import pointer_of
from .._memory.memory import map_memory
from .._memory.plane import GStreamerPlane
from .tensor import memory_in

__all__ = ["FrameToCpu", "MemoryToCpu"]

_Array = np.ndarray[Any, np.dtype[Any]]


class MemoryToCpu(MemoryMapper):
    """One memory, or one plane in it. The bytes stay where they are."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[_Array, TensorInfo | None, Storage | None]:
        """The array, and the storage that unmaps."""
        native = item.native
        storage = map_memory(memory_in(native), access)
        offset = native.offset if isinstance(native, GStreamerPlane) else 0
        return array_in(storage, item.info, offset), _unusual(item.info), storage


class FrameToCpu(MemoryMapper):
    """All planes of a buffer; each memory is mapped once, and none are merged."""

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[tuple[_Array, ...], None, Storage | None]:
        """The arrays, and the storage that unmaps."""
        planes = [plane.native for plane in item.planes]
        if any(_unusual(plane.info) for plane in planes):
            raise Refused("numpy has no type for the elements of its tensors: map each plane")
        memories = {pointer_of(plane.memory): plane.memory for plane in planes}
        mapped = {pointer: map_memory(memory, access) for pointer, memory in memories.items()}
        if len(mapped) == 1:
            (whole,) = mapped.values()
        else:
            # close() ends one storage: it must know of arrays on any of the memories.
            whole = Storage(holds=tuple(mapped.values()))
            mapped = {pointer: _part_of(whole, part) for pointer, part in mapped.items()}
        arrays = tuple(
            array_in(mapped[pointer_of(plane.memory)], plane.info, plane.offset) for plane in planes
        )
        return arrays, None, whole


def _part_of(whole: Storage, part: Storage) -> Storage:
    """One mapping for arrays to hold, which holds all mappings."""
    return Storage(address=part.address, nbytes=part.nbytes, keep=whole, readonly=part.readonly)


def _unusual(info: TensorInfo) -> TensorInfo | None:
    """The info, if the array alone does not show its element type (bfloat16); else None."""
    return info if info.dtype.numpy is None else None
