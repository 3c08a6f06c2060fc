# SPDX-License-Identifier: Apache-2.0
"""The C pointers inside Python objects: of an array to its elements, and that in a PyCapsule."""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from typing import Any

import numpy as np

from ..errors import MissingDependencyError

__all__ = ["capsule_pointer", "data_address", "get_pointer"]

_DATA = object.__basicsize__
"""numpy/ndarraytypes.h: `data` comes first in PyArrayObject_fields, which is part of numpy's C
interface: extension modules have its place compiled in."""

_pointer_at = c_void_p.from_address


def data_address(array: np.ndarray[Any, Any]) -> int:
    """Where element [0, 0, ...] of an array is, at a fifth of the cost of asking numpy.

    Args:
        array: a numpy array.
    """
    return _pointer_at(id(array) + _DATA).value or 0


def _check() -> None:
    array = np.zeros((3, 4), np.uint16)[::-1, 1:]
    if data_address(array) != array.__array_interface__["data"][0]:
        raise MissingDependencyError(
            "cpu", f"a numpy whose arrays have the layout of numpy 2 (not {np.__version__})",
            'pip install "numpy>=2"',
        )  # fmt: skip


_check()

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

    Args:
        given: any object.
    """
    if type(given).__name__ != "PyCapsule":
        return None
    return get_pointer(given, _get_name(given)) or 0
