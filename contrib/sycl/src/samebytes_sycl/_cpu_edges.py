# SPDX-License-Identifier: Apache-2.0
"""The edges between SYCL's USM and CPU memory."""

from __future__ import annotations

from typing import Any, cast

import dpctl.memory
import numpy as np

import samebytes
from samebytes import Access, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError, NotHostVisibleError
from samebytes.plugins import Refused, array_in, data_address, ordering_queue

from ._context import SYCLContext, SYCLTensor, usm_of
from ._native_handles import kind_of_pointer
from ._queues import waits_for
from ._usm_array import USMArray

__all__ = ["CpuCopyToUSM", "CpuToUSM", "DeviceUSMToCpu", "USMToCpu"]


class USMToCpu(MemoryMapper):
    """sycl -> cpu: an array over host or shared USM, once its queue is done."""

    __slots__ = ()

    def connect(
        self, item: SYCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The elements in place."""
        native = usm_of(item)
        try:
            array = native.array()
        except NotHostVisibleError as error:
            raise Refused(str(error)) from error
        if ordering_queue() is None:
            item.wait()
        if access == "r":
            array.setflags(write=False)
        info = native.info
        return array, info if info.dtype.numpy is None else None, None


class DeviceUSMToCpu(MemoryMapper):
    """sycl -> cpu: device USM, copied by its queue into memory of the CPU."""

    __slots__ = ()

    def accepts(self, item: SYCLTensor) -> str | None:
        """None for device USM whose strides are not negative."""
        native = usm_of(item)
        if native.host_visible:
            return f"{native.kind} USM is read in place, not copied"
        if native.info.extent[0]:
            return f"strides {native.info.strides} are negative"
        return None

    def connect(
        self, item: SYCLTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """New pages with the tensor's bytes, gaps included."""
        native = usm_of(item)
        info, high = native.info, native.info.extent[1]
        item.wait()
        pages = samebytes.context("cpu").allocate((high,), zeroed=False)
        if high:
            # Byte by byte: dpctl's copies know no layout.
            memory = dpctl.memory.as_usm_memory(_Bytes(native, high))
            memory.copy_to_host(np.asarray(pages))
        storage = Storage(
            address=pages.storage.address, nbytes=high, keep=pages.storage, readonly=True
        )
        if not info.size:
            return np.empty(info.shape, info.dtype.carrier), info, storage
        return array_in(storage, info), info if info.dtype.numpy is None else None, storage


class CpuToUSM(MemoryMapper):
    """cpu -> sycl: an array that lies in host or shared USM of the target's context."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The pointer that it is."""
        target = cast(SYCLContext, self.target)
        info, address, (low, high) = item.info, data_address(item.native), item.info.extent
        if not info.size:
            raise Refused("an empty array has no address")
        kind = kind_of_pointer(target.queue, address + low)
        if kind is None or kind_of_pointer(target.queue, address + high - 1) != kind:
            raise Refused(
                "SYCL can use only memory that it allocated: fill memory of "
                'samebytes.context("sycl").allocate(), mapped to "cpu"'
            )
        owner = item.storage
        wait = waits_for(target.queue)
        storage = Storage(
            wait, address=address + low, nbytes=high - low, keep=owner, wait=wait,
            at_exit=True,
        )  # fmt: skip
        return USMArray(target, address, info, kind, storage, access == "r"), info, storage


class CpuCopyToUSM(MemoryMapper):
    """cpu -> sycl: a dense copy in new shared USM."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """New memory, written by the CPU."""
        target = cast(SYCLContext, self.target)
        dense = TensorInfo(item.info.dtype, item.info.shape)
        if dense.dtype.packed and not item.info.is_contiguous:
            raise LayoutError(f"{item.info} shares bytes between elements and is not dense")
        made = target.allocate(dense.shape, dense.dtype)
        np.copyto(made.host_array(), item.host_array())
        native: USMArray = made.native
        return native.as_readonly(), dense, native.pin


class _Bytes:
    """Bytes from an array's first element on, as dpctl takes them."""

    __slots__ = ("__sycl_usm_array_interface__", "array")

    def __init__(self, array: USMArray, nbytes: int) -> None:
        self.array = array
        self.__sycl_usm_array_interface__ = {
            "data": (array.address, array.readonly),
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "syclobj": array.context.queue,
            "offset": 0,
        }
