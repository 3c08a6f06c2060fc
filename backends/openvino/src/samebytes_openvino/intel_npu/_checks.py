# SPDX-License-Identifier: Apache-2.0
"""What must be so before memory goes to the NPU plugin.

Intel's Linux driver imports a DMA-BUF whatever its size is, so that an inference would write
beyond its end. Other mistakes are refused late, with messages that do not name the property.
"""

from __future__ import annotations

import mmap
import os
import stat
import sys
from operator import index
from typing import Any, NoReturn

from samebytes.errors import ClosedError, UnsupportedObjectError
from samebytes.plugins import TensorInfo

from .._element_types import packed_nbytes
from .._remote._errors import PropertyError

__all__ = [
    "WINDOWS",
    "check_fd",
    "check_handle",
    "check_pages",
    "check_size",
    "memory_size",
    "number_of",
    "tensor_nbytes",
]

WINDOWS = sys.platform == "win32"
"""Handles of shared memory are NT handles there, and file descriptors elsewhere."""


def tensor_nbytes(info: TensorInfo) -> int:
    """The bytes of a dense tensor, as OpenVINO counts them."""
    return packed_nbytes(info.dtype, info.size) if info.dtype.packed else info.nbytes


def check_size(info: TensorInfo, available: int) -> None:
    """Raise unless a tensor is dense, not empty, and fits into the memory of the device.

    Raises:
        PropertyError: for the property "shape".
    """
    if not info.is_contiguous:
        raise PropertyError(
            "shape", f"strides {info.strides}: the NPU plugin takes dense tensors only"
        )
    if info.size == 0:
        raise PropertyError("shape", f"{list(info.shape)} is empty, which the NPU plugin refuses")
    nbytes = tensor_nbytes(info)
    if nbytes > available:
        raise PropertyError(
            "shape", f"{info} has {nbytes} bytes, and the memory of the NPU {available}"
        )


def number_of(shared: Any) -> int:
    """The number of a descriptor, or the value of an NT handle.

    Raises:
        UnsupportedObjectError: it is neither a number nor has it fileno().
        PropertyError: its fileno() says that it was closed.
    """
    fileno = getattr(shared, "fileno", None)
    try:
        if isinstance(shared, bool):
            raise TypeError
        return index(shared if fileno is None else fileno())
    except TypeError:
        raise UnsupportedObjectError(
            "MEM_HANDLE: shared memory is a file descriptor (an int, a samebytes.Fd or an object "
            f"with fileno()) or an NT handle, not a {type(shared).__name__}"
        ) from None
    except (ClosedError, ValueError, OSError) as error:
        raise PropertyError("MEM_HANDLE", f"it was closed, or has no descriptor: {error}") from None


def check_handle(handle: int) -> None:
    """Raise PropertyError if an NT handle is null."""
    if handle <= 0:
        raise PropertyError("MEM_HANDLE", "this NT handle is null")


def check_fd(fd: int, nbytes: int) -> None:
    """Raise PropertyError unless a tensor of that size can lie behind the descriptor."""
    size = memory_size(fd)
    if size < nbytes:
        raise PropertyError(
            "MEM_HANDLE",
            f"the memory of file descriptor {fd} has {size} bytes, and the tensor {nbytes}",
        )


def memory_size(fd: int) -> int:
    """The bytes of the memory behind a descriptor.

    Raises:
        PropertyError: it is not open, or nothing that can be mapped.
    """
    if fd <= 0:
        what = "standard input" if fd == 0 else "no descriptor"
        raise PropertyError("MEM_HANDLE", f"file descriptor {fd} is {what}")
    try:
        mode = os.fstat(fd).st_mode
    except (OSError, OverflowError):  # which no C int can hold
        raise PropertyError("MEM_HANDLE", f"file descriptor {fd} is not open") from None
    if stat.S_ISREG(mode):
        size = os.fstat(fd).st_size
    elif stat.S_IFMT(mode):
        _not_memory(fd)
    else:
        # DMA-BUFs have no type of file. They tell their size to lseek(), and have no position that
        # it could change: Documentation/driver-api/dma-buf.rst of the kernel.
        try:
            size = os.lseek(fd, 0, os.SEEK_END)
        except OSError:
            _not_memory(fd)
    if size == 0:
        _not_memory(fd)
    if not WINDOWS:
        _check_readable(fd)
    return size


def check_pages(address: int, nbytes: int) -> None:
    """Raise PropertyError unless memory of the CPU is whole pages."""
    page = mmap.PAGESIZE
    if address == 0:
        raise PropertyError("MEM_HANDLE", "this pointer is null")
    if not 0 < address < 1 << 64:
        raise PropertyError("MEM_HANDLE", f"{address:#x} is no address")
    if address % page:
        raise PropertyError(
            "MEM_HANDLE",
            f"{address:#x} is no multiple of the page size {page}: the NPU imports whole pages. "
            'samebytes.context("cpu").allocate() gives memory on pages of its own',
        )
    if nbytes % page:
        padded = -(-nbytes // page) * page
        raise PropertyError(
            "MEM_HANDLE",
            f"{nbytes} bytes are no multiple of the page size {page}: the NPU imports whole pages. "
            f"Import a buffer of {padded} bytes with import_memory(), and take a tensor of it",
        )


def _check_readable(fd: int) -> None:
    import fcntl

    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
        raise PropertyError("MEM_HANDLE", f"file descriptor {fd} was opened for writing alone")


def _not_memory(fd: int) -> NoReturn:
    raise PropertyError(
        "MEM_HANDLE",
        f"file descriptor {fd} is no memory: pass that of a DMA-BUF (a pipe, a socket, a folder "
        "and an empty file cannot be mapped)",
    )
