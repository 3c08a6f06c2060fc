# SPDX-License-Identifier: Apache-2.0
"""C pointers as ints, and the functions of a C library with their types."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from ctypes import c_void_p
from operator import index
from typing import Any

import numpy as np

from ...errors import MissingDependencyError, UnsupportedObjectError

__all__ = ["bind", "data_address", "get_pointer", "native_pointer"]


_DATA = object.__basicsize__
"""numpy/ndarraytypes.h: `data` comes first in PyArrayObject_fields, which is part of numpy's C
interface: extension modules have its place compiled in."""

_pointer_at = c_void_p.from_address


def data_address(array: np.ndarray[Any, Any]) -> int:
    """The address of element [0, 0, ...] of an array, at a fifth of the cost of asking numpy.

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


def native_pointer(given: Any, what: str) -> int:
    """A pointer or handle of C as an int; 0 for a null pointer.

    What it points to stays its owner's. Only the caller knows what that must be, so nothing is
    checked here: neither the range of the number nor the memory.

    Args:
        given: an int, a `ctypes.c_void_p`, or a PyCapsule of any name.
        what: the C type, for the error, for instance "cl_mem" or "AVFrame*".

    Raises:
        UnsupportedObjectError: it is none of these; True and False are not.
    """
    if isinstance(given, c_void_p):
        return given.value or 0
    if type(given).__name__ == "PyCapsule":
        return get_pointer(given, _get_name(given)) or 0
    if not isinstance(given, bool):
        try:
            return index(given)
        except TypeError:
            pass
    raise UnsupportedObjectError(
        f"{what} must be an int, a ctypes.c_void_p or a PyCapsule, not a {type(given).__name__}"
    )


def bind(
    functions: Any,
    prototypes: Mapping[str, tuple[Any, Sequence[Any]]],
    *,
    plugin: str,
    library: str,
    hint: str,
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """Give the functions of a library their types, and check that it has them.

        bind(ctypes.CDLL("libtoy.so.1"), {"toy_open": (c_int, (c_char_p, c_int))},
             plugin="toy", library="libtoy.so.1", hint="install libtoy 1.2 or later")

    Args:
        functions: a `ctypes.CDLL`, or an object with functions of its own that stand in for them.
        prototypes: the type of the result and those of the arguments, by name.
        plugin, library, hint: of the error: whose library it is, its name, and how to get one that
            has the functions.
        optional: names of functions that some versions lack.

    Returns:
        The functions by name, in the order of `prototypes`, without optional ones that it lacks.

    Raises:
        MissingDependencyError: it lacks one that is not optional.
    """
    found = {}
    for name, (result, arguments) in prototypes.items():
        function = getattr(functions, name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
            found[name] = function
    lacking = prototypes.keys() - found.keys() - set(optional)
    if lacking:
        raise MissingDependencyError(plugin, f"{', '.join(sorted(lacking))} in {library}", hint)
    return found
