# SPDX-License-Identifier: Apache-2.0
"""The functions of a C library, with their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["bind"]


def bind(functions: Any, prototypes: Mapping[str, tuple[Any, Sequence[Any]]]) -> dict[str, Any]:
    """Give the functions of a library their types.

        found = bind(ctypes.CDLL("libtoy.so.1"), {"toy_open": (c_int, (c_char_p, c_int))})
        if "toy_open" not in found: ...  # an older library

    Args:
        functions: a `ctypes.CDLL`, or an object with functions of its own that stand in for them.
        prototypes: the type of the result and those of the arguments, by name.

    Returns:
        The functions by name, in the order of `prototypes`. Those that the library lacks are left
        out.
    """
    found = {}
    for name, (result, arguments) in prototypes.items():
        function = getattr(functions, name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
            found[name] = function
    return found
