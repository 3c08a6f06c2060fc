# SPDX-License-Identifier: Apache-2.0
"""Arrays over objects with `__array_interface__`, version 3."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from samebytes._core.native.arrays import pinned_array
from samebytes._dtypes import DType, from_numpy
from samebytes._numbers import counted
from samebytes.errors import LayoutError, UnsupportedObjectError

from ._extent import check_extent

__all__ = ["from_array_interface"]


def from_array_interface(obj: Any) -> tuple[np.ndarray[Any, Any], DType]:
    """The array over the address that `obj` names; the array holds `obj`.

    Raises:
        UnsupportedObjectError: the interface names no address: bytes that were made for the
            question, as PIL images do it, are not the object's memory.
        LayoutError: a dtype or layout that no array can have, or one that makes no sense.
    """
    interface = obj.__array_interface__
    if not isinstance(interface, dict):
        raise UnsupportedObjectError(
            f"{type(obj).__qualname__}.__array_interface__ is not a dict but {interface!r}"
        )
    if interface.get("mask") is not None:
        raise LayoutError("an array with a mask is two arrays: pass them one by one")
    data = interface.get("data")
    if not (isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], int)):
        raise UnsupportedObjectError(
            f"{type(obj).__qualname__}.__array_interface__ names no address, so it may be a copy: "
            "pass numpy.asarray(obj) if a copy is acceptable"
        )
    address, readonly = data
    element = _element(interface.get("typestr"))
    shape = _integers(interface.get("shape"), "shape")
    strides = interface.get("strides")
    if strides is not None:
        strides = _integers(strides, "strides")
        if len(strides) != len(shape):
            raise LayoutError(f"{counted(len(strides), 'stride')} for shape {shape}")
    check_extent(shape, strides, element.carrier.itemsize, address)
    checked = {
        "version": 3,
        "typestr": element.carrier.str,
        "shape": shape,
        "strides": strides,
        "data": (address, bool(readonly)),
    }
    return pinned_array(checked, obj), element


def _element(typestr: object) -> DType:
    if isinstance(typestr, str):
        with suppress(TypeError):
            return from_numpy(np.dtype(typestr))
    raise LayoutError(f"typestr {typestr!r} of an __array_interface__ is not a dtype")


def _integers(values: object, name: str) -> tuple[int, ...]:
    if not isinstance(values, Sequence) or not all(isinstance(v, int) for v in values):
        raise LayoutError(f"{name} of an __array_interface__ is not a tuple of ints: {values!r}")
    return tuple(values)
