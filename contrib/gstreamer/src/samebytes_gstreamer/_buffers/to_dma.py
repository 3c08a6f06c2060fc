# SPDX-License-Identifier: Apache-2.0
"""gstreamer -> dma: DMA-BUFs, and other memory behind descriptors, by our own descriptor."""

from __future__ import annotations

from typing import Any

from samebytes import Access, Fd, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import SamebytesError
from samebytes.plugins import Refused, joint_owner

from .._abi.gi import pointer_of
from .._abi.libraries import allocators
from .._memory.memory import extent_of, is_behind_descriptor, kind_of
from .._memory.plane import GStreamerPlane
from .tensor import memory_in

__all__ = ["FrameToDMA", "MemoryToDMA"]


class MemoryToDMA(MemoryMapper):
    """One memory, or one plane in it."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The DMAPlane."""
        target: Any = self.target
        native = item.native
        buffer = target.import_fd(_descriptor(memory_in(native)), keep=item.storage)
        return _plane(buffer, native, item.info), None, buffer.storage


class FrameToDMA(MemoryMapper):
    """All planes of a buffer; each memory is imported once."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[tuple[Any, ...], None, Storage | None]:
        """A tuple of DMAPlanes."""
        target: Any = self.target
        buffers: dict[int, Any] = {}
        planes = []
        for plane in item.planes:
            pointer = pointer_of(plane.native.memory)
            if pointer not in buffers:
                fd = _descriptor(plane.native.memory)
                buffers[pointer] = target.import_fd(fd, keep=item.storage)
            planes.append(_plane(buffers[pointer], plane.native, plane.info))
        return tuple(planes), None, joint_owner([plane.buffer.storage for plane in planes])


def _descriptor(memory: Any) -> Fd:
    pointer = pointer_of(memory)
    if not is_behind_descriptor(pointer):
        raise Refused(f"{kind_of(pointer)} has no file descriptor")
    return Fd.borrow(allocators.gst_fd_memory_get_fd(pointer))


def _plane(buffer: Any, native: Any, info: TensorInfo) -> Any:
    start = extent_of(pointer_of(memory_in(native))).offset
    try:
        if isinstance(native, GStreamerPlane):
            return buffer.plane(info, offset=start + native.offset, modifier=native.modifier)
        return buffer.plane(info, offset=start)
    except SamebytesError as error:
        raise Refused(str(error)) from error
