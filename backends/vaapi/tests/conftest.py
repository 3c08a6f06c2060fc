# SPDX-License-Identifier: Apache-2.0
"""The display under test, programs in other processes, and a libva that can be made to fail."""

from __future__ import annotations

import ctypes
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes.errors import MissingDependencyError, UnknownNameError
from samebytes.testing import missing_device
from samebytes_vaapi import VAAPIContext, _nodes
from samebytes_vaapi._abi.prototypes import ANSWERS, CALLS
from samebytes_vaapi._display import NativeDisplay
from samebytes_vaapi._library import LIBRARY_NAME, Library, load
from samebytes_vaapi._opening import borrow_display, open_drm

NO_DEVICE = missing_device("VAAPI")


def _no_device() -> bool:
    try:
        VAAPIContext.open()
    except (MissingDependencyError, UnknownNameError):
        return True
    return False


@pytest.fixture(scope="session")
def device() -> None:
    """Skip the test if no display can be opened."""
    if _no_device():
        pytest.skip(NO_DEVICE)


@pytest.fixture(scope="session")
def dma_plugin() -> None:
    """Skip the test if the package for DMA-BUFs is not installed."""
    pytest.importorskip(
        "samebytes_dma", reason="missing package samebytes-dma: pip install samebytes-dma"
    )


@pytest.fixture
def context(request: pytest.FixtureRequest) -> VAAPIContext:
    """The context of the default display."""
    request.getfixturevalue("device")
    found = samebytes.context("vaapi")
    assert isinstance(found, VAAPIContext)
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


class WrappedFunctions:
    """libva's own functions, with handlers before some of them.

    Attributes:
        calls: the name and arguments of each call.
        succeeded: how often each returned VA_STATUS_SUCCESS.
        handlers: by the function's name; they get the real function and the arguments, and return
            the result of the call.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.succeeded: Counter[str] = Counter()
        self.handlers: dict[str, Callable[..., Any]] = {}
        real = ctypes.CDLL(LIBRARY_NAME)
        types = {name: (ctypes.c_int, arguments) for name, arguments in CALLS.items()} | ANSWERS
        for name, (result, arguments) in types.items():
            function = getattr(real, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, self._wrapped(name, function))

    def _wrapped(self, name: str, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls.append((name, arguments))
            handler = self.handlers.get(name)
            answer = handler(function, *arguments) if handler else function(*arguments)
            self.succeeded[name] += answer == 0
            return answer

        return call

    def fail(self, name: str, status: int = 1) -> None:
        """Make a function fail from now on."""
        self.handlers[name] = lambda *_: status

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of one function."""
        return [arguments for called, arguments in self.calls if called == name]


class Wrapped:
    """A display of its own, opened through wrapped functions.

    Attributes:
        functions: the wrapped functions.
        context: its context.
    """

    def __init__(self, node: str) -> None:
        self.functions = WrappedFunctions()
        self.display = self.open(node)
        self.context = VAAPIContext(self.display)

    def open(self, node: str) -> NativeDisplay:
        """Open another display on a node, through the same functions."""
        return open_drm(Library(self.functions), node)

    def borrow(self, owner: object) -> NativeDisplay:
        """Return the first display as one of the user's, which `owner` terminates."""
        return borrow_display(Library(self.functions), self.display.pointer, owner)

    @staticmethod
    def filled(argument: Any) -> Any:
        """The object that was passed to byref()."""
        return argument._obj


def terminations(wrapped: Wrapped) -> int:
    """The number of times that its display was terminated."""
    return len(wrapped.functions.named("vaTerminate"))


@pytest.fixture
def node(context: VAAPIContext) -> str:
    """The path of the default node."""
    path = context.device.drm_node
    assert path is not None
    return path


@pytest.fixture
def render_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder in place of /dev/dri, and no variable that names a node."""
    monkeypatch.delenv("SAMEBYTES_VAAPI_DEVICE", raising=False)
    monkeypatch.setattr(_nodes, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture
def sysfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder in place of /sys/dev/char, which has each device by its number."""
    monkeypatch.setattr(_nodes, "SYSTEM", tmp_path)
    return tmp_path


@pytest.fixture
def software(node: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., VAAPIContext]:
    """Make contexts on separate displays of the software driver, with options of their own."""

    def make(**options: str) -> VAAPIContext:
        for name, value in options.items():
            monkeypatch.setenv(name, value)
        display = open_drm(load(), node)
        if not display.vendor.startswith("samebytes software"):
            pytest.skip(NO_DEVICE)
        return VAAPIContext(display)

    return make


@pytest.fixture
def wrapped(node: str) -> Wrapped:
    """A second display, whose functions can be made to fail."""
    return Wrapped(node)
