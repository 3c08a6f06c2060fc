# SPDX-License-Identifier: Apache-2.0
"""The edges between USM and CPU memory: host and shared USM as arrays, whole pages as host USM."""

from __future__ import annotations

import mmap
from typing import Any, cast

from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, NotHostVisibleError
from samebytes.plugins import Refused, data_address

from ._context import LevelZeroContext
from ._errors import LevelZeroError
from ._pointer import USMPointer

__all__ = ["CpuToLevelZero", "LevelZeroToCpu"]


class LevelZeroToCpu(MemoryMapper):
    """level_zero -> cpu: an array over host or shared USM."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The elements in place."""
        native: USMPointer = item.native
        try:
            array = native.array()
        except NotHostVisibleError as error:
            raise Refused(str(error)) from error
        if access == "r":
            array.setflags(write=False)
        info = native.info
        return array, info if info.dtype.numpy is None else None, None


class CpuToLevelZero(MemoryMapper):
    """cpu -> level_zero: whole pages of the application, mapped into the device as host USM.

    An array over USM of the target needs no import: it is what it was.
    """

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """A pointer to the same bytes, through the driver's import of their pages."""
        target = cast(LevelZeroContext, self.target)
        info, address, owner = item.info, data_address(item.native), item.storage
        known = target.imports.known(owner)
        if known is not None:
            return USMPointer(target, known, address, info, owner, access == "r"), info, None
        if not target.maps_pages():
            raise Refused("the driver cannot import pages of the application's memory")
        first, end = _pages(item, address)
        native = target.native_context()
        try:
            imported, start = target.imports.pages(native, first, end - first, owner)
        except (LevelZeroError, LayoutError) as error:
            raise Refused(str(error)) from error
        storage = target.imports.mapping(imported)
        allocation = imported.allocation
        there = allocation.address + start + (address - first)
        return USMPointer(target, allocation, there, info, storage, access == "r"), info, storage


def _pages(item: Tensor, address: int) -> tuple[int, int]:
    """Return where the pages to import begin and end: all of the owner's, if it owns whole ones.

    The planes of a frame, which may share a page, lie in one import then.
    """
    page, (low, high) = mmap.PAGESIZE, item.info.extent
    start, end = address + low, address + high
    if start == end:
        raise Refused("an empty array has no pages to import")
    # The rest of the pages may be somebody else's memory, unless the array's owner owns it too.
    storage = item.storage
    first = -(-storage.address // page) * page
    last = (storage.address + storage.nbytes) // page * page
    if first <= start and end <= last:
        return first, last
    if start % page or end % page:
        raise Refused(
            f"{end - start} bytes at {start:#x} are not whole pages of {page}: use memory of "
            'samebytes.context("cpu").allocate()'
        )
    return start, end
