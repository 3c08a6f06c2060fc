# SPDX-License-Identifier: Apache-2.0
"""Import existing memory as USM: DMA-BUFs, NT handles, pages of the application."""

from __future__ import annotations

import mmap

from samebytes import Fd, Storage
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes.plugins import counted

from . import _system
from ._abi.constants import ExternalMemoryType, MemoryType
from ._abi.structures import (
    ze_external_memmap_sysmem_ext_desc_t,
    ze_external_memory_import_fd_t,
    ze_external_memory_import_win32_handle_t,
)
from ._allocation import Allocation, new_memory
from ._fd_rules import fd_rules
from ._native_context import NativeContext

__all__ = ["import_fd", "import_nt_handle", "import_pages", "require_windows"]


def import_fd(context: NativeContext, fd: Fd, nbytes: int) -> tuple[Allocation, Storage]:
    """The memory of a DMA-BUF as host USM, and its owner. The descriptor stays the caller's.

    Args:
        context: the context in which to use it.
        fd: the descriptor of the memory.
        nbytes: the size of the whole memory.

    Raises:
        LevelZeroError: the driver refuses.
    """
    given = fd.dup() if fd_rules(context).import_takes else fd
    extension = ze_external_memory_import_fd_t(flags=ExternalMemoryType.DMA_BUF, fd=given.fileno())
    made = new_memory(context, nbytes, MemoryType.HOST, 0, extension)
    if given is not fd:
        given.detach()
    return made


def import_nt_handle(
    context: NativeContext, handle: int, nbytes: int
) -> tuple[Allocation, Storage]:
    """The memory of an NT handle as device USM, and its owner, on Windows.

    The handle stays the caller's.

    It cannot become host USM: OpenVINO's NPU plugin imports it as device USM as well.

    Raises:
        UnsupportedObjectError: this is not Windows.
        LayoutError: the handle is null, or the size is not positive.
        LevelZeroError: the driver refuses.
    """
    require_windows()
    if handle <= 0 or nbytes <= 0:
        raise LayoutError(
            f"NT handle {handle:#x} of {counted(nbytes, 'byte')}: both must be positive"
        )
    extension = ze_external_memory_import_win32_handle_t(
        flags=ExternalMemoryType.OPAQUE_WIN32, handle=handle
    )
    return new_memory(context, nbytes, MemoryType.DEVICE, 0, extension)


def require_windows() -> None:
    """Raise UnsupportedObjectError where there are no NT handles."""
    if not _system.WINDOWS:
        raise UnsupportedObjectError(
            "NT handles exist only on Windows: on Linux memory is shared by DMA-BUF file "
            "descriptors"
        )


def import_pages(
    context: NativeContext, address: int, nbytes: int, keep: object = None
) -> tuple[Allocation, Storage]:
    """Whole pages of the application's memory as host USM, and its owner.

    Args:
        context: the context in which to use them.
        address, nbytes: those of the pages.
        keep: the owner of the pages, which must outlive their import.

    Raises:
        LayoutError: address or size is not a multiple of the page size.
        LevelZeroError: the driver refuses.
    """
    if address % mmap.PAGESIZE or nbytes % mmap.PAGESIZE or nbytes <= 0:
        raise LayoutError(
            f"{nbytes} bytes at {address:#x} are not whole pages of {mmap.PAGESIZE} bytes"
        )
    extension = ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=address, size=nbytes)
    return new_memory(context, nbytes, MemoryType.HOST, 0, extension, keep)
