# SPDX-License-Identifier: Apache-2.0
"""Memory of the CPU that the NPU imports: buffers of the user's, the pages of arrays, files."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from samebytes import Tensor
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import data_address

from .._errors import PropertyError
from .._host._layout import memory_of
from ._remote_properties import FileDescriptor

__all__ = ["HostMemory", "Pages", "host_memory_of", "mapped_file", "merged", "whole_pages"]

Array = np.ndarray[Any, Any]
Pages = tuple[int, int, bool]
"""Address, bytes, and whether they may only be read."""


class HostMemory:
    """Memory of the CPU that somebody wants to share.

    Attributes:
        address: of the first byte.
        nbytes: its size; None where only an address was given.
        keep: what keeps it alive.
        readonly: its pages may not be writable.
    """

    __slots__ = ("address", "keep", "nbytes", "readonly")

    def __init__(self, address: int, nbytes: int | None, keep: object, readonly: bool) -> None:
        self.address = address
        self.nbytes = nbytes
        self.keep = keep
        self.readonly = readonly

    def check_room(self, nbytes: int) -> None:
        """Raise PropertyError if a tensor of that size does not fit."""
        if self.nbytes is not None and self.nbytes < nbytes:
            raise PropertyError(
                "MEM_HANDLE", f"the buffer has {self.nbytes} bytes, but the tensor has {nbytes}"
            )


def host_memory_of(shared: Any) -> HostMemory:
    """The memory behind an address, an array, a tensor or another buffer.

    Raises:
        UnsupportedObjectError: it is none of these.
        PropertyError: it is not contiguous.
        NotHostVisibleError: a tensor that is not in memory of the CPU.
    """
    if isinstance(shared, ctypes.c_void_p):
        shared = shared.value or 0
    if isinstance(shared, int | np.integer) and not isinstance(shared, bool):
        return HostMemory(int(shared), None, None, False)
    array: Array
    if isinstance(shared, np.ndarray):
        array = shared
    elif isinstance(shared, Tensor):
        array = shared.host_array()
    else:
        try:
            array = np.frombuffer(shared, np.uint8)
        except (TypeError, ValueError, BufferError):
            raise UnsupportedObjectError(
                "MEM_HANDLE: CPU memory must be an address, an array, a tensor or another "
                f"buffer, not a {type(shared).__name__}"
            ) from None
    if not array.flags.c_contiguous:
        raise PropertyError(
            "MEM_HANDLE", f"strides {array.strides}: the NPU plugin takes dense tensors only"
        )
    return HostMemory(data_address(array), array.nbytes, array, not array.flags.writeable)


def mapped_file(file: FileDescriptor, nbytes: int) -> Array:
    """The bytes of a file from its offset on, in whole read-only pages, at least `nbytes`.

    Raises:
        PropertyError: the offset cannot be mapped, or the file is too short.
        OSError: the file cannot be opened.
    """
    if file.offset < 0 or file.offset % mmap.ALLOCATIONGRANULARITY:
        raise PropertyError(
            "FILE_DESCRIPTOR",
            f"offset {file.offset} is not a multiple of {mmap.ALLOCATIONGRANULARITY}: map the file "
            "from a page on with import_memory(), and take a tensor at an offset of it",
        )
    with open(file.path, "rb") as opened:  # noqa: PTH123 - any path-like
        size = os.fstat(opened.fileno()).st_size
        if size - file.offset < nbytes:
            raise PropertyError(
                "FILE_DESCRIPTOR",
                f"{os.fspath(file.path)} has {size} bytes: there are no {nbytes} from "
                f"{file.offset} on",
            )
        pages = mmap.mmap(opened.fileno(), nbytes, access=mmap.ACCESS_READ, offset=file.offset)
    # The system maps whole pages, and what follows the end of the file in the last one is zero.
    return np.frombuffer(pages, np.uint8)


def whole_pages(array: Array, *, reading: bool = False) -> Pages | str:
    """The whole pages around a dense array, or why there are none.

    Pages that the device may write must belong to the memory that the array lies in: what else
    lies on them would be at the mercy of the device's caches. For reading, pages that are shared
    with other data of this process will do; decoded frames lie so.
    """
    memory, start = memory_of(array)
    low, high = data_address(memory), data_address(memory) + memory.nbytes
    page = mmap.PAGESIZE
    first, last = -(-low // page) * page, high // page * page
    begin = low + start
    if first <= begin and begin + array.nbytes <= last:
        # Not the array's own flag: the plugin keeps one import of a page, and one for reading alone
        # would serve a writable mapping of the same memory too.
        return first, last - first, not memory.flags.writeable
    if reading:
        first = begin // page * page
        last = -(-(begin + array.nbytes) // page) * page
        return first, last - first, not memory.flags.writeable
    return (
        f"its memory, {high - low} bytes at {low:#x}, does not consist of whole pages of {page} "
        'bytes, and the NPU writes to nothing else: samebytes.context("cpu").allocate() gives '
        "memory on its own pages; pad the address and size of your own arrays (of a slice: of the "
        "array that it was cut from) to whole pages"
    )


def merged(ranges: Iterable[Pages]) -> list[Pages]:
    """Ranges that share pages as one, since the plugin takes no page twice.

    One that may only be read makes the whole so: the driver would refuse to have it written.
    """
    found: list[Pages] = []
    for address, nbytes, readonly in sorted(ranges):
        if found and address < found[-1][0] + found[-1][1]:
            first, before, also = found[-1]
            found[-1] = (first, max(before, address + nbytes - first), also or readonly)
        else:
            found.append((address, nbytes, readonly))
    return found
