# SPDX-License-Identifier: Apache-2.0
"""Level Zero's calls for unified shared memory (USM): allocate, free, ask about, export."""

from __future__ import annotations

import ctypes
import mmap
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Literal

from samebytes import Fd
from samebytes.errors import LayoutError, UnknownNameError

from . import _system
from ._abi.constants import ExternalMemoryType, MemoryType
from ._abi.results import Result
from ._abi.structures import (
    Typed,
    ze_device_mem_alloc_desc_t,
    ze_external_memory_export_desc_t,
    ze_external_memory_export_fd_t,
    ze_external_memory_export_win32_handle_t,
    ze_host_mem_alloc_desc_t,
    ze_memory_allocation_properties_t,
)
from ._errors import LevelZeroError, NotExportableError
from ._native_context import NativeContext

__all__ = [
    "AllocationProperties",
    "Kind",
    "allocate",
    "export_descriptor",
    "free",
    "inspect",
    "kind_name",
    "kind_of",
    "not_exported",
    "query_fd",
    "query_nt_handle",
]

Kind = Literal["host", "shared", "device"]

_KINDS: dict[str, MemoryType] = {
    "host": MemoryType.HOST,
    "shared": MemoryType.SHARED,
    "device": MemoryType.DEVICE,
}
_NAMES: dict[MemoryType, Kind] = {
    MemoryType.HOST: "host",
    MemoryType.SHARED: "shared",
    MemoryType.DEVICE: "device",
}
# The address space of a process is no larger, and size_t would wrap around silently.
_LARGEST = (1 << 63) - 1
_ONLY_EXPORTABLE = "only memory from allocate(..., exportable=True) can be exported"


def kind_of(name: str) -> MemoryType:
    """The ze_memory_type_t of a kind's name, or UnknownNameError."""
    try:
        return _KINDS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("kind of USM", str(name), _KINDS) from None


def kind_name(kind: MemoryType) -> Kind:
    """The name of a kind."""
    return _NAMES[kind]


@dataclass(frozen=True, slots=True)
class AllocationProperties:
    """The properties that the driver reports for a pointer (ze_memory_allocation_properties_t).

    Attributes:
        kind: "host", "shared" or "device".
        id: the allocation's number; that of every pointer into it.
        page_size: in bytes. Intel's NPU driver gives the allocation's size instead.
    """

    kind: Kind
    id: int
    page_size: int


def allocate(
    cell: c_void_p, context: NativeContext, nbytes: int, kind: MemoryType, alignment: int = 0,
    extension: Typed | None = None,
) -> None:  # fmt: skip
    """New memory, or with an importing `extension` existing memory.

    Args:
        cell: gets its address; an existing owner frees it.
        context: the context to make it in.
        nbytes: the size in bytes, at least one.
        kind: host, shared or device.
        alignment: in bytes, a power of two; 0 for the driver's choice.
        extension: an export or import descriptor to chain. One only: Intel's NPU driver looks at
            the first of a chain, and no further.

    Raises:
        LayoutError: the size or alignment is not possible.
        LevelZeroError: the driver refuses.
    """
    _check_size(context, nbytes, alignment)
    chained = None if extension is None else ctypes.addressof(extension)
    size, device = (nbytes, alignment), context.entry.handle
    fill = context.library.fill
    if kind is MemoryType.HOST:
        host = ze_host_mem_alloc_desc_t(pNext=chained)
        fill(cell, "zeMemAllocHost", context.handle, byref(host), *size)
        return
    descriptor = ze_device_mem_alloc_desc_t(pNext=chained)
    if kind is MemoryType.DEVICE:
        fill(cell, "zeMemAllocDevice", context.handle, byref(descriptor), *size, device)
        return
    host = ze_host_mem_alloc_desc_t()
    fill(
        cell, "zeMemAllocShared",
        context.handle, byref(descriptor), byref(host), *size, device,
    )  # fmt: skip


def _check_size(context: NativeContext, nbytes: int, alignment: int) -> None:
    limit = min(context.entry.max_allocation or _LARGEST, _LARGEST)
    if nbytes > limit:
        device = context.entry.device
        raise LayoutError(f"{nbytes} bytes: one allocation on {device} has at most {limit}")
    if not 0 <= alignment <= _LARGEST or alignment & (alignment - 1):
        raise LayoutError(
            f"alignment {alignment} is not a power of two: pass 0 for the driver's choice, or for "
            f"instance {mmap.PAGESIZE}"
        )


def export_descriptor() -> ze_external_memory_export_desc_t:
    """Return the structure that makes memory exportable, as a DMA-BUF or Windows NT handle."""
    kind = ExternalMemoryType.OPAQUE_WIN32 if _system.WINDOWS else ExternalMemoryType.DMA_BUF
    # Exactly one flag: Intel's NPU driver takes no combination.
    return ze_external_memory_export_desc_t(flags=kind)


def free(context: NativeContext, cell: c_void_p) -> None:
    """Give back memory that `allocate` made; what was imported stays with its other owners."""
    context.library.give_back(cell, "zeMemFree", context.handle, cell.value)


def inspect(context: NativeContext, address: int) -> AllocationProperties | None:
    """Return the properties of a pointer; None if it is not USM of this context or was freed."""
    properties = ze_memory_allocation_properties_t()
    try:
        _query(context, address, properties)
    except LevelZeroError:
        return None  # so Intel's NPU driver; its GPU driver answers "unknown"
    try:
        kind = _NAMES[MemoryType(properties.type)]
    except (KeyError, ValueError):
        return None
    return AllocationProperties(kind, properties.id, properties.pageSize)


def query_fd(context: NativeContext, address: int) -> Fd:
    """Export the allocation at `address` as a DMA-BUF. `fd_rules` has the owner of the number.

    If that is the driver, detach the descriptor.

    Raises:
        NotExportableError: the driver exports none.
    """
    found = ze_external_memory_export_fd_t(flags=ExternalMemoryType.DMA_BUF, fd=-1)
    _export(context, address, found)
    if found.fd < 0:
        raise not_exported()
    return Fd(found.fd)


def query_nt_handle(context: NativeContext, address: int) -> int:
    """Export the allocation at `address` as an NT handle (Windows), which the caller closes.

    Raises:
        NotExportableError: the driver exports none.
    """
    found = ze_external_memory_export_win32_handle_t(flags=ExternalMemoryType.OPAQUE_WIN32)
    _export(context, address, found)
    if not found.handle:
        raise not_exported()
    return int(found.handle)


def _export(context: NativeContext, address: int, found: Typed) -> None:
    properties = ze_memory_allocation_properties_t(pNext=ctypes.addressof(found))
    try:
        _query(context, address, properties)
    except LevelZeroError as error:
        raise NotExportableError(error.call, error.code, _ONLY_EXPORTABLE) from error


def not_exported() -> NotExportableError:
    """The error for memory that was not made to be exported.

    A driver that does not know the structure leaves it as it was, which means the same.
    """
    return NotExportableError(
        "zeMemGetAllocProperties", Result.ERROR_NOT_AVAILABLE, _ONLY_EXPORTABLE
    )


def _query(
    context: NativeContext, address: int, properties: ze_memory_allocation_properties_t
) -> None:
    context.library.call(
        "zeMemGetAllocProperties", context.handle, address, byref(properties), None
    )
