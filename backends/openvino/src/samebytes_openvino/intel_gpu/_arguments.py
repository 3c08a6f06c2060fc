# SPDX-License-Identifier: Apache-2.0
"""Arguments of users: native handles in several forms."""

from __future__ import annotations

from typing import Any

from samebytes import Context, Tensor
from samebytes.plugins import native_pointer

from .._remote._errors import PropertyError

__all__ = ["handle_of"]


def handle_of(given: Any, property_: str, what: str, key: str) -> int:
    """A native handle as an int.

    Args:
        given: an int, a `ctypes.c_void_p`, a PyCapsule, an object of pyopencl's (with `int_ptr`),
            or a context or tensor of samebytes.
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
    else:
        handle = native_pointer(getattr(given, "int_ptr", given), f"{property_}: a {what}")
    if handle == 0:
        raise PropertyError(property_, f"this {what} is null")
    if not 0 < handle < 1 << 64:
        raise PropertyError(property_, f"{handle:#x} is not an address")
    return handle
