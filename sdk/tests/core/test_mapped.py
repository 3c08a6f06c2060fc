# SPDX-License-Identifier: Apache-2.0
"""Memory behind a bare number is asked for, not read."""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np
import pytest

from samebytes.plugins import bytes_at, data_address, is_mapped

PAGE = mmap.PAGESIZE
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="no /proc/self/maps here: run it on Linux"
)


def test_what_is_mapped() -> None:
    memory = mmap.mmap(-1, 4 * PAGE)
    address = data_address(np.frombuffer(memory, np.uint8))
    assert is_mapped(address, 4 * PAGE, writable=True)
    assert is_mapped(address + 5, 0)
    for wild in (0, 8, 0x7FFF_0000_0000_0000, 1 << 63, 1 << 70):
        assert not is_mapped(wild, 1)
    assert not is_mapped(address, 1 << 46)


def test_protection_and_holes() -> None:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    address = libc.mmap(None, 3 * PAGE, 3, 0x22, -1, 0)  # private and anonymous, read and write
    try:
        assert is_mapped(address, 3 * PAGE, writable=True)
        assert libc.mprotect(address + PAGE, PAGE, 1) == 0
        assert is_mapped(address, 3 * PAGE)
        assert not is_mapped(address, 3 * PAGE, writable=True)
        assert libc.mprotect(address + PAGE, PAGE, 0) == 0
        assert is_mapped(address, PAGE)
        assert not is_mapped(address, PAGE + 1)
        assert bytes_at(address, 8) == bytes(8)
        assert libc.munmap(address + 2 * PAGE, PAGE) == 0
        assert bytes_at(address + 2 * PAGE - 8, 8) == bytes(8)
        assert bytes_at(address + 2 * PAGE - 8, 16) is None, "not the first half"
    finally:
        libc.munmap(address, 2 * PAGE)


def test_bytes_at() -> None:
    array = np.arange(16, dtype=np.uint8)
    assert bytes_at(data_address(array), 16) == bytes(range(16))
    for wild in (0, 1 << 63, 1 << 70, -8):
        assert bytes_at(wild, 8) is None
