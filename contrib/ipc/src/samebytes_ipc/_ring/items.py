# SPDX-License-Identifier: Apache-2.0
"""The items passed to send(): their mapping to one buffer of "dma", and their metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samebytes import Frame, FrameMeta, route
from samebytes.errors import RouteError, SamebytesError

from .._wire.describing import NumberedBuffers, describe_meta, read_meta
from .._wire.memory import is_dma, natives_of
from .._wire.values import Value, encoded

if TYPE_CHECKING:
    from samebytes_dma import DMABuffer

__all__ = [
    "InDMA",
    "buffer_of",
    "described",
    "leads_to_dma",
    "meta_of",
    "set_arrays_readonly",
    "set_readonly",
]


class InDMA:
    """Maps frames and tensors to "dma" if that copies nothing; routes are looked up once."""

    __slots__ = ("_can",)

    def __init__(self) -> None:
        self._can: dict[str, bool] = {}

    def __call__(self, item: Any) -> Any:
        """The frame or tensor as one buffer of "dma", if it can be had without a copy."""
        if not is_dma(item):
            node = item.context.node
            can = self._can.get(node)
            if can is None:
                can = self._can[node] = leads_to_dma(node)
            if not can:
                return None
            try:
                item = item.map("dma")
            except RouteError:
                return None
        return item if buffer_of(item) is not None else None


def buffer_of(item: Any) -> DMABuffer | None:
    """The one buffer in which all planes lie."""
    first, *others = [native.buffer for native in natives_of(item)]
    return first if all(b.storage is first.storage for b in others) else None


def meta_of(item: Any) -> FrameMeta | None:
    return item.meta if isinstance(item, Frame) else None


def set_readonly(item: Any) -> None:
    """Mark an item that readers have as read-only; the caller must end mappings for writing."""
    if isinstance(item, Frame):
        item.end_writing()
    else:
        item.readonly = True


def set_arrays_readonly(item: Any) -> None:
    """Mark an item of the CPU's memory as read-only, and let its arrays refuse to be written."""
    if type(item) is Frame:
        item.end_writing()
        for array in item.native:
            array.setflags(write=False)
    else:
        item.readonly = True
        item.native.setflags(write=False)


def described(meta: FrameMeta, copy: bool) -> tuple[bytes, list[DMABuffer]]:
    """Metadata and regions as JSON, and the memory of results that goes along."""
    buffers = NumberedBuffers()
    described = describe_meta(meta, buffers.describe, copy)
    # What readers would refuse is refused here.
    read_meta(Value(described), len(buffers.all), lambda plane, readonly: None)
    return encoded(described), buffers.all


def leads_to_dma(node: str) -> bool:
    """True if memory of a node can be had as "dma" without a copy."""
    try:
        route(node, "dma")
    except SamebytesError:
        return False
    return True
