# SPDX-License-Identifier: Apache-2.0
"""The edges from CUDA memory to CPU memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import samebytes
from samebytes import Access, MemoryMapper, Storage, TensorInfo
from samebytes.errors import NotHostVisibleError
from samebytes.plugins import Refused, array_in, ordering_queue

from ._array import CudaArray
from ._context import CudaTensor, array_of
from ._driver import LEGACY_STREAM, Current, call, driver
from ._staging import staged
from ._streams import handle_of, precede

__all__ = ["DeviceToCpu", "HostVisibleToCpu"]


class HostVisibleToCpu(MemoryMapper):
    """cuda -> cpu: an array over pinned or managed memory."""

    __slots__ = ()

    def connect(
        self, item: CudaTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The elements in place, once what is pending is done."""
        native = array_of(item)
        if native.kind == "managed" and not native.context.supports("CONCURRENT_MANAGED_ACCESS"):
            raise Refused(
                "the device does not let the CPU use managed memory while it works: use pinned "
                "memory"
            )
        try:
            array = native.array()
        except NotHostVisibleError as error:
            raise Refused(str(error)) from error
        queue = ordering_queue()
        if queue is not None:
            native.order_before(handle_of(queue))
        else:
            wait_for(native)
        if access == "r":
            array.setflags(write=False)
        info = native.info
        return array, info if info.dtype.numpy is None else None, None


class DeviceToCpu(MemoryMapper):
    """cuda -> cpu: device memory, downloaded."""

    __slots__ = ()

    def connect(
        self, item: CudaTensor, access: Access
    ) -> tuple[Any, TensorInfo | None, Storage | None]:
        """New memory with the tensor's bytes, gaps included."""
        native = array_of(item)
        if native.host_visible:
            raise Refused(f"{native.kind} memory is read in place, not copied")
        info, (low, high) = native.info, native.info.extent
        queue = ordering_queue()
        if queue is None:
            storage = _downloaded(native, low, high - low)
        else:
            storage = _enqueued(native, low, high - low, handle_of(queue))
        if not info.size:
            return np.empty(info.shape, info.dtype.carrier), info, storage
        return array_in(storage, info, -low), info if info.dtype.numpy is None else None, storage


def wait_for(native: CudaArray) -> None:
    """Wait until the work pending on the memory is done."""
    native.pin.ask_again()
    native.pin.complete()


def _downloaded(native: CudaArray, low: int, nbytes: int) -> Storage:
    pages = samebytes.context("cpu").allocate((nbytes,), zeroed=False).storage
    if nbytes:
        wait_for(native)
        home = driver.CUstream(LEGACY_STREAM)
        with Current(native.context.native):
            call(driver.cuMemcpyDtoHAsync, pages.address, native.address + low, nbytes, home)
            call(driver.cuStreamSynchronize, home)
    return Storage(address=pages.address, nbytes=pages.nbytes, keep=pages, readonly=True)


def _enqueued(native: CudaArray, low: int, nbytes: int, stream: int) -> Storage:
    """A download on the caller's stream into pinned memory; the stream waits for the others."""
    context = native.context
    address, pin = staged(context, nbytes)
    native.order_before(stream)
    if nbytes:
        with Current(context.native):
            source, queue = native.address + low, driver.CUstream(stream)
            call(driver.cuMemcpyDtoHAsync, address, source, nbytes, queue)
        # Home waits too: who writes to the memory later writes after this.
        precede(context, stream)
    # What is copied from lives until it was copied: the release of a storage that was handed out
    # waits.
    native.pin.hand_out()
    return Storage(
        address=address, nbytes=pin.nbytes, keep=(pin, native.pin), readonly=True, wait=pin.wait
    )
