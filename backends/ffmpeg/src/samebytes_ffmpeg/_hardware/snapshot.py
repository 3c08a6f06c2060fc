# SPDX-License-Identifier: Apache-2.0
"""Structures at addresses that somebody else gave: a wrong one must not end the process."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from ctypes import Structure, byref, c_int, c_ssize_t, c_ulong, c_void_p, sizeof
from typing import TypeVar

from samebytes.errors import LayoutError

from .iovec_abi import iovec

__all__ = ["snapshot"]

_S = TypeVar("_S", bound=Structure)


def snapshot(structure: type[_S], address: int, what: str) -> _S:
    """A copy of the structure that lies at an address.

    The kernel does the reading: it answers EFAULT where there is no memory. Where it may not be
    asked (not Linux, a sandbox), the address is taken as it is.

    Raises:
        LayoutError: it is NULL, not aligned, or there is no memory.
    """
    copy = structure()
    if not 0 < address < 1 << 64 or address % ctypes.alignment(structure):
        raise LayoutError(f"{address:#x} is not the address of {what}")
    if _read is None:
        ctypes.memmove(byref(copy), address, sizeof(copy))
        return copy
    size = sizeof(copy)
    here, there = iovec(ctypes.addressof(copy), size), iovec(address, size)
    count = _read(os.getpid(), byref(here), 1, byref(there), 1, 0)
    if count != size:
        if count >= 0 or ctypes.get_errno() == errno.EFAULT:
            raise LayoutError(f"there is no memory at {address:#x}, which should be {what}")
        ctypes.memmove(byref(copy), address, size)
    return copy


_read = None
if sys.platform == "linux":
    _read = ctypes.CDLL(None, use_errno=True).process_vm_readv
    _read.restype = c_ssize_t
    _read.argtypes = (c_int, c_void_p, c_ulong, c_void_p, c_ulong, c_ulong)
