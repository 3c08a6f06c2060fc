# SPDX-License-Identifier: Apache-2.0
"""New memory of each kind."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args

from samebytes import Fd
from samebytes.errors import UnknownNameError

from ._driver import Current, Home, Pending, acquire, call, descriptor, driver
from ._use import CudaStorage, owner

__all__ = ["HOST_VISIBLE", "Allocation", "Kind", "allocate"]

Kind = Literal["device", "pinned", "managed", "exportable"]
"""The kinds of memory: the GPU's own, the host's, moved by the driver, shared by descriptor."""
HOST_VISIBLE = frozenset(("pinned", "managed"))

_PORTABLE = 1
"""CU_MEMHOSTALLOC_PORTABLE: pinned for all contexts."""
_GLOBAL = 1
"""CU_MEM_ATTACH_GLOBAL: any stream on any device may use it."""


def allocate(context: Home, nbytes: int, kind: str) -> tuple[int, CudaStorage]:
    """New memory of at least one byte, and its owner.

    Raises:
        UnknownNameError: no such kind.
        NativeError: there is no memory, or none of that kind.
    """
    if kind not in get_args(Kind):
        raise UnknownNameError("kind of CUDA memory", str(kind), get_args(Kind))
    size = max(nbytes, 1)
    pending: Pending = []
    pin = owner(context, pending, nbytes=size)
    with Current(context.native):
        if kind == "exportable":
            pin.keep = made = _exportable(context, size, pending)
            address = made.address
        else:
            function, free, flags = _SIMPLE[kind]
            made_by, freed_by = getattr(driver, function), getattr(driver, free)
            address = int(acquire(pending, freed_by, made_by, size, *flags))
    if kind in HOST_VISIBLE:
        pin.expose(address, size)
    return address, pin


_SIMPLE: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "device": ("cuMemAlloc", "cuMemFree", ()),
    "pinned": ("cuMemHostAlloc", "cuMemFreeHost", (_PORTABLE,)),
    "managed": ("cuMemAllocManaged", "cuMemFree", (_GLOBAL,)),
}
"""The functions that allocate and free memory of each kind, and the flags for allocating it."""


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
        return descriptor(driver.cuMemExportToShareableHandle, self.handle, kind, 0)


def _exportable(context: Home, nbytes: int, pending: Pending) -> Allocation:
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
    handle = acquire(pending, driver.cuMemRelease, driver.cuMemCreate, size, properties, 0)
    free = partial(driver.cuMemAddressFree, size=size)
    address = int(acquire(pending, free, driver.cuMemAddressReserve, size, granularity, 0, 0))
    unmap = partial(driver.cuMemUnmap, address, size)
    acquire(pending, unmap, driver.cuMemMap, address, size, 0, handle, 0)
    access = driver.CUmemAccessDesc()
    access.location = properties.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    call(driver.cuMemSetAccess, address, size, [access], 1)
    return Allocation(handle, address, size)
