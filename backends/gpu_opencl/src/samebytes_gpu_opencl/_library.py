# SPDX-License-Identifier: Apache-2.0
"""Calling OpenCL by ctypes, through the same library that pyopencl uses."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_char_p, c_int32, c_void_p
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import pyopencl
import pyopencl._cl as _pyopencl_cl

from samebytes.errors import NativeError
from samebytes.plugins import bind

from ._abi import core, external_memory, usm

__all__ = [
    "call",
    "call_noting",
    "extension_function",
    "give_back",
    "in_our_words",
    "making",
    "meaning",
    "native_error",
]

P = ParamSpec("P")
T = TypeVar("T")


def _load() -> Any:
    if sys.platform == "win32":
        return ctypes.CDLL("OpenCL.dll")
    # As the dynamic linker does it for pyopencl: what was loaded for all to see comes first
    # (LD_PRELOAD, for one). Layers would be passed by if the two used different loaders.
    for_all = ctypes.CDLL(None)
    if hasattr(for_all, "clGetPlatformIDs"):
        return for_all
    # A symbol is looked for in what a library depends on, too: so this finds the OpenCL library
    # that pyopencl bundles, whatever its name, and not another one.
    return ctypes.CDLL(_pyopencl_cl.__file__)


_LIBRARY = _load()
_EXTENSIONS: dict[str, tuple[Any, ...]] = {**usm.FUNCTIONS, **external_memory.FUNCTIONS}
# pyopencl adds to_string() to its constants, which its type stubs do not say.
_STATUS: Any = pyopencl.status_code


_FUNCTIONS = bind(
    _LIBRARY,
    {
        **{name: (core.RESULT, arguments) for name, arguments in core.PROTOTYPES.items()},
        **{
            name: (c_void_p, (*arguments, ctypes.POINTER(c_int32)))
            for name, arguments in core.CREATORS.items()
        },
        "clGetExtensionFunctionAddressForPlatform": (c_void_p, (c_void_p, c_char_p)),
    },
    plugin="opencl",
    library="the OpenCL library that pyopencl uses",
    hint="pip install --upgrade pyopencl",
)


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns a cl_int.

    Raises:
        NativeError: it is not CL_SUCCESS.
    """
    code = _FUNCTIONS[name](*arguments)
    if code:
        raise NativeError(name, code, meaning(code))


@lru_cache(maxsize=64)
def extension_function(platform: int, name: str) -> Any:
    """A function of an extension, for the objects of one platform; None if that lacks it.

    Args:
        platform: the cl_platform_id.
        name: one of the `FUNCTIONS` of the _abi modules.
    """
    result, *arguments = _EXTENSIONS[name]
    find = _FUNCTIONS["clGetExtensionFunctionAddressForPlatform"]
    address = find(platform, name.encode())
    if address:
        return CFUNCTYPE(result, *arguments)(address)
    # clCreateBufferWithProperties is in the core of OpenCL 3.0, and no extension's.
    function = getattr(_LIBRARY, name, None)
    if function is None:
        return None
    function.restype, function.argtypes = result, tuple(arguments)
    return function


def making(name: str, *arguments: Any, function: Any = None) -> Callable[[c_void_p], None]:
    """Return a callable that stores in a cell the handle or pointer that a function returns.

    It raises NativeError if the error code, the function's last argument, is not CL_SUCCESS. The
    owner that releases the contents of the cell exists before the call.

    Args:
        name: the name of the function, for the error.
        arguments: its arguments, without the error code.
        function: a function of an extension; by default the one of that name.
    """

    def fill(cell: c_void_p) -> None:
        code = c_int32()
        cell.value = (function or _FUNCTIONS[name])(*arguments, byref(code))
        if code.value or not cell.value:
            raise NativeError(name, code.value, meaning(code.value))

    return fill


def call_noting(
    cell: c_void_p, value: int | None, name: str, *arguments: Any, function: Any = None
) -> None:
    """Call a function as `call()` does, and store in a cell the value that its owner gives back.

    Args:
        cell: gets the value, if the function succeeds.
        value: a handle or pointer that the function takes; None if there is nothing to give back
            any more.
        name: the name of the function.
        arguments: its arguments.
        function: a function of an extension; by default the one of that name.

    Raises:
        NativeError: it does not return CL_SUCCESS.
    """
    cell.value = None
    code = (function or _FUNCTIONS[name])(*arguments)
    if code:
        raise NativeError(name, code, meaning(code))
    cell.value = value


def give_back(cell: c_void_p, name: str, *arguments: Any) -> None:
    """Empty a cell, and call the function that releases its contents.

    Raises:
        NativeError: it does not return CL_SUCCESS.
    """
    cell.value = None
    code = _FUNCTIONS[name](*arguments)
    if code:
        raise NativeError(name, code, meaning(code))


def native_error(error: pyopencl.Error) -> NativeError:
    """Return the samebytes error for one that pyopencl raised."""
    said: Any = error
    return NativeError(said.routine, said.code, meaning(said.code))


def in_our_words(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that calls pyopencl, whose errors become NativeError."""

    @wraps(function)
    def calling(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except pyopencl.Error as error:
            raise native_error(error) from error

    return calling


def meaning(code: int) -> str:
    """The name of an error code, as in CL/cl.h, without its CL_."""
    try:
        return str(_STATUS.to_string(code))
    except ValueError:
        return ""
