# SPDX-License-Identifier: Apache-2.0
"""The edges between USM and DMA-BUFs: the driver's export and import, the same bytes either way."""

from __future__ import annotations

from typing import Any, cast

from samebytes import Access, Context, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import is_linear_modifier
from samebytes.plugins import Refused, joint_owner

from ._context import LevelZeroContext
from ._errors import LevelZeroError
from ._pointer import USMPointer, check_fits

__all__ = ["DmaToLevelZero", "LevelZeroFrameToDma", "LevelZeroToDma"]


class LevelZeroToDma(MemoryMapper):
    """level_zero -> dma: a descriptor of the allocation, and where in it the array lies."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """An array in a buffer around a duplicate of the exported descriptor."""
        native: USMPointer = item.native
        buffer = _exported(self.target, native)
        return _plane(buffer, native), None, buffer.storage


class LevelZeroFrameToDma(MemoryMapper):
    """level_zero -> dma for frames: one descriptor for all planes of an allocation."""

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of arrays in buffers."""
        natives: tuple[USMPointer, ...] = item.native
        buffers: dict[int, Any] = {}
        for native in natives:
            if id(native.allocation) not in buffers:
                buffers[id(native.allocation)] = _exported(self.target, native)
        planes = tuple(_plane(buffers[id(n.allocation)], n) for n in natives)
        return planes, None, joint_owner([plane.buffer.storage for plane in planes])


def _exported(target: Context, native: USMPointer) -> Any:
    """A buffer of the dma plugin, whose class must not be imported here: its context makes it."""
    make_buffer: Any = target
    if native.allocation.unexportable:
        raise Refused(native.allocation.unexportable)
    try:
        return make_buffer.import_fd(native.allocation.exported().dup())
    except (LevelZeroError, LayoutError) as error:
        raise Refused(str(error)) from error


def _plane(buffer: Any, native: USMPointer) -> Any:
    try:
        return buffer.plane(native.info, offset=native.offset)
    except LayoutError as error:
        raise Refused(str(error)) from error


class DmaToLevelZero(MemoryMapper):
    """dma -> level_zero: the whole buffer as host USM, once for each, and a pointer into it."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A pointer to the same bytes, through the driver's import of the buffer."""
        target = cast(LevelZeroContext, self.target)
        modifier = item.handle("drm_modifier")
        if not is_linear_modifier(modifier):
            raise Refused(f"memory of modifier {modifier:#x} is not linear")
        info, offset = item.info, item.handle("offset")
        try:
            imported = target.imports.buffer(
                target.native_context(), item.storage, item.handle("dma_fd")
            )
            allocation = imported.allocation
            check_fits(info, offset, allocation.nbytes, "the buffer")
        except (LevelZeroError, LayoutError) as error:
            raise Refused(str(error)) from error
        storage, address = target.imports.mapping(imported), allocation.address + offset
        pointer = USMPointer(target, allocation, address, info, storage, access == "r")
        return pointer, info, storage
