# SPDX-License-Identifier: Apache-2.0
"""Find out by trial, once for each driver, who closes the file descriptors of imports and exports.

Neither the Level Zero specification nor its headers define it. Intel's NPU driver makes a
descriptor for each export, which is the caller's, and does not touch those that it imports. The
number of a descriptor that is closed twice may by then be another file's, so nothing is assumed.
"""

from __future__ import annotations

import mmap
import os
from ctypes import c_void_p
from dataclasses import dataclass

from samebytes.errors import LayoutError
from samebytes.plugins import KeyLocks, file_identity

from ._abi.constants import ExternalMemoryType, MemoryType
from ._abi.structures import ze_external_memory_import_fd_t
from ._errors import LevelZeroError
from ._native_context import NativeContext
from ._usm import allocate, export_descriptor, free, query_fd

__all__ = ["FdRules", "fd_rules"]


@dataclass(frozen=True, slots=True)
class FdRules:
    """The rules of a driver for who owns and closes descriptors.

    Attributes:
        export_is_ours: each export gives a new descriptor, which the caller closes. Else it is
            the driver's, and must be duplicated.
        import_takes: True if the driver closes a descriptor that it imported.
    """

    export_is_ours: bool
    import_takes: bool


# What Intel's NPU driver does; for a driver with which it cannot be tried out. A descriptor that
# is wrongly left open is a leak, one that is wrongly closed may be another file's.
_UNTRIED = FdRules(export_is_ours=True, import_takes=False)

_trying = KeyLocks()
_known: dict[int, FdRules] = {}


def fd_rules(context: NativeContext) -> FdRules:
    """The rules of the context's driver."""
    driver = context.entry.driver
    if driver not in _known:
        # Two trials at a time would take each other's descriptors for their own.
        with _trying.of(driver):
            if driver not in _known:
                try:
                    _known[driver] = _try_out(context)
                except LevelZeroError:
                    _known[driver] = _UNTRIED
    return _known[driver]


def _try_out(like: NativeContext) -> FdRules:
    # In its own contexts: a driver may know an allocation again that comes back to the context
    # which exported it, and free both at once.
    exporter = NativeContext.create(like.library, like.entry)
    importer = NativeContext.create(like.library, like.entry)
    made = c_void_p()
    try:
        allocate(made, exporter, mmap.PAGESIZE, MemoryType.HOST, 0, export_descriptor())
        # Whose the numbers are is not known yet.
        first = query_fd(exporter, made.value or 0).detach()
        file = _file(first)
        second = query_fd(exporter, made.value or 0).detach()
        takes = _importing_takes(importer, first)
    finally:
        if made.value:
            free(exporter, made)
    if first == second or file != _file(first) or file != _file(second):
        return FdRules(export_is_ours=False, import_takes=takes)
    os.close(first)
    os.close(second)
    return FdRules(export_is_ours=True, import_takes=takes)


def _importing_takes(context: NativeContext, exported: int) -> bool:
    given = os.dup(exported)
    file = _file(given)
    extension = ze_external_memory_import_fd_t(flags=ExternalMemoryType.DMA_BUF, fd=given)
    made = c_void_p()
    try:
        allocate(made, context, mmap.PAGESIZE, MemoryType.HOST, 0, extension)
    except LevelZeroError:
        pass  # it imports nothing, so there will be nothing to close
    finally:
        if made.value:
            free(context, made)
    if _file(given) != file:
        return True
    os.close(given)
    return False


def _file(number: int) -> tuple[int, int] | None:
    """Return the identity of a descriptor's file, as numbers are reused; None if it is closed."""
    try:
        return file_identity(number)
    except LayoutError:  # it was closed
        return None
