# SPDX-License-Identifier: Apache-2.0
"""The driver's information about a pointer.

cuda-bindings takes microseconds for each attribute, which is long for a mapping. The driver's own
function, whose address cuda-bindings knows, reports all of them at once in less time.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from functools import cache, lru_cache
from typing import Any, NamedTuple

from samebytes.errors import NativeError

from ._driver import call, driver, initialize

__all__ = ["Pointer", "look_up", "look_up_all"]

# CUpointer_attribute: CONTEXT, MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL, RANGE_START_ADDR,
# RANGE_SIZE.
_ASKED = (1, 2, 8, 9, 11, 12)
_HOST, _DEVICE = 1, 2
"""CU_MEMORYTYPE_HOST and CU_MEMORYTYPE_DEVICE."""


class Pointer(NamedTuple):
    """Memory that CUDA knows.

    Attributes:
        context: the CUcontext, or 0 for memory that belongs to a device and not to a context.
        ordinal: the device's number.
        kind: "device", "pinned" (registered memory of the host too) or "managed".
    """

    context: int
    ordinal: int
    kind: str


class _Answers(threading.local):
    """The memory that the driver writes its answers to, eight bytes for each, one per thread.

    Attributes:
        block: the answers, and the address of the array of their addresses; one attribute, as
            each access looks up the thread.
    """

    def __init__(self) -> None:
        answers = (ctypes.c_uint64 * len(_ASKED))()
        first = ctypes.addressof(answers)
        self._places = (ctypes.c_void_p * len(_ASKED))(*range(first, first + 8 * len(_ASKED), 8))
        self.block = answers, ctypes.addressof(self._places)


_answers = _Answers()
_READ = struct.Struct("=QI4xI4xi4xQQ").unpack_from
_asked = (ctypes.c_int * len(_ASKED))(*_ASKED)
_QUESTIONS = ctypes.addressof(_asked)


@cache
def _function() -> Any:
    """cuPointerGetAttributes, which has answers for unknown pointers too."""
    initialize()
    address = call(driver.cuGetProcAddress, b"cuPointerGetAttributes", 12000, 0)[0]
    return ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64
    )(int(address))


def look_up(address: int) -> Pointer | None:
    """The attributes of an address; None if CUDA does not know it, as after it was freed.

    Raises:
        NativeError: the driver fails.
    """
    return _asked_of(address)[0]


def look_up_all(address: int, nbytes: int) -> tuple[Pointer | None, bool]:
    """The attributes of an address, and whether all bytes from there are in one allocation.

    Args:
        address: the address of the first byte.
        nbytes: the number of bytes, at least one.

    Raises:
        NativeError: the driver fails.
    """
    pointer, start, size = _asked_of(address)
    if pointer is None:
        return None, False
    fits = address + nbytes <= start + size
    if fits and pointer.context:
        return pointer, True
    # Memory without a context is mapped by cuMemMap, into a range of addresses which may have
    # parts without memory; and a driver may answer with one of the mappings there, or not at all.
    if look_up(address + nbytes - 1) != pointer:
        return pointer, False
    return pointer, fits or not size or _is_mapped(address)


def _is_mapped(address: int) -> bool:
    """True if memory was mapped there by cuMemMap, which puts allocations side by side."""
    code, handle = driver.cuMemRetainAllocationHandle(address)
    if code:
        return False
    call(driver.cuMemRelease, handle)
    return True


def _asked_of(address: int) -> tuple[Pointer | None, int, int]:
    """The attributes of an address, and the start and size of its allocation in bytes."""
    answers, places = _answers.block
    code = _function()(len(_ASKED), _QUESTIONS, places, address)
    if code:
        if code == driver.CUresult.CUDA_ERROR_INVALID_VALUE:
            return None, 0, 0
        call(driver.cuPointerGetAttribute, driver.CUpointer_attribute(_ASKED[1]), address)
        raise NativeError("cuPointerGetAttributes", code)
    context, type_, managed, ordinal, start, size = _READ(answers)
    return _pointer(context, type_, managed, ordinal), start, size


@lru_cache(maxsize=64)
def _pointer(context: int, type_: int, managed: int, ordinal: int) -> Pointer | None:
    if type_ not in (_HOST, _DEVICE):
        return None
    kind = "managed" if managed else "pinned" if type_ == _HOST else "device"
    return Pointer(context, ordinal, kind)
