# SPDX-License-Identifier: Apache-2.0
"""What users pass: native handles in several forms."""

from __future__ import annotations

import ctypes
from operator import index
from typing import Any

from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Context, Tensor, capsule_pointer

from .._remote._errors import PropertyError

__all__ = ["display_of", "handle_of"]


def handle_of(given: Any, property_: str, what: str, key: str) -> int:
    """A native handle as an int.

    Args:
        given: an int, a ctypes pointer, an object of pyopencl's (with `int_ptr`), or a context or
            tensor of samebytes.
        property_: the property that will carry it, for errors.
        what: its C type, for errors.
        key: of the handle in samebytes objects.

    Raises:
        PropertyError: it is null.
        UnsupportedObjectError: it is none of these.
        UnknownNameError: the samebytes object has no such handle.
    """
    if isinstance(given, Context | Tensor):
        handle = given.handle(key)
    elif isinstance(given, ctypes.c_void_p):
        handle = given.value or 0
    else:
        try:
            handle = index(getattr(given, "int_ptr", given))
        except TypeError:
            raise UnsupportedObjectError(
                f"{property_}: a {what} must be an int or have int_ptr, not {given!r}"
            ) from None
    if handle == 0:
        raise PropertyError(property_, f"this {what} is null")
    if not 0 < handle < 1 << 64:
        raise PropertyError(property_, f"{handle:#x} is not an address")
    return handle


def display_of(given: Any) -> int:
    """A VADisplay as an int, from what `handle_of` takes or from a PyCapsule of any name."""
    pointer = capsule_pointer(given)
    if pointer is not None:
        return pointer
    return handle_of(given, "VA_DEVICE", "VADisplay", "va_display")
