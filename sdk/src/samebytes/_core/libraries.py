# SPDX-License-Identifier: Apache-2.0
"""The functions of a C library, with their types."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..errors import MissingDependencyError

__all__ = ["bind"]


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

        found = bind(
            ctypes.CDLL("libtoy.so.1"),
            {"toy_open": (c_int, (c_char_p, c_int)), "toy_version": (c_int, ())},
            plugin="toy", library="libtoy.so.1", hint="install libtoy 1.2 or later",
            optional={"toy_version"},
        )
        if "toy_version" not in found: ...  # an older library

    Args:
        functions: a `ctypes.CDLL`, or an object with functions of its own that stand in for them.
        prototypes: the type of the result and those of the arguments, by name.
        plugin: whose library it is, for the error.
        library: its name, for the error.
        hint: how to get one that has the functions, for the error.
        optional: names of functions that some versions lack.

    Returns:
        The functions by name, in the order of `prototypes`, without those optional ones that the
        library lacks.

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
