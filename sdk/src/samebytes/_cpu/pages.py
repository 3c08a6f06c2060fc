# SPDX-License-Identifier: Apache-2.0
"""CPU memory in whole pages, so that devices can import it later."""

from __future__ import annotations

import ctypes
import errno
import mmap
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.memory.info import TensorInfo
from .._core.native.arrays import placed
from .._core.native.pointers import data_address
from .._core.owner.storage import Storage
from ..errors import LayoutError, NativeError

if TYPE_CHECKING:
    from ..formats import PlaneLayout

__all__ = ["allocate_pages", "places_of_planes", "planes_in"]


def planes_in(
    storage: Storage, layouts: Sequence[PlaneLayout], offsets: Sequence[int]
) -> tuple[np.ndarray[Any, Any], ...]:
    """The arrays of a frame's planes in the bytes of one storage, at their offsets."""
    memory = np.asarray(storage)
    pairs = zip(layouts, offsets, strict=True)
    return tuple(
        [placed(memory, TensorInfo(p.dtype, p.shape, p.strides), offset) for p, offset in pairs]
    )


# Vector code (FFmpeg's scaler, for one) reads up to a register past the last pixel.
_SLACK = 64
# Windows has neither fork() nor these flags.
_PRIVATE: dict[str, int] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if sys.platform != "win32" else {}
)


# Where the system has larger pages (Linux, on most processors): their size. One entry of the
# processor's table of addresses stands for such a page.
_LARGE = 2 << 20
_WANTS_LARGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)


# OpenCL drivers copy host memory that begins within a cache line of 64 bytes, and Intel's let
# sub-buffers begin at multiples of 128 (CL_DEVICE_MEM_BASE_ADDR_ALIGN).
_PLANE_ALIGNMENT = 128


def places_of_planes(sizes: Iterable[int]) -> tuple[list[int], int]:
    """The offsets of planes of these sizes in one piece of memory, and its size, in bytes."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // _PLANE_ALIGNMENT) * _PLANE_ALIGNMENT
    return offsets, end


def allocate_pages(nbytes: int, *, zeroed: bool = True, large: bool = False) -> Storage:
    """At least `nbytes` bytes in whole private pages, given back with the last holder.

    After fork() parent and child have their own pages, as with any array. Zeroed pages are new ones
    of the system's; others have been in use before.

    Args:
        nbytes: how many.
        zeroed: whether they are all zero.
        large: ask for pages of 2 MiB where the system has such, and the memory fills them. For
            zeroed memory that is written again and again.
    """
    size = -(-(nbytes + _SLACK) // mmap.PAGESIZE) * mmap.PAGESIZE
    if not zeroed:
        return _used_pages(nbytes, size)
    if large and size >= _LARGE and _WANTS_LARGE is not None:
        return _large_pages(size, _WANTS_LARGE)
    pages, address = _new_pages(nbytes, size)
    return Storage(pages.close, address=address, nbytes=size)


def _new_pages(nbytes: int, size: int) -> tuple[mmap.mmap, int]:
    """`size` bytes for `nbytes`, and their address."""
    try:
        pages = mmap.mmap(-1, size, **_PRIVATE)
    except OverflowError as error:
        raise LayoutError(f"{nbytes} bytes exceed the address space") from error
    except OSError as error:
        raise NativeError("mmap", error.errno or 0, f"no memory for {nbytes} bytes") from error
    # The mmap object unmaps when it is dropped; a held memoryview would make close() refuse, so
    # the address is taken and the export given back at once.
    return pages, ctypes.addressof(ctypes.c_char.from_buffer(pages))


def _large_pages(size: int, advice: int) -> Storage:
    """Pages of 2 MiB, where the system has some left, and small ones behind them.

    The addresses before the first page are never touched, and so take no memory.
    """
    filled = (size + _LARGE // 4) // _LARGE * _LARGE  # the last one may be by three quarters
    pages, first = _new_pages(size, max(size, filled) + _LARGE)
    before = -first % _LARGE
    with suppress(OSError):  # a kernel without such pages
        pages.madvise(advice, before, filled)
    return Storage(pages.close, address=first + before, nbytes=size)


def _used_pages(nbytes: int, size: int) -> Storage:
    """Whole pages in memory of numpy's, which has a page more than they need."""
    try:
        memory = [np.empty(size + mmap.PAGESIZE, np.uint8)]
    except (MemoryError, ValueError) as error:
        raise NativeError("malloc", errno.ENOMEM, f"no memory for {nbytes} bytes") from error
    first = -(-data_address(memory[0]) // mmap.PAGESIZE) * mmap.PAGESIZE
    # Held by the release alone: dropped when it has run, and not before.
    return Storage(memory.clear, address=first, nbytes=size)
