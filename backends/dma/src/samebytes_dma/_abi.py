# SPDX-License-Identifier: Apache-2.0
"""Linux's interface to DMA-BUFs and memory: constants, structures and calls of its headers."""

from __future__ import annotations

import ctypes
import fcntl
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")

# asm-generic/ioctl.h: how the number of an ioctl is put together. x86, Arm and RISC-V use it as
# it is.

_IOC_NRSHIFT = 0
_IOC_TYPESHIFT = 8
_IOC_SIZESHIFT = 16
_IOC_DIRSHIFT = 30

_IOC_WRITE = 1
_IOC_READ = 2


def _IOC(direction: int, type_: str, number: int, size: int) -> int:
    return (
        direction << _IOC_DIRSHIFT
        | ord(type_) << _IOC_TYPESHIFT
        | number << _IOC_NRSHIFT
        | size << _IOC_SIZESHIFT
    )


def _IOW(type_: str, number: int, argument: type[ctypes.Structure] | type[ctypes.c_char_p]) -> int:
    """An ioctl that passes a structure, or a text, to the kernel."""
    return _IOC(_IOC_WRITE, type_, number, ctypes.sizeof(argument))


def _IOWR(type_: str, number: int, argument: type[ctypes.Structure]) -> int:
    """An ioctl that passes a structure to the kernel, which fills it in."""
    return _IOC(_IOC_READ | _IOC_WRITE, type_, number, ctypes.sizeof(argument))


# linux/dma-buf.h: CPU access to a DMA-BUF, and its fences.

DMA_BUF_BASE = "b"

DMA_BUF_NAME_LEN = 32
"""With the zero byte at the end."""

DMA_BUF_SYNC_READ = 1 << 0
DMA_BUF_SYNC_WRITE = 2 << 0
DMA_BUF_SYNC_RW = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_WRITE
DMA_BUF_SYNC_START = 0 << 2
DMA_BUF_SYNC_END = 1 << 2


class dma_buf_sync(ctypes.Structure):
    """Begin or end an access by the CPU."""

    _fields_ = [("flags", ctypes.c_uint64)]


class dma_buf_export_sync_file(ctypes.Structure):
    """Ask for the fences of a buffer; the kernel sets `fd`."""

    _fields_ = [("flags", ctypes.c_uint32), ("fd", ctypes.c_int32)]


class dma_buf_import_sync_file(ctypes.Structure):
    """Add a fence to a buffer."""

    _fields_ = [("flags", ctypes.c_uint32), ("fd", ctypes.c_int32)]


DMA_BUF_IOCTL_SYNC = _IOW(DMA_BUF_BASE, 0, dma_buf_sync)
DMA_BUF_SET_NAME = _IOW(DMA_BUF_BASE, 1, ctypes.c_char_p)
# Since Linux 6.0.
DMA_BUF_IOCTL_EXPORT_SYNC_FILE = _IOWR(DMA_BUF_BASE, 2, dma_buf_export_sync_file)
DMA_BUF_IOCTL_IMPORT_SYNC_FILE = _IOW(DMA_BUF_BASE, 3, dma_buf_import_sync_file)

SyncFileArgument = dma_buf_export_sync_file | dma_buf_import_sync_file


# linux/dma-heap.h: DMA-BUFs from the heaps in /dev/dma_heap.

DMA_HEAP_IOC_MAGIC = "H"


class dma_heap_allocation_data(ctypes.Structure):
    """The size to allocate; the kernel sets `fd`."""

    _fields_ = [
        ("len", ctypes.c_uint64),
        ("fd", ctypes.c_uint32),
        ("fd_flags", ctypes.c_uint32),
        ("heap_flags", ctypes.c_uint64),
    ]


DMA_HEAP_IOCTL_ALLOC = _IOWR(DMA_HEAP_IOC_MAGIC, 0x0, dma_heap_allocation_data)


# linux/udmabuf.h: DMA-BUFs over the pages of a memfd.

UDMABUF_FLAGS_CLOEXEC = 0x01


class udmabuf_create(ctypes.Structure):
    """The memfd and the range of its pages; the ioctl returns the descriptor."""

    _fields_ = [
        ("memfd", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
    ]


UDMABUF_CREATE = _IOW("u", 0x42, udmabuf_create)


# linux/fcntl.h: the seal that Python's fcntl lacks.

F_SEAL_FUTURE_WRITE = 0x0010
"""No new writable mapping and no write() of a memfd; those that exist go on. Since Linux 5.1."""


# sys/mman.h: mappings at an address of the caller's choice, which Python's mmap cannot make.

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
"""The value that mmap() returns on failure, unsigned as ctypes gives addresses."""

_libc = ctypes.CDLL(None, use_errno=True)

mmap = _libc.mmap
mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
mmap.restype = ctypes.c_void_p

munmap = _libc.munmap
munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
munmap.restype = ctypes.c_int


def until_answered(ask: Callable[[], T]) -> T:
    """Call a function which calls fcntl.ioctl(), again where the kernel answers EINTR or EAGAIN.

    The documentation of DMA_BUF_IOCTL_SYNC wants that, and fcntl.ioctl() does not do it.

    Raises:
        OSError: any other answer.
    """
    while True:
        try:
            return ask()
        except (InterruptedError, BlockingIOError):
            continue


def ioctl(fd: int, request: int, argument: ctypes.Structure | ctypes.Array[ctypes.c_char]) -> int:
    """Call ioctl(), until it is answered; the kernel may fill in `argument`.

    Raises:
        OSError: what the call answered.
    """
    return until_answered(partial(fcntl.ioctl, fd, request, argument))
