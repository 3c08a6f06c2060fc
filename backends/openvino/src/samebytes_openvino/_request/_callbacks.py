# SPDX-License-Identifier: Apache-2.0
"""Handle the end of inferences, which OpenVINO reports from one of its threads.

What a callback must not do is wait. OpenVINO counts an inference as ended when its callback has
returned, and the CPU and GPU plugins run the callbacks of a model one after another, so a callback
that waits for any inference of the model waits for itself. That includes the destructor of an
openvino.InferRequest, which waits for its callback. So what is dropped inside a callback is
handed to its own thread, which waits in its place.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

__all__ = ["calling_back", "disarm", "in_callback", "report", "retire", "trampoline"]

_this_thread = threading.local()
_kept: list[object] = []
_PATIENCE = 5.0
"""Seconds; it takes microseconds."""


def in_callback() -> bool:
    """True if this thread is inside a callback of an inference."""
    return getattr(_this_thread, "depth", 0) > 0


@contextlib.contextmanager
def calling_back() -> Iterator[None]:
    """Around what a callback does."""
    _this_thread.depth = getattr(_this_thread, "depth", 0) + 1
    try:
        yield
    finally:
        _this_thread.depth -= 1


class Completes(Protocol):
    """An inference that hears of its end."""

    def completed(self) -> None:
        """OpenVINO has called back."""


def trampoline(inference: Completes) -> Callable[[object], None]:
    """A callback for OpenVINO that does not keep `inference`, which holds the native request.

    The garbage collector does not see OpenVINO's reference to the callback, so a strong reference
    to `inference` would keep the request forever. It is a partial, since errors that a user's
    callback raises keep frames, and these functions: `disarm` would wait for them.
    """
    return partial(_ended, weakref.ref(inference))


def _ended(alive: Callable[[], Completes | None], _userdata: object) -> None:
    found = alive()
    if found is not None:
        found.completed()


def disarm(native: Any, called: Callable[[], object]) -> None:
    """Make OpenVINO forget the callback of an idle request, and return when it has.

    OpenVINO's thread holds the function for a moment after wait() has returned, and takes the GIL
    to release it. Whoever destroys the model in that moment, with the GIL held, waits for that
    thread forever; and a thread that takes the GIL while Python exits ends the process.

    Args:
        called: a weak reference to what OpenVINO calls.
    """
    with contextlib.suppress(RuntimeError):
        native.set_callback(_nothing, None)
    end = time.monotonic() + _PATIENCE
    while called() is not None and time.monotonic() < end:
        time.sleep(0.0005)  # which gives the GIL away


def retire(native: Any, holds: object, called: Callable[[], object] | None) -> None:
    """Let go of an openvino.InferRequest once its inference and its callback have ended.

    Args:
        native: the request, whose destructor would wait, in this very callback.
        holds: what it reads and writes.
        called: as for `disarm`; None if OpenVINO was not asked to call back.
    """
    parts = [native, holds, called]
    del native, holds
    try:
        threading.Thread(target=_wait_and_drop, args=(parts,), name="samebytes retire").start()
    except RuntimeError:  # Python is exiting, and starts no threads
        _kept.append(parts)


def _wait_and_drop(parts: list[Any]) -> None:
    with contextlib.suppress(RuntimeError):
        parts[0].wait()
    if parts[2] is not None:
        disarm(parts[0], parts[2])
    parts.clear()


def _nothing(_userdata: object) -> None:
    """Stands in for a callback."""


class _CallbackError:
    """Reports an error as Python does where nobody can catch it: sys.unraisablehook gets it.

    The hook cannot be called directly: Python alone makes what it takes.
    """

    __slots__ = ("_error",)

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


def report(error: BaseException) -> None:
    """Give an error that a callback raised to sys.unraisablehook."""
    _CallbackError(error)
