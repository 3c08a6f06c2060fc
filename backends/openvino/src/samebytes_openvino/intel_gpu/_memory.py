# SPDX-License-Identifier: Apache-2.0
"""Memory that is neither OpenCL's nor a video surface: what create_tensor takes for it."""

from __future__ import annotations

import ctypes
import mmap
import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import data_address

from .._errors import PropertyError

__all__ = [
    "ALIGNMENT",
    "FileDescriptor",
    "SharedBufferHandle",
    "VirtualAddressMemory",
    "address_of",
]

Access = Literal["READ", "READ_WRITE"]

ALIGNMENT = 64
"""Address and size of CPU memory must be multiples of this, a cache line, or a driver may work on
its own copy and still give the same pointer back. OpenVINO's example of CPU_VA says so."""


@dataclass(frozen=True, slots=True)
class SharedBufferHandle:
    """Memory that another API exports.

    Attributes:
        value: a DMA-BUF descriptor on Linux, an NT handle on Windows. It stays the caller's.
    """

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class VirtualAddressMemory:
    """Memory of the CPU.

    Attributes:
        ptr: an address, a multiple of 64; or a numpy array or another writable buffer, which the
            tensor then keeps alive.
        size: bytes, a multiple of 64; -1 is the size of the tensor, or of the buffer.
        access: "READ" for memory that may not be written.
    """

    ptr: Any
    size: int = -1
    access: Access = "READ_WRITE"


@dataclass(frozen=True, slots=True)
class FileDescriptor:
    """Bytes of a file, mapped into memory.

    OpenVINO's own property for it cannot be made in Python. The file is mapped here, and its
    pages are passed as memory of the CPU.

    Attributes:
        path: of the file.
        offset: where the tensor begins, a multiple of `mmap.ALLOCATIONGRANULARITY`.
        access: "READ_WRITE": writes reach the file.
    """

    path: str | os.PathLike[str]
    offset: int = 0
    access: Access = "READ"

    def mapped(self, nbytes: int) -> np.ndarray[Any, Any]:
        """The bytes from `offset` on, to the end of their last page, at least `nbytes`.

        Args:
            nbytes: how many are needed.

        Raises:
            PropertyError: the offset is not one that can be mapped, or the file is too short.
            OSError: the file cannot be opened.
        """
        if self.offset < 0 or self.offset % mmap.ALLOCATIONGRANULARITY:
            raise PropertyError(
                "FILE_DESCRIPTOR",
                f"offset {self.offset} is not a multiple of {mmap.ALLOCATIONGRANULARITY}",
            )
        write = self.access == "READ_WRITE"
        with open(self.path, "r+b" if write else "rb") as file:  # noqa: PTH123 - any path-like
            size = os.fstat(file.fileno()).st_size
            if size - self.offset < nbytes or nbytes == 0:
                raise PropertyError(
                    "FILE_DESCRIPTOR",
                    f"{os.fspath(self.path)} has {size} bytes: {nbytes} from {self.offset} on "
                    "cannot be mapped",
                )
            # Private pages of a file that is only read: the plugin makes its buffers writable.
            access = mmap.ACCESS_WRITE if write else mmap.ACCESS_COPY
            pages = mmap.mmap(file.fileno(), nbytes, access=access, offset=self.offset)
        return np.frombuffer(pages, np.uint8)


def address_of(memory: Any) -> tuple[int, int | None, Any]:
    """(address, bytes or None if not known, what keeps it alive) of an address or a buffer.

    Raises:
        PropertyError: null, or a buffer that has gaps.
        UnsupportedObjectError: neither.
    """
    if isinstance(memory, ctypes.c_void_p):
        memory = memory.value or 0
    if isinstance(memory, int | np.integer):
        if memory <= 0:
            raise PropertyError("CPU_VA", "this pointer is null")
        return int(memory), None, None
    try:
        array = memory if isinstance(memory, np.ndarray) else np.frombuffer(memory, np.uint8)
    except TypeError:
        raise UnsupportedObjectError(
            f"CPU_VA: memory must be an address or a buffer, not a {type(memory).__name__}"
        ) from None
    if not array.flags.c_contiguous:
        raise PropertyError(
            "CPU_VA",
            f"strides {array.strides} of shape {array.shape}: the plugin ignores strides and "
            "reads the bytes as dense",
        )  # fmt: skip
    return data_address(array), array.nbytes, array
