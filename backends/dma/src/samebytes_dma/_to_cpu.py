# SPDX-License-Identifier: Apache-2.0
"""The edges from "dma" to CPU memory: the driver maps the bytes, which stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Frame, Tensor, TensorInfo
from samebytes.plugins import Access, MemoryMapper, Refused, Storage, array_in

from ._mapping import map_buffers
from ._plane import DMAPlane

__all__ = ["DMAFrameToCpu", "DMAToCpu"]

Array = np.ndarray[Any, Any]


class DMAToCpu(MemoryMapper):
    """dma -> cpu: an array over a mapping of the whole buffer."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The array, and the owner of the mapping."""
        plane: DMAPlane = item.native
        storage, (start,) = map_buffers((plane.buffer,), access, item.storage)
        carried = plane.info if plane.info.dtype.numpy is None else None
        return array_in(storage, plane.info, start + plane.offset), carried, storage


class DMAFrameToCpu(MemoryMapper):
    """dma -> cpu for frames: each buffer is mapped once, however many planes lie in it."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of arrays, one over each plane, and the one owner of the mapping."""
        planes: tuple[DMAPlane, ...] = item.native
        for plane in planes:
            if plane.info.dtype.numpy is None:
                raise Refused(
                    f"{plane.info.dtype} is not a numpy type, so a frame of arrays cannot hold "
                    "it: map its tensors one by one"
                )
        buffers = {id(p.buffer.storage): p.buffer for p in planes}
        storage, found = map_buffers(tuple(buffers.values()), access, item.storage)
        starts = dict(zip(buffers, found, strict=True))
        arrays = tuple(
            array_in(storage, p.info, starts[id(p.buffer.storage)] + p.offset) for p in planes
        )
        return arrays, None, storage
