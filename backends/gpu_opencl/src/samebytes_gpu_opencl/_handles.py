# SPDX-License-Identifier: Apache-2.0
"""Check handles before OpenCL uses them, since a released one would crash the driver.

By the rules of cl_khr_icd every OpenCL object begins with the address of its driver's table of
functions, which the loader follows at each call. A released object has something else there as
soon as its memory is used for anything. So the first word of a handle is read without following
it, and compared with that of an object known to live. That finds most released handles, and all
numbers that never were handles; it cannot find a handle whose memory holds a new object of the same
driver.
"""

from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_uint32, c_void_p, sizeof, string_at
from functools import partial
from typing import TYPE_CHECKING, Any

import pyopencl

from samebytes import Fd, Storage
from samebytes.errors import DeviceMismatchError, LayoutError, NativeError

from ._library import call, call_noting, give_back

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "MemReference",
    "check_handle",
    "check_mem",
    "mem_info",
    "platform_of",
    "release_mem",
    "retain_mem",
]

_WORD = 8


def _first_word(handle: int) -> bytes | None:
    """The word at an address, b"" if there is no memory; None where that cannot be found out."""
    if handle <= 0 or handle >= 1 << 63:
        return b""
    try:
        memory = Fd(os.open("/proc/self/mem", os.O_RDONLY))
    except OSError:
        return None
    with memory:
        try:
            return os.pread(memory.fileno(), _WORD, handle)
        except OSError:
            return b""


def check_handle(handle: int, what: str, drivers: Sequence[tuple[int, int]]) -> None:
    """Check that a handle can be an object of one of these drivers.

    Args:
        handle: any number.
        what: the name for it in the error: "cl_mem", "cl_context".
        drivers: for each driver, two objects of different types that surely live.

    Raises:
        LayoutError: it is not an OpenCL object, or was released.
    """
    word = _first_word(handle)
    if word is None:
        return
    tables = [(_living_word(one), _living_word(other)) for one, other in drivers]
    # A driver with a table for each type of object cannot be judged by this.
    alike = all(one == other for one, other in tables)
    if not word or (alike and word not in [one for one, _ in tables]):
        raise LayoutError(
            f"{handle:#x} is not a valid {what}: it was released, or never was one; keep the "
            "object that owns it"
        )


def _living_word(handle: int) -> bytes:
    return string_at(handle, _WORD)


def mem_info(handle: int, key: int, type_: Any = c_size_t) -> int:
    """One cl_mem_info of a living cl_mem."""
    value = type_()
    call("clGetMemObjectInfo", handle, key, sizeof(value), byref(value), None)
    return int(value.value or 0)


def check_mem(handle: int, context: pyopencl.Context, device: pyopencl.Device) -> int:
    """Check that a handle is a living cl_mem of that cl_context; return its cl_mem_object_type.

    Raises:
        LayoutError: it is not a valid cl_mem.
        DeviceMismatchError: it belongs to another cl_context.
    """
    check_handle(handle, "cl_mem", [(context.int_ptr, device.int_ptr)])
    try:
        home = mem_info(handle, pyopencl.mem_info.CONTEXT, c_void_p)
        kind = mem_info(handle, pyopencl.mem_info.TYPE, c_uint32)
    except NativeError as error:
        raise LayoutError(f"{handle:#x} is not a cl_mem: {error}") from error
    if home != context.int_ptr:
        raise DeviceMismatchError(
            f"the cl_mem {handle:#x} belongs to the cl_context {home:#x}, not to "
            f"{context.int_ptr:#x}: memory can be used in its own cl_context only"
        )
    return kind


def retain_mem(cell: c_void_p, handle: int) -> None:
    """Take our own reference, which the cell then holds: see `making`."""
    call_noting(cell, handle, "clRetainMemObject", handle)


def release_mem(cell: c_void_p, context: pyopencl.Context) -> Callable[[], object]:
    """Return a function that releases the reference that a cell holds, if any.

    The function holds the cl_context: one driver's memory does not, and is invalid without it.
    """
    return partial(_release, cell, context)


def _release(cell: c_void_p, _: pyopencl.Context) -> None:
    if cell.value:
        give_back(cell, "clReleaseMemObject", cell.value)


class MemReference(Storage):
    """Owns a reference to a cl_mem of another owner, and keeps the memory that it lies in."""

    __slots__ = ()


def platform_of(device: pyopencl.Device) -> int:
    """The cl_platform_id of a device."""
    return device.platform.int_ptr
