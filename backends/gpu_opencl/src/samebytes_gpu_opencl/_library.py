# SPDX-License-Identifier: Apache-2.0
"""Calling OpenCL by ctypes, through the same library that pyopencl uses."""

from __future__ import annotations

import ctypes
import sys
from ctypes import CFUNCTYPE, byref, c_char_p, c_int32, c_void_p
from functools import lru_cache
from typing import Any

import pyopencl
import pyopencl._cl as _pyopencl_cl

from samebytes.errors import NativeError

from ._abi import core, external_memory, usm

__all__ = ["call", "extension_function", "make", "meaning"]


def _load() -> Any:
    if sys.platform == "win32":
        return ctypes.CDLL("OpenCL.dll")
    # A symbol is looked for in what a library depends on, too: so this finds the OpenCL library
    # that pyopencl bundles, whatever its name, and not another one.
    return ctypes.CDLL(_pyopencl_cl.__file__)


_LIBRARY = _load()
_EXTENSIONS: dict[str, tuple[Any, ...]] = {**usm.FUNCTIONS, **external_memory.FUNCTIONS}
# pyopencl adds to_string() to its constants, which its type stubs do not say.
_STATUS: Any = pyopencl.status_code


def _bind(name: str) -> Any:
    function = getattr(_LIBRARY, name)
    if name in core.PROTOTYPES:
        function.restype, function.argtypes = core.RESULT, core.PROTOTYPES[name]
    else:
        function.restype = c_void_p
        function.argtypes = (*core.CREATORS[name], ctypes.POINTER(c_int32))
    return function


_FUNCTIONS = {name: _bind(name) for name in (*core.PROTOTYPES, *core.CREATORS)}

_LIBRARY.clGetExtensionFunctionAddressForPlatform.restype = c_void_p
_LIBRARY.clGetExtensionFunctionAddressForPlatform.argtypes = (c_void_p, c_char_p)


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns a cl_int.

    Raises:
        NativeError: it is not CL_SUCCESS.
    """
    code = _FUNCTIONS[name](*arguments)
    if code:
        raise NativeError(name, code, meaning(code))


def make(name: str, *arguments: Any) -> int:
    """Call a function that returns a handle or pointer, and an error code by its last argument.

    Raises:
        NativeError: the code is not CL_SUCCESS.
    """
    code = c_int32()
    handle = _FUNCTIONS[name](*arguments, byref(code))
    if code.value or not handle:
        raise NativeError(name, code.value, meaning(code.value))
    return int(handle)


@lru_cache(maxsize=64)
def extension_function(platform: int, name: str) -> Any:
    """A function of an extension, for the objects of one platform; None if it has not got it.

    Args:
        platform: the cl_platform_id.
        name: one of the `FUNCTIONS` of the _abi modules.
    """
    result, *arguments = _EXTENSIONS[name]
    address = _LIBRARY.clGetExtensionFunctionAddressForPlatform(platform, name.encode())
    if address:
        return CFUNCTYPE(result, *arguments)(address)
    # clCreateBufferWithProperties is in the core of OpenCL 3.0, and no extension's.
    function = getattr(_LIBRARY, name, None)
    if function is None:
        return None
    function.restype, function.argtypes = result, tuple(arguments)
    return function


def meaning(code: int) -> str:
    """The name of an error code, as in CL/cl.h, without its CL_."""
    try:
        return str(_STATUS.to_string(code))
    except ValueError:
        return ""
