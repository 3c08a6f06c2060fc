# SPDX-License-Identifier: Apache-2.0
"""Calls of the CUDA driver API, through cuda-bindings."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from cuda.bindings import driver

from samebytes import Fd
from samebytes.errors import MissingDependencyError, NativeError

__all__ = [
    "ATTRIBUTE", "LEGACY_STREAM", "NO_DRIVER", "Current", "Home", "Pending", "acquire", "attribute",
    "call", "check", "descriptor", "driver", "free_all", "initialize",
]  # fmt: skip

LEGACY_STREAM = 1
"""CU_STREAM_LEGACY: the default stream, even if a program is built for one in each thread."""

NO_DRIVER = (
    "install NVIDIA's driver, which brings libcuda.so.1 (in a container: the NVIDIA Container "
    "Toolkit)"
)


class Home(Protocol):
    """A CudaContext, as far as the modules below it know it.

    Attributes:
        queues: the latest streams of callers, by handle; see check_queue().
    """

    native: driver.CUcontext
    ordinal: int
    is_primary: bool
    closed: bool
    queues: dict[int, Any]

    def finish(self) -> None: ...
    def synchronize(self) -> None: ...
    def supports(self, name: str) -> bool: ...


# Its one element is the process in which the driver was initialised: a fork changes that.
_initialized_in = [0]


def initialize() -> None:
    """Load the driver and initialise it, once.

    Raises:
        MissingDependencyError: there is no driver, or it finds no device.
        NativeError: it fails, as it always does in a forked child.
    """
    if _initialized_in[0] == os.getpid():
        return
    try:
        (code,) = driver.cuInit(0)
    except RuntimeError as error:  # DynamicLibNotFoundError of cuda-pathfinder
        raise MissingDependencyError(
            "cuda", "the library libcuda.so.1 of NVIDIA's driver", NO_DRIVER
        ) from error
    if code == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        raise MissingDependencyError("cuda", "a device that CUDA can use", NO_DRIVER)
    if code:
        raise _error("cuInit", code)
    _initialized_in[0] = os.getpid()


def call(function: Any, *arguments: Any) -> Any:
    """The results of a driver API function, without its CUresult.

    Raises:
        NativeError: the result is not CUDA_SUCCESS.
    """
    code, *values = function(*arguments)
    check(function.__name__, code)
    return values[0] if len(values) == 1 else tuple(values)


Pending = list[Callable[[], object]]
"""Functions that free what driver calls made, the newest last; created before these calls."""


def acquire(pending: Pending, free: Callable[..., object], function: Any, *arguments: Any) -> Any:
    """The object that a driver API function makes.

    Args:
        pending: the list to which the call of `free` is appended.
        free: called with the object that was made.
        function, arguments: as for `call`.

    Raises:
        NativeError: the result is not CUDA_SUCCESS.
    """
    code, *values = function(*arguments)
    check(function.__name__, code)
    pending.append(partial(free, *values))
    return values[0] if values else None


def free_all(pending: Pending) -> Any:
    """Give back what was acquired, the newest first, each at most once.

    Returns:
        The first result that is not CUDA_SUCCESS, or 0.
    """
    failed = 0
    while pending:
        result = pending.pop()()
        if isinstance(result, tuple) and not failed:
            failed = result[0]
    return failed


def descriptor(function: Any, *arguments: Any) -> Fd:
    """The descriptor that a function of the driver API opens.

    Raises:
        NativeError: the result is not CUDA_SUCCESS.
    """
    return Fd(int(call(function, *arguments)))


def check(name: str, code: Any) -> None:
    """Raise NativeError if a result is not CUDA_SUCCESS."""
    if code:
        raise _error(name, code)


def _error(name: str, code: Any) -> NativeError:
    number = int(code)
    if number == 3 and _initialized_in[0] not in (0, os.getpid()):
        return NativeError(
            name,
            number,
            "CUDA_ERROR_NOT_INITIALIZED: this process was forked from one that uses CUDA, which "
            'does not work: start it by multiprocessing.get_context("spawn")',
        )
    try:
        meaning = getattr(code, "name", "") or driver.CUresult(number).name
        text = driver.cuGetErrorString(driver.CUresult(number))[1]
        if text:
            meaning = f"{meaning}: {text.decode(errors='replace')}"
    except ValueError:  # a result that this version of cuda-bindings does not know
        meaning = "a result that cuda-bindings does not know"
    return NativeError(name, number, meaning)


class Current:
    """A CUDA context that is current in this thread for the length of a block.

    Args:
        handle: the CUcontext.
    """

    __slots__ = ("_handle", "_pushed")

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._pushed: list[tuple[Any]] = []

    def __enter__(self) -> None:
        try:
            # Nothing comes between the call and the list.
            self._pushed.extend(map(driver.cuCtxPushCurrent, (self._handle,)))
            check("cuCtxPushCurrent", self._pushed[0][0])
        except BaseException:
            if self._pushed and not self._pushed[0][0]:
                driver.cuCtxPopCurrent()
            raise

    def __exit__(self, *exc: object) -> None:
        driver.cuCtxPopCurrent()


ATTRIBUTE = "CU_DEVICE_ATTRIBUTE_"
"""The prefix of the names in CUdevice_attribute."""


def attribute(name: str, device: int) -> int:
    """An attribute of a device; 0 if the driver or cuda-bindings does not know it yet.

    Args:
        name: its name in CUdevice_attribute, without `ATTRIBUTE`.
        device: the ordinal.
    """
    key = getattr(driver.CUdevice_attribute, ATTRIBUTE + name, None)
    if key is None:  # newer than this cuda-bindings
        return 0
    code, value = driver.cuDeviceGetAttribute(key, device)
    return 0 if code else int(value)
