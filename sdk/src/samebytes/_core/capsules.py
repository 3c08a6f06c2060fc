# SPDX-License-Identifier: Apache-2.0
"""The pointer in a PyCapsule, in which extension modules hand C pointers to Python."""

from __future__ import annotations

import ctypes

__all__ = ["capsule_pointer", "get_pointer"]

# Prototypes of our own: those on ctypes.pythonapi's attributes are shared by the whole process.
_get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
"""PyCapsule_GetPointer: ValueError where the name is not the capsule's."""


def capsule_pointer(given: object) -> int | None:
    """The pointer in a PyCapsule of any name, or None if `given` is not a capsule.

    It stays with the capsule's owner. The caller knows what it points to: nothing is checked.
    """
    if type(given).__name__ != "PyCapsule":
        return None
    return get_pointer(given, _get_name(given)) or 0
