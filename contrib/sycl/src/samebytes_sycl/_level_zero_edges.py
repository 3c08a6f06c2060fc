# SPDX-License-Identifier: Apache-2.0
"""The edges between SYCL and Level Zero, where SYCL runs on it: pointers of one ze_context.

SYCL uses GPUs of Level Zero, and no NPUs.
"""

from __future__ import annotations

from typing import Any, cast

import samebytes_npu_level_zero
from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.plugins import Refused

from ._context import SYCLContext, SYCLTensor, usm_of
from ._native_handles import kind_of_pointer
from ._queues import check_same, wait_for, waits_for
from ._usm_array import USMArray

__all__ = ["LevelZeroToSYCL", "SYCLToLevelZero"]


class SYCLToLevelZero(MemoryMapper):
    """sycl -> level_zero: a USMPointer over the memory."""

    __slots__ = ()

    def connect(
        self, item: SYCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The same pointer; the queue's work is done."""
        target = cast(samebytes_npu_level_zero.LevelZeroContext, self.target)
        check_same(self.source, target, "ze_context")
        array = usm_of(item)
        wait_for(item)
        storage = Storage(nbytes=array.info.nbytes, keep=item.storage)
        try:
            over = target.wrap_pointer(
                array.address, array.info.shape, array.info.dtype,
                strides=array.info.strides, keep=storage,
            )  # fmt: skip
        except LayoutError as error:
            raise Refused(str(error)) from error
        native = over.native
        return native.as_readonly() if access == "r" else native, array.info, native.pin


class LevelZeroToSYCL(MemoryMapper):
    """level_zero -> sycl: USM of the same ze_context."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The same pointer; the queue's work is done."""
        target = cast(SYCLContext, self.target)
        check_same(self.source, target, "ze_context")
        pointer = item.handle("usm_ptr")
        kind = kind_of_pointer(target.queue, pointer)
        if kind is None:
            raise Refused(f"SYCL does not know the USM pointer {pointer:#x}")
        wait_for(item, waits_for(target.queue))
        info = item.info
        low, high = info.extent
        storage = Storage(
            waits_for(target.queue),
            address=0 if kind == "device" else pointer + low,
            nbytes=high - low,
            keep=item.storage,
            wait=waits_for(target.queue),
            at_exit=True,
        )
        return USMArray(target, pointer, info, kind, storage, access == "r"), info, storage
