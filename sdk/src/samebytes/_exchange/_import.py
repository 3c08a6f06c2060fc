# SPDX-License-Identifier: Apache-2.0
"""Arrays over the host memory of other libraries' objects, never with a copy."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from samebytes._core.native.arrays import pinned_array
from samebytes._core.native.pointers import data_address
from samebytes._dtypes import DType, from_numpy
from samebytes.errors import LayoutError, UnsupportedObjectError

from ._array_interface import from_array_interface
from ._buffer import from_buffer
from ._from_dlpack import from_dlpack

__all__ = ["Imported", "from_foreign"]


class Imported(NamedTuple):
    """Host memory of somebody else's.

    Attributes:
        array: the bytes, in place. It alone keeps them valid.
        dtype: what the elements are; where numpy lacks it, `array` has the carrier's dtype.
        readonly: they must not be written; `array` refuses it then.
        owner: the object that was given.
    """

    array: np.ndarray[Any, Any]
    dtype: DType
    readonly: bool
    owner: object


def from_foreign(obj: Any) -> Imported:
    """The memory of `obj` as an array, without a copy.

    Tried in this order: numpy array, DLPack, buffer protocol, `__array_interface__`. An
    `__array__` method is never called, since nothing says whether it copies.

    A legacy DLPack capsule does not say whether its memory may be written: it is taken as
    read-only, as numpy does, unless `obj.flags.writeable` is True.

    Args:
        obj: the object.

    Raises:
        UnsupportedObjectError: `obj` offers none of these, refuses, or lies on another device.
        LayoutError: dtype, shape or strides are ones that no tensor can have, or make no sense.
    """
    if isinstance(obj, np.ndarray):
        return _from_ndarray(obj)
    if hasattr(obj, "__dlpack__"):
        array, dtype = from_dlpack(obj)
    elif (lent := from_buffer(obj)) is not None:
        array, dtype = lent
    elif hasattr(obj, "__array_interface__"):
        array, dtype = from_array_interface(obj)
    else:
        raise UnsupportedObjectError(_unshared(obj))
    return Imported(array, dtype, not array.flags.writeable, obj)


def _unshared(obj: Any) -> str:
    """Say why the CPU cannot use the memory of `obj`, and what works for its type."""
    name = f"{type(obj).__module__}.{type(obj).__qualname__}"
    names = [*dir(type(obj)), *getattr(obj, "__dict__", ())]
    device = next((n for n in names if n.endswith(_DEVICE_ARRAY)), None)
    if device is not None:
        return (
            f"{name} lies in memory of a device, as its {device} says, which the CPU cannot read: "
            "a samebytes backend for that memory could wrap it ('samebytes list' lists those "
            "installed), or copy it to the CPU with its own framework first"
        )
    remedy = "pass an array or a buffer that does"
    if hasattr(obj, "__array__") or isinstance(obj, list | tuple | int | float | complex):
        remedy = "pass numpy.asarray(obj) if a copy is acceptable"
    return (
        f"{name} does not share its memory: it supports neither DLPack, nor the buffer protocol, "
        f"nor __array_interface__. Install the samebytes plugin for its framework, or {remedy}"
    )


_DEVICE_ARRAY = "_array_interface__"
"""The end of the names of protocols for arrays on devices, such as CUDA's and SYCL's."""


def _from_ndarray(array: np.ndarray[Any, Any]) -> Imported:
    dtype = from_numpy(array.dtype)
    plain = array
    if type(array) is not np.ndarray:
        if isinstance(array, np.ma.MaskedArray):
            raise LayoutError("a masked array is two arrays: pass its .data and .mask one by one")
        plain = array.view(np.ndarray)
    if dtype.numpy is None:
        plain = plain.view(dtype.carrier)
    plain = _holding_its_buffer(plain)
    return Imported(plain, dtype, not array.flags.writeable, array)


def _array_below(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The array that this one is a view of; numpy.lib.stride_tricks puts an object between both."""
    base = array.base
    if (
        base is not None
        and not isinstance(base, np.ndarray)
        and hasattr(base, "__array_interface__")
    ):
        base = getattr(base, "base", None)
    return base if isinstance(base, np.ndarray) else None


def _holding_its_buffer(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same array; if it lies in a buffer, one that holds the buffer's export.

    numpy.ndarray(buffer=shm.buf) and numpy.memmap keep the object alone: it can be closed, and its
    memory go, while they are there. The bases of the one returned end with the bytes of the array
    that was made from the buffer: what else lies in the buffer is not known to belong to it. Of one
    with gaps it is the whole buffer.
    """
    root = array
    while (base := _array_below(root)) is not None:
        root = base
    buffer: Any = root.base
    if buffer is None:
        return array
    try:
        view = memoryview(buffer)
    except (TypeError, BufferError):  # no buffer, but an address and its owner
        return array
    except ValueError as error:
        raise UnsupportedObjectError(
            f"the memory of this array is gone: {error}. Wrap the array before its buffer is closed"
        ) from error
    if view.contiguous and view.nbytes:
        memory = np.frombuffer(view, np.uint8)
        with suppress(TypeError, ValueError):  # the array lies elsewhere
            if root.flags.forc and root.nbytes:
                start = data_address(root) - data_address(memory)
                memory = np.frombuffer(view, np.uint8, root.nbytes, start)
            begin = data_address(array) - data_address(memory)
            held = np.ndarray(array.shape, array.dtype, memory, begin, array.strides)
            held.flags.writeable = array.flags.writeable
            return held
    return pinned_array(array.__array_interface__, (array, view))
