# SPDX-License-Identifier: Apache-2.0
"""The edges from "dma" to CPU memory: the driver maps the bytes, which stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebytes import Access, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import Refused, array_in

from ._buffer import DMAPlane
from ._mapping import lasting_mapping, map_buffers

__all__ = ["DMAFrameToCpu", "DMAToCpu"]

Array = np.ndarray[Any, Any]


class DMAToCpu(MemoryMapper):
    """dma -> cpu: an array over a mapping of the whole buffer."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The array, and the owner of the mapping, if one was made."""
        plane: DMAPlane = item.native
        carried = plane.info if plane.info.dtype.numpy is None else None
        use = lasting_mapping(plane.buffer, access)
        if use is not None:
            return array_in(use, plane.info, plane.offset), carried, None
        storage, (start,) = map_buffers((plane.buffer,), access, item.storage)
        return array_in(storage, plane.info, start + plane.offset), carried, storage


class DMAFrameToCpu(MemoryMapper):
    """dma -> cpu for frames: each buffer is mapped once, however many planes lie in it."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of arrays, one over each plane, and the owner of the mapping, if one was made."""
        planes: tuple[DMAPlane, ...] = item.native
        first, others = planes[0].buffer, False
        for plane in planes:
            others = others or plane.buffer is not first
            if plane.info.dtype.numpy is None:
                raise Refused(
                    f"{plane.info.dtype} is not a numpy type, so a frame of arrays cannot hold "
                    "it: map its tensors one by one"
                )
        if not others and (use := lasting_mapping(first, access)) is not None:
            return tuple([array_in(use, p.info, p.offset) for p in planes]), None, None
        if not others:
            storage, _ = map_buffers((first,), access, item.storage)
            return tuple([array_in(storage, p.info, p.offset) for p in planes]), None, storage
        buffers = {id(p.buffer.storage): p.buffer for p in planes}
        storage, found = map_buffers(tuple(buffers.values()), access, item.storage)
        starts = dict(zip(buffers, found, strict=True))
        arrays = [
            array_in(storage, p.info, starts[id(p.buffer.storage)] + p.offset) for p in planes
        ]
        return tuple(arrays), None, storage
