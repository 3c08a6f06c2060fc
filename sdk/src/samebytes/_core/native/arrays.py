# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy over memory that has an owner."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory.info import TensorInfo
from ..owner.storage import Storage

__all__ = ["array_in", "pinned_array", "placed"]


_NO_BYTES = np.empty(0, np.uint8)


class _Pinned:
    """An address range as numpy sees it, and the object that keeps it valid."""

    __slots__ = ("__array_interface__", "owner")
    __array_interface__: dict[str, Any]
    owner: object


def pinned_array(interface: dict[str, Any], owner: object) -> np.ndarray[Any, Any]:
    """The array that `interface` describes; it, and whatever is made from it, holds `owner`."""
    pinned = _Pinned()
    pinned.__array_interface__, pinned.owner = interface, owner
    return np.asarray(pinned)


def array_in(storage: Storage, info: TensorInfo, offset: int = 0) -> np.ndarray[Any, Any]:
    """The array of a layout in the bytes of a storage, which it holds.

    Args:
        storage: owner of memory that the CPU can use.
        info: the layout. An array of elements below 8 bits is their bytes, in one row.
        offset: bytes from the start of the storage to the first element.

    Raises:
        ValueError: the array would reach outside of the storage.
    """
    return placed(np.asarray(storage) if storage.address else _NO_BYTES, info, offset)


def placed(memory: np.ndarray[Any, Any], info: TensorInfo, offset: int) -> np.ndarray[Any, Any]:
    """As `array_in`, in the bytes of a storage as `numpy.asarray(storage)` gives them."""
    if info.dtype.packed:
        if info.nbytes and not 0 <= offset <= memory.size - info.nbytes:  # a slice would be short
            raise ValueError(_outside(info, offset, (0, info.nbytes), memory))
        return memory[offset : offset + info.nbytes]
    if 0 in info.shape:  # numpy checks the offset of an array without elements too
        return np.ndarray(info.shape, info.dtype.carrier, memory)
    if not memory.size:  # numpy takes a buffer of 0 bytes for one that is large enough
        raise ValueError(_outside(info, offset, info.extent, memory))
    try:
        return np.ndarray(info.shape, info.dtype.carrier, memory, offset, info.strides)
    except ValueError as error:  # numpy's names neither size; to look first would slow mappings
        raise ValueError(_outside(info, offset, info.extent, memory)) from error


def _outside(
    info: TensorInfo, offset: int, extent: tuple[int, int], memory: np.ndarray[Any, Any]
) -> str:
    first, end = (offset + at for at in extent)
    return (
        f"{info} at offset {offset} needs bytes {first} to {end} of its storage, which has "
        f"{memory.size} bytes that the CPU can use"
    )
