# SPDX-License-Identifier: Apache-2.0
"""Calls that fail on request (csrc/faults/faults.h), to test how a program handles it."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from samebytes_softdevices._gpu import LAYER
from samebytes_softdevices._libraries import library
from samebytes_softdevices._npu import DRIVER as _NPU
from samebytes_softdevices._plan import SoftDeviceError
from samebytes_softdevices._va import DRIVER as _VA

__all__ = ["call_failed", "counted_calls", "fail_call", "fault_library"]

_SYSTEM = "libsoftfaults.so"
# By the prefix of their functions' names; all other functions are the C library's.
_FILES = {"cl": LAYER, "ze": _NPU, "va": _VA, "": _SYSTEM}


def fault_library() -> Path:
    """Return the library to preload (LD_PRELOAD) so that calls of the C library can fail.

    Returns:
        The path of the library.

    Raises:
        SoftDeviceError: it was not built.
    """
    return library(_SYSTEM)


def fail_call(function: str | None, successes: int = 0, status: int = 0) -> None:
    """Let one call of a native function fail, and count all calls from now on.

    Args:
        function: a function of OpenCL, Level Zero or VA-API, or one of ioctl, fcntl, mmap, munmap,
            memfd_create, ftruncate, lseek, dup, dup3, sendmsg, recvmsg, send, recv and
            posix_memalign, with 64 at the end if the program calls that form. None: no call
            fails.
        successes: how many calls succeed before.
        status: the error of the failing call; 0 for a usual one.

    Raises:
        SoftDeviceError: the device was not built.
    """
    for file in _FILES.values():
        _functions(file).softdevices_fail(None, 0, 0)
    if function is not None:
        _library_of(function).softdevices_fail(function.encode(), successes, status)


def call_failed() -> bool:
    """True if the call that fail_call named was made, and failed."""
    return any(_functions(file).softdevices_failed() for file in _FILES.values())


def counted_calls() -> dict[str, int]:
    """Return how often each function was called since fail_call.

    Returns:
        The number of calls of each function that was called, by its name.
    """
    found = {}
    for file in _FILES.values():
        functions, calls, place = _functions(file), ctypes.c_ulong(), 0
        while (name := functions.softdevices_calls(place, ctypes.byref(calls))) is not None:
            found[name.decode()] = calls.value
            place += 1
    return found


def _library_of(function: str) -> ctypes.CDLL:
    prefix = function[:2] if function[:2] in _FILES and function[2:3].isupper() else ""
    return _functions(_FILES[prefix])


@cache
def _functions(file: str) -> ctypes.CDLL:
    found = ctypes.CDLL(str(library(file)))
    try:
        found.softdevices_fail.argtypes = [ctypes.c_char_p, ctypes.c_ulong, ctypes.c_int]
    except AttributeError:
        raise SoftDeviceError(f"{file} is of another version: install the package again") from None
    found.softdevices_fail.restype = None
    found.softdevices_calls.argtypes = [ctypes.c_uint, ctypes.POINTER(ctypes.c_ulong)]
    found.softdevices_calls.restype = ctypes.c_char_p
    return found
