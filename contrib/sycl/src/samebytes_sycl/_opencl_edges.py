# SPDX-License-Identifier: Apache-2.0
"""The edges between SYCL and OpenCL, where SYCL runs on OpenCL: pointers of one cl_context."""

from __future__ import annotations

from typing import Any, cast

import samebytes_gpu_opencl
from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import DeviceMismatchError, LayoutError
from samebytes.plugins import Refused

from ._context import SYCLContext, SYCLTensor, usm_of
from ._native_handles import kind_of_pointer
from ._queues import check_same, wait_for, waits_for
from ._usm_array import USMArray

__all__ = ["OpenCLToSYCL", "SYCLToOpenCL"]


class SYCLToOpenCL(MemoryMapper):
    """sycl -> opencl: a USMAllocation over the pointer."""

    __slots__ = ()

    def connect(
        self, item: SYCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The same pointer; work on both queues is done."""
        target = cast(samebytes_gpu_opencl.OpenCLContext, self.target)
        check_same(self.source, target, "cl_context")
        array = usm_of(item)
        wait_for(item, target.sync)
        try:
            over = samebytes_gpu_opencl.usm_tensor(
                array.address, array.info.shape, array.info.dtype,
                strides=array.info.strides, context=target,
            )  # fmt: skip
        except (LayoutError, DeviceMismatchError) as error:
            raise Refused(str(error)) from error
        # The owner of the memory does not know the work that is enqueued there.
        storage = Storage(
            target.queue.finish, nbytes=array.info.nbytes, keep=item.storage,
            wait=target.queue.finish, at_exit=True,
        )  # fmt: skip
        native = over.native
        native.pin = storage
        return native, array.info, storage


class OpenCLToSYCL(MemoryMapper):
    """opencl -> sycl: USM of the same cl_context."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The same pointer; work on both queues is done."""
        source = cast(samebytes_gpu_opencl.OpenCLContext, self.source)
        target = cast(SYCLContext, self.target)
        check_same(source, target, "cl_context")
        native = item.native
        if not isinstance(native, samebytes_gpu_opencl.USMAllocation):
            raise Refused(
                'it is not USM, which is all that SYCL can use: allocate kind="usm_shared"'
            )
        kind = kind_of_pointer(target.queue, native.pointer)
        if kind is None:
            raise Refused(f"SYCL does not know the USM pointer {native.pointer:#x}")
        wait_for(item, source.sync, waits_for(target.queue))
        info = item.info
        low, high = info.extent
        storage = Storage(
            waits_for(target.queue),
            address=0 if kind == "device" else native.pointer + low,
            nbytes=high - low,
            keep=item.storage,
            wait=waits_for(target.queue),
            at_exit=True,
        )
        return USMArray(target, native.pointer, info, kind, storage, access == "r"), info, storage
