# SPDX-License-Identifier: Apache-2.0
"""Level Zero's loader library: found, opened and initialised when first needed, and called."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_size_t, c_uint32, c_void_p
from typing import Any, TypeVar

from samebytes.errors import MissingDependencyError
from samebytes.plugins import bind

from . import _system
from ._abi.prototypes import OPTIONAL, PROTOTYPES
from ._abi.results import Result
from ._abi.structures import Typed, zel_component_version_t
from ._diagnosis import explain_no_device
from ._errors import LevelZeroError

__all__ = ["LIBRARY_NAME", "Library", "load", "open_library"]

_Structure = TypeVar("_Structure", bound=ctypes.Structure)

LIBRARY_NAME = "ze_loader.dll" if _system.WINDOWS else "libze_loader.so.1"
_HINT = (
    "install Intel's NPU or GPU driver, which brings it"
    if _system.WINDOWS
    else "apt install libze1   (dnf install oneapi-level-zero)"
)


class Library:
    """The functions of a loader, which raise where Level Zero returns an error."""

    def __init__(self, functions: Any) -> None:
        """Take an opened library, or an object with the functions that stands in for one.

        Raises:
            MissingDependencyError: it lacks a function that every loader has.
        """
        prototypes = {name: (c_uint32, arguments) for name, arguments in PROTOTYPES.items()}
        self._functions = bind(
            functions, prototypes, plugin="level_zero", library=LIBRARY_NAME, hint=_HINT,
            optional=OPTIONAL,
        )  # fmt: skip

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            LevelZeroError: it did not return ZE_RESULT_SUCCESS.
        """
        try:
            function = self._functions[name]
        except KeyError:
            raise LevelZeroError(name, Result.ERROR_UNSUPPORTED_FEATURE) from None
        code = function(*arguments)
        if code:
            raise LevelZeroError(name, code)

    def fill(self, cell: c_void_p, name: str, *arguments: Any) -> None:
        """Call a function that makes an object, for an owner that exists before.

        So no exception of a signal handler can lose the object: the driver itself stores it.

        Args:
            cell: gets the handle or pointer; empty if the function fails.
            name: the name of the function.
            arguments: its arguments without the last one, which is the cell's address.

        Raises:
            LevelZeroError: it did not return ZE_RESULT_SUCCESS.
        """
        try:
            self.call(name, *arguments, byref(cell))
        except LevelZeroError:
            cell.value = None
            raise

    def give_back(self, cell: c_void_p, name: str, *arguments: Any) -> None:
        """Empty a cell, and call the function that releases its contents.

        Raises:
            LevelZeroError: it did not return ZE_RESULT_SUCCESS.
        """
        cell.value = None
        code = self._functions[name](*arguments)
        if code:
            raise LevelZeroError(name, code)

    def handles(self, name: str, *parent: int) -> list[int]:
        """The handles that a function lists: asked for their number first, then for them."""
        count = c_uint32(0)
        self.call(name, *parent, byref(count), None)
        found = (c_void_p * count.value)()
        if count.value:
            self.call(name, *parent, byref(count), found)
        return [handle for handle in found[: count.value] if handle]

    def properties(self, name: str, parent: int, kind: type[_Structure]) -> list[_Structure]:
        """The structures that a function lists."""
        count = c_uint32(0)
        self.call(name, parent, byref(count), None)
        found = (kind * count.value)()
        if issubclass(kind, Typed):
            for entry in found:
                entry.stype = kind.STYPE
        if count.value:
            self.call(name, parent, byref(count), found)
        return list(found[: count.value])

    def version(self) -> str:
        """The loader's own version, for instance "1.8.12"; "unknown" if it does not report one."""
        if "zelLoaderGetVersions" not in self._functions:
            return "unknown"
        count = c_size_t(0)
        self.call("zelLoaderGetVersions", byref(count), None)
        found = (zel_component_version_t * count.value)()
        self.call("zelLoaderGetVersions", byref(count), found)
        for component in found:
            if component.component_name == b"loader":
                version = component.component_lib_version
                return f"{version.major}.{version.minor}.{version.patch}"
        return "unknown"


def open_library() -> ctypes.CDLL:
    """Open the loader, without initialising it.

    Raises:
        MissingDependencyError: it is not installed, or cannot be loaded.
    """
    try:
        return ctypes.CDLL(LIBRARY_NAME)
    except OSError as error:
        missing = f"Level Zero's loader ({error})"
        raise MissingDependencyError("level_zero", missing, _HINT) from error


# The first one is used: two threads may load it at the same time, and zeInit may be called again.
_loaded: list[Library] = []
_opened: list[Library] = []


def load() -> Library:
    """The loader, opened and initialised once for the process.

    A failure is not remembered: a driver that is installed later is found. The library is kept,
    since each library that is opened has types of its own, which only Python's collector frees.

    Raises:
        MissingDependencyError: there is no loader, no driver, or no permission to use the device.
        LevelZeroError: a driver is there and fails.
    """
    if not _loaded:
        if not _opened:
            _opened.append(Library(open_library()))
        _initialise(_opened[0])
        _loaded.append(_opened[0])
    return _loaded[0]


def _initialise(library: Library) -> None:
    try:
        library.call("zeInit", 0)
    except LevelZeroError as error:
        # The loader's answer where it found no driver that would work (zeInit, ze_api.h).
        if error.code != Result.ERROR_UNINITIALIZED:
            raise
        missing, hint = explain_no_device()
        raise MissingDependencyError("level_zero", missing, hint) from error
