# SPDX-License-Identifier: Apache-2.0
"""The calls of NVIDIA's driver without which FFmpeg cannot share a context with other libraries.

FFmpeg's own options are not enough: `primary_ctx` refuses a primary context that somebody else,
such as torch, made active with other flags, and `current_ctx` takes the context of the calling
thread, which may be a thread of ours. So the primary context is retained here, as by CUDA's
runtime, and made current while FFmpeg looks for one.

Names and numbers are those of NVIDIA's documentation of the CUDA driver API.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import Any

from samebytes import Device
from samebytes.errors import MissingDependencyError, NativeError, UnknownNameError

__all__ = [
    "context_of",
    "current",
    "device_count",
    "device_of",
    "is_primary",
    "new_stream",
    "primary_context",
    "synchronize",
]

_HINT = (
    "install NVIDIA's driver, which brings libcuda.so.1 (in a container: the NVIDIA Container "
    "Toolkit)"
)
_NO_DEVICE = 100
"""CUDA_ERROR_NO_DEVICE."""
_NAME_BYTES, _PCI_BYTES, _UUID_BYTES = 128, 32, 16


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise MissingDependencyError(
            "ffmpeg", "the library libcuda.so.1 of NVIDIA's driver", _HINT
        ) from error
    code = library.cuInit(c_uint(0))
    if code == _NO_DEVICE:
        raise MissingDependencyError("ffmpeg", "a device that CUDA can use", _HINT)
    _check("cuInit", code)
    return library


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the driver.

    Raises:
        MissingDependencyError: there is no driver, or no device.
        NativeError: it fails.
    """
    _check(name, getattr(_library(), name)(*arguments))


def _check(name: str, code: int) -> None:
    if code:
        raise NativeError(name, code, "a result of the CUDA driver API")


def device_count() -> int:
    """The number of devices.

    Raises:
        MissingDependencyError: there is no driver, or no device.
    """
    count = c_int()
    _call("cuDeviceGetCount", byref(count))
    return count.value


@cache
def primary_context(ordinal: int) -> int:
    """The CUcontext that torch and CUDA's runtime use on a device, retained until the process ends.

    Raises:
        MissingDependencyError: there is no driver, or no device.
        NativeError: the driver fails.
        UnknownNameError: there is no such device.
    """
    count = device_count()
    if not 0 <= ordinal < count:
        raise UnknownNameError("CUDA device", str(ordinal), map(str, range(count)))
    context = c_void_p()
    _call("cuDevicePrimaryCtxRetain", byref(context), c_int(ordinal))
    return context.value or 0


@cache
def is_primary(ordinal: int, context: int) -> bool:
    """True if a CUcontext is the primary one of its device, which is retained then.

    Args:
        ordinal: the device's number.
        context: the CUcontext.

    Raises:
        NativeError: the driver fails.
    """
    return primary_context(ordinal) == context


@contextmanager
def current(context: int) -> Iterator[None]:
    """Make a CUcontext current in this thread for the length of a block.

    Raises:
        NativeError: it is not a CUcontext.
    """
    _call("cuCtxPushCurrent_v2", c_void_p(context))
    try:
        yield
    finally:
        _library().cuCtxPopCurrent_v2(POINTER(c_void_p)())


def new_stream(context: int) -> int:
    """A new CUstream of a context that waits for its legacy default stream, and is waited for.

    Raises:
        NativeError: the driver fails.
    """
    stream, blocking = c_void_p(), 0  # CU_STREAM_DEFAULT
    with current(context):
        _call("cuStreamCreate", byref(stream), c_uint(blocking))
    return stream.value or 0


def context_of(context: int, stream: int) -> int:
    """The CUcontext that a stream belongs to.

    Args:
        context: any CUcontext of the device.
        stream: a CUstream that exists.

    Raises:
        NativeError: the driver knows no such stream.
    """
    found = c_void_p()
    with current(context):
        _call("cuStreamGetCtx", c_void_p(stream), byref(found))
    return found.value or 0


def synchronize(context: int, stream: int) -> None:
    """Return when what is enqueued on a stream of a context is done.

    Args:
        context: the CUcontext.
        stream: the CUstream; 0 for the legacy default stream.

    Raises:
        NativeError: the driver fails.
    """
    with current(context):
        _call("cuStreamSynchronize", c_void_p(stream))


def device_of(context: int) -> tuple[int, Device]:
    """The ordinal and the description of the device of a CUcontext.

    Raises:
        NativeError: the driver fails.
    """
    ordinal = c_int()
    with current(context):
        _call("cuCtxGetDevice", byref(ordinal))
    return ordinal.value, _described(ordinal.value)


@cache
def _described(ordinal: int) -> Device:
    name, pci = (ctypes.create_string_buffer(size) for size in (_NAME_BYTES, _PCI_BYTES))
    uuid = (ctypes.c_ubyte * _UUID_BYTES)()
    number = c_int(ordinal)
    _call("cuDeviceGetName", name, c_int(_NAME_BYTES), number)
    _call("cuDeviceGetUuid", byref(uuid), number)
    _call("cuDeviceGetPCIBusId", c_char_p(ctypes.addressof(pci)), c_int(_PCI_BYTES), number)
    return Device("GPU", name.value.decode(), uuid=bytes(uuid), pci=pci.value.decode().lower())
