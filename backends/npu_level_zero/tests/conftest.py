# SPDX-License-Identifier: Apache-2.0
"""The device under test, programs in their own processes, and a driver made of Python."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes import Device, Storage
from samebytes.errors import MissingDependencyError
from samebytes.testing import missing_device
from samebytes_npu_level_zero import LevelZeroContext, devices
from samebytes_npu_level_zero._abi.results import Result
from samebytes_npu_level_zero._abi.structures import Typed, ze_context_desc_t
from samebytes_npu_level_zero._devices import DeviceEntry
from samebytes_npu_level_zero._loader import Library, load
from samebytes_npu_level_zero._native_context import NativeContext

NO_DEVICE = missing_device("NPU")


def _no_device() -> bool:
    try:
        return not devices()
    except MissingDependencyError:
        return True


@pytest.fixture(scope="session")
def device() -> None:
    """Skip the test if there is no device."""
    if _no_device():
        pytest.skip(NO_DEVICE)


@pytest.fixture
def context(request: pytest.FixtureRequest) -> LevelZeroContext:
    """The context on the device."""
    request.getfixturevalue("device")
    found = samebytes.context("level_zero")
    assert isinstance(found, LevelZeroContext)
    return found


def _descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def _no_descriptor_left() -> Iterator[None]:
    before = _descriptors()
    yield
    assert _descriptors() == before


@pytest.fixture
def no_descriptor_left() -> Callable[[], AbstractContextManager[None]]:
    """A block that must close every descriptor that it opens."""
    return _no_descriptor_left


def pointed_to(argument: Any) -> Any:
    """The object that was passed to byref()."""
    return argument._obj


class FakeDriver:
    """A loader whose functions are Python's; those without a handler succeed and do nothing.

    Attributes:
        calls: the name and arguments of each call.
        handlers: by the function's name; they return a ze_result_t or None.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.handlers: dict[str, Callable[..., int | None]] = {}

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("ze"):
            raise AttributeError(name)

        def function(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            handler = self.handlers.get(name)
            answer = handler(*arguments) if handler else None
            return int(answer or Result.SUCCESS)

        return function

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of one function."""
        return [arguments for called, arguments in self.calls if called == name]

    def context(self, driver: int = 0xD0) -> NativeContext:
        """A native context on a device of this driver."""
        entry = DeviceEntry("NPU", driver, 0xDE, Device("NPU", "fake"), 0)
        return NativeContext(Library(self), entry, 0xC0, Storage())

    @staticmethod
    def argument(argument: Any) -> Any:
        """The object that was passed to byref()."""
        return pointed_to(argument)

    @staticmethod
    def chained(argument: Any, kind: type[Typed]) -> Any:
        """The first structure that is chained to one, if it is of that kind."""
        address = pointed_to(argument).pNext
        if not address or ctypes.c_uint32.from_address(address).value != kind.STYPE:
            return None
        return kind.from_address(address)


@pytest.fixture
def fake() -> FakeDriver:
    """A driver written in Python, for behaviour that no available driver shows."""
    return FakeDriver()


@pytest.fixture
def two_devices() -> dict[str, str]:
    """The variables that make the software driver show a GPU beside its NPU, in its own process."""
    return {"SOFTNPU_DEVICES": "npu,gpu", "SOFTZE_DEVICES": "npu,gpu"}


@pytest.fixture
def delayed() -> dict[str, str]:
    """The variables that make the software driver run commands late, in its own process."""
    return {"SOFTNPU_DELAY_US": "20000", "SOFTZE_ASYNC_US": "20000"}


class NativeOwner:
    """A native context of the application, which destroys it when this object is gone.

    Attributes:
        handle: the ze_context_handle_t.
        destroy: its finalizer, which is `alive` until the context was destroyed.
    """

    def __init__(self, like: LevelZeroContext) -> None:
        self.device, self.driver = like.handle("ze_device"), like.handle("ze_driver")
        made, library = ctypes.c_void_p(), load()
        descriptor = ctypes.byref(ze_context_desc_t())
        library.call("zeContextCreate", self.driver, descriptor, ctypes.byref(made))
        self.handle = made.value or 0
        self.destroy = weakref.finalize(self, library.call, "zeContextDestroy", self.handle)

    def context(self) -> LevelZeroContext:
        """The context over it."""
        return LevelZeroContext.from_handles(
            ze_context=self.handle, ze_device=self.device, ze_driver=self.driver, keep=self
        )


@pytest.fixture
def make_owner(context: LevelZeroContext) -> Callable[[], NativeOwner]:
    """Make native contexts of the application, on the device."""
    return lambda: NativeOwner(context)


@pytest.fixture
def application(make_owner: Callable[[], NativeOwner]) -> NativeOwner:
    """A native context of the application."""
    return make_owner()


@pytest.fixture
def other(application: NativeOwner) -> LevelZeroContext:
    """A second context on the device."""
    return application.context()
