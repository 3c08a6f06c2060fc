# SPDX-License-Identifier: Apache-2.0
"""New memory of each kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from samebytes.errors import UnknownNameError
from samebytes.plugins import Fd

from ._driver import Current, call, driver
from ._use import CudaStorage, owner

if TYPE_CHECKING:
    from ._context import CudaContext

__all__ = ["HOST_VISIBLE", "Allocation", "Kind", "allocate"]

Kind = Literal["device", "pinned", "managed", "exportable"]
"""The kinds of memory: the GPU's own, the host's, moved by the driver, shared by descriptor."""
HOST_VISIBLE = frozenset(("pinned", "managed"))

_PORTABLE = 1
"""CU_MEMHOSTALLOC_PORTABLE: pinned for all contexts."""
_GLOBAL = 1
"""CU_MEM_ATTACH_GLOBAL: any stream on any device may use it."""


def allocate(context: CudaContext, nbytes: int, kind: str) -> tuple[int, CudaStorage]:
    """New memory of at least one byte, and its owner.

    Raises:
        UnknownNameError: no such kind.
        NativeError: there is no memory, or none of that kind.
    """
    if kind not in get_args(Kind):
        raise UnknownNameError("kind of CUDA memory", str(kind), get_args(Kind))
    size = max(nbytes, 1)
    keep: Any = None
    with Current(context.native):
        if kind == "exportable":
            address, free, keep = _exportable(context, size)
        else:
            address, free = _SIMPLE[kind](size)
    there = address if kind in HOST_VISIBLE else 0
    pin = owner(context, free, address=there, nbytes=size, keep=keep)
    return address, pin


def _device(size: int) -> tuple[int, Callable[[], object]]:
    address = int(call(driver.cuMemAlloc, size))
    return address, partial(driver.cuMemFree, address)


def _pinned(size: int) -> tuple[int, Callable[[], object]]:
    address = int(call(driver.cuMemHostAlloc, size, _PORTABLE))
    return address, partial(driver.cuMemFreeHost, address)


def _managed(size: int) -> tuple[int, Callable[[], object]]:
    address = int(call(driver.cuMemAllocManaged, size, _GLOBAL))
    return address, partial(driver.cuMemFree, address)


_SIMPLE = {"device": _device, "pinned": _pinned, "managed": _managed}


class Allocation:
    """Physical memory that was made to be exported.

    Attributes:
        handle: the CUmemGenericAllocationHandle.
        size: in bytes, whole pages of the device.
    """

    __slots__ = ("address", "handle", "size")

    def __init__(self, handle: Any, address: int, size: int) -> None:
        self.handle = handle
        self.address = address
        self.size = size

    def export(self) -> Fd:
        """A new descriptor of the memory, which other processes and APIs import."""
        kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        return Fd(int(call(driver.cuMemExportToShareableHandle, self.handle, kind, 0)))


def _exportable(context: CudaContext, nbytes: int) -> tuple[int, Callable[[], object], Allocation]:
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.requestedHandleTypes = (
        driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    )
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = context.ordinal
    if context.supports("GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED"):
        properties.allocFlags.gpuDirectRDMACapable = 1
    option = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    granularity = int(call(driver.cuMemGetAllocationGranularity, properties, option))
    size = -(-nbytes // granularity) * granularity
    with ExitStack() as undo:
        handle = call(driver.cuMemCreate, size, properties, 0)
        undo.callback(driver.cuMemRelease, handle)
        address = int(call(driver.cuMemAddressReserve, size, granularity, 0, 0))
        undo.callback(driver.cuMemAddressFree, address, size)
        call(driver.cuMemMap, address, size, 0, handle, 0)
        undo.callback(driver.cuMemUnmap, address, size)
        access = driver.CUmemAccessDesc()
        access.location = properties.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        call(driver.cuMemSetAccess, address, size, [access], 1)
        free = undo.pop_all().close
    return address, free, Allocation(handle, address, size)
