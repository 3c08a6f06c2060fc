# SPDX-License-Identifier: Apache-2.0
"""libva: found and opened when first needed, called, and the error of a call that failed."""

from __future__ import annotations

import ctypes
from ctypes import byref, memset, sizeof
from functools import cache
from typing import Any

from samebytes.errors import MissingDependencyError, NativeError
from samebytes.plugins import bind

from ._abi.prototypes import ANSWERS, CALLS

__all__ = ["LIBRARY_NAME", "Library", "VAError", "load", "open_library"]

LIBRARY_NAME = "libva.so.2"


class VAError(NativeError):
    """A call into libva failed.

    Attributes:
        call: the function, for instance "vaCreateSurfaces".
        code: the VAStatus.
        status: the text of vaErrorStr, for instance "invalid VASurfaceID".
    """

    def __init__(self, call: str, code: int, status: str, advice: str = "") -> None:
        self.status = status
        super().__init__(call, code, "; ".join(part for part in (status, advice) if part))


class Library:
    """The functions of libva, which raise where it returns an error."""

    def __init__(self, functions: Any) -> None:
        """Take an opened library, or an object with the functions that stands in for one.

        Raises:
            MissingDependencyError: it lacks a function, as libva before 2.1 does.
        """
        prototypes = {name: (ctypes.c_int, arguments) for name, arguments in CALLS.items()}
        prototypes |= ANSWERS
        hint = "install libva 2.1 or later"
        self._functions = bind(
            functions, prototypes, plugin="vaapi", library=LIBRARY_NAME, hint=hint
        )

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            VAError: it did not return VA_STATUS_SUCCESS.
        """
        self._check(name, self._functions[name](*arguments))

    def give_back(self, cell: Any, empty: int, name: str, *arguments: Any) -> None:
        """Empty a cell, and call the function that releases its contents.

        Args:
            cell: a ctypes object.
            empty: the value of each byte of an empty one.
            name: the name of the function.
            arguments: its arguments.

        Raises:
            VAError: it did not return VA_STATUS_SUCCESS.
        """
        memset(byref(cell), empty, sizeof(cell))
        self.call(name, *arguments)

    def _check(self, name: str, code: int) -> None:
        if code:
            raise VAError(name, code, (self.ask("vaErrorStr", code) or b"").decode())

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call a function that returns no status."""
        return self._functions[name](*arguments)


@cache  # of what was opened: an error is not remembered
def open_library(name: str, package: str) -> ctypes.CDLL:
    """Open a library of the system; one object for each.

    Args:
        name: the name of the file.
        package: the package of Debian and Ubuntu that has it.

    Raises:
        MissingDependencyError: it is not installed, or cannot be loaded.
    """
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        missing = f"{name} ({error})"
        raise MissingDependencyError("vaapi", missing, f"apt install {package}") from error


# The first one is used: two threads may load it at the same time.
_loaded: list[Library] = []


def load() -> Library:
    """libva, opened once for the process. A failure is not remembered.

    Raises:
        MissingDependencyError: it is not installed, or too old.
    """
    if not _loaded:
        _loaded.append(Library(open_library(LIBRARY_NAME, "libva2")))
    return _loaded[0]
