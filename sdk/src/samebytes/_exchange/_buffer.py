# SPDX-License-Identifier: Apache-2.0
"""Arrays over objects with the buffer protocol (PEP 3118)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from samebytes._dtypes import DType, dtype
from samebytes.errors import LayoutError, UnknownNameError

__all__ = ["from_buffer"]

# Format letters to the family of the element; its width is the buffer's itemsize, since `l` is 4
# or 8 bytes. Letters that numpy does not read are left out: it would fall back on a copy.
_FAMILIES = {
    "?": "bool",
    **dict.fromkeys("cBHILQ", "uint"),
    **dict.fromkeys("bhilq", "int"),
    **dict.fromkeys("efd", "float"),
    "Zf": "complex",
    "Zd": "complex",
}

_FOREIGN_ORDER = ">!" if sys.byteorder == "little" else "<"


def from_buffer(obj: Any) -> tuple[np.ndarray[Any, Any], DType] | None:
    """The array over the buffer of `obj`; None if it has none.

    The array holds the buffer's export: a bytearray cannot be resized and a mmap cannot be closed
    while it lives.

    Raises:
        LayoutError: elements or a layout that no tensor can have.
    """
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    except (BufferError, ValueError) as error:
        raise LayoutError(
            f"{type(obj).__qualname__} does not export its buffer: {error}"
        ) from error
    element = _element(view)
    if view.suboffsets:
        raise LayoutError("a buffer of pointers to rows has no strides: pass its rows one by one")
    # Not numpy.ndarray(buffer=view): that keeps the object but not its buffer's export.
    return np.array(view, copy=False).view(element.carrier), element


def _element(view: memoryview) -> DType:
    order = view.format[0] if view.format[0] in "@=<>!" else "@"
    family = _FAMILIES.get(view.format.removeprefix(order))
    if family is None:
        raise LayoutError(
            f"buffer format {view.format!r} is not supported: pass its bytes, "
            "memoryview(obj).cast('B')"
        )
    if order in _FOREIGN_ORDER and view.itemsize > 1:
        raise LayoutError(
            f"buffer format {view.format!r} has foreign byte order: "
            '`numpy.asarray(a).astype(a.dtype.newbyteorder("="))` makes a copy in native order'
        )
    try:
        return dtype("bool" if family == "bool" else f"{family}{8 * view.itemsize}")
    except UnknownNameError as error:
        raise LayoutError(
            f"buffer format {view.format!r} with {view.itemsize} bytes for each element"
        ) from error
