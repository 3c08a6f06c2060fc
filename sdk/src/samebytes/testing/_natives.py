# SPDX-License-Identifier: Apache-2.0
"""Arrays over the memory of natives, for `Memory.view` of frameworks that give no arrays."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

from samebytes import TensorInfo

__all__ = ["array_at", "array_in"]


class _Mapping(mmap.mmap):
    """A mapping of a descriptor, which holds the native that it shows."""

    keep: object


def array_at(
    address: int, info: TensorInfo, keep: object, *, readonly: bool = False
) -> np.ndarray[Any, Any]:
    """An array over memory of this process, by its address.

    Args:
        address: of the first element.
        info: dtype, shape and strides in bytes.
        keep: the owner of the memory, such as a native, which the array and its views hold.
        readonly: the array cannot be written.
    """
    low, high = info.extent
    memory = (ctypes.c_uint8 * max(high - low, 1)).from_address(address + low)
    memory.keep = keep  # type: ignore[attr-defined]  # ctypes objects take attributes
    array = np.ndarray(info.shape, info.dtype.carrier, np.asarray(memory), -low, info.strides)
    array.flags.writeable = not readonly
    return array


def array_in(
    fd: int, nbytes: int, info: TensorInfo, offset: int = 0, keep: object = None
) -> np.ndarray[Any, Any]:
    """An array over a new mapping of a descriptor, which stays the caller's to close.

    Args:
        fd: the descriptor of a memfd, a DMA-BUF or a file.
        nbytes: how much of it is mapped.
        info: dtype, shape and strides in bytes.
        offset: bytes from the beginning to the first element.
        keep: another object that the array and its views hold, such as a native.
    """
    mapping = _Mapping(fd, nbytes)
    mapping.keep = keep
    return np.ndarray(info.shape, info.dtype.carrier, mapping, offset, info.strides)
