# SPDX-License-Identifier: Apache-2.0
"""Tensors in unified shared memory of Level Zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samebytes import Fd, Tensor, TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.formats import DRM_FORMAT_MOD_LINEAR

from ._imports import require_windows
from ._pointer import USMPointer
from ._usm import query_nt_handle

if TYPE_CHECKING:
    from typing import Self

__all__ = ["LevelZeroTensor"]


class LevelZeroTensor(Tensor):
    """An array in host, shared or device USM. `native` is a USMPointer.

    Handles: "usm_ptr", "ze_usm_type", "offset" (from the start of the allocation); "data" of host
    and shared memory; "dma_fd" and "drm_modifier" of memory that the driver exports. The descriptor
    is exported once for each allocation, and stays the allocation's: duplicate it.
    """

    __slots__ = ()

    native: USMPointer

    @classmethod
    def wrap(cls, native: Any) -> Self:
        """A tensor over a USMPointer. For a plain address see `LevelZeroContext.wrap_pointer`."""
        if not isinstance(native, USMPointer):
            raise UnsupportedObjectError(
                f"a {type(native).__name__} is not a USMPointer: LevelZeroContext.wrap_pointer() "
                "makes one of an address"
            )
        return cls.borrowed(
            native, native.context, keep=native.pin, readonly=native.readonly, info=native.info
        )

    def host_array(self) -> np.ndarray[Any, Any]:
        """An array over host or shared USM, which keeps the memory alive.

        Raises:
            NotHostVisibleError: this is device USM.
        """
        array = self.native.array()
        if self.readonly:
            array.setflags(write=False)
        return array

    def export_fd(self) -> Fd:
        """The allocation as a DMA-BUF descriptor, which is the caller's to close.

        It covers the whole allocation: this tensor's first element is at `handle("offset")`. The
        memory lives as long as the descriptor, or any duplicate of it in any process.

        Raises:
            NotExportableError: the driver exports none; allocate with `exportable=True`.
        """
        return self.native.allocation.exported().dup()

    def export_nt_handle(self) -> int:
        """The allocation as an NT handle, which is the caller's to close. On Windows only.

        Raises:
            UnsupportedObjectError: this is not Windows.
            NotExportableError: the driver exports none; allocate with `exportable=True`.
        """
        allocation = self.native.allocation
        require_windows()
        return query_nt_handle(allocation.context, allocation.address)

    def _describe(self) -> TensorInfo:
        return self.native.info

    def _handle(self, key: str) -> int | None:
        native = self.native
        if key == "usm_ptr":
            return native.address
        if key == "ze_usm_type":
            return int(native.allocation.kind)
        if key == "offset":
            return native.offset
        if key == "dma_fd":
            return native.allocation.exported().fileno()
        if key == "drm_modifier":
            native.allocation.exported()
            return DRM_FORMAT_MOD_LINEAR
        return super()._handle(key)
