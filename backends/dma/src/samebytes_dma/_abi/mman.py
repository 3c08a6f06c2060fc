# SPDX-License-Identifier: Apache-2.0
"""sys/mman.h: mappings at an address of the caller's choice, which Python's mmap cannot make."""

from __future__ import annotations

import ctypes

__all__ = [
    "MAP_ANONYMOUS",
    "MAP_FAILED",
    "MAP_FIXED",
    "MAP_NORESERVE",
    "MAP_PRIVATE",
    "MAP_SHARED",
    "PROT_NONE",
    "PROT_READ",
    "PROT_WRITE",
    "mmap",
    "munmap",
]

PROT_NONE = 0x0
PROT_READ = 0x1
PROT_WRITE = 0x2

# asm-generic/mman.h and asm-generic/mman-common.h; other architectures differ in MAP_NORESERVE.
MAP_SHARED = 0x01
MAP_PRIVATE = 0x02
MAP_FIXED = 0x10
MAP_ANONYMOUS = 0x20
MAP_NORESERVE = 0x4000

MAP_FAILED = ctypes.c_void_p(-1).value
"""What mmap() returns on failure; ctypes gives addresses as unsigned numbers."""

_libc = ctypes.CDLL(None, use_errno=True)

mmap = _libc.mmap
mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
mmap.restype = ctypes.c_void_p

munmap = _libc.munmap
munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
munmap.restype = ctypes.c_int
