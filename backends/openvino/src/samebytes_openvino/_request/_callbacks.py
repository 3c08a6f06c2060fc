# SPDX-License-Identifier: Apache-2.0
"""Callbacks of OpenVINO, which come from its threads: how they are set, dropped and reported on.

A callback must not wait. OpenVINO counts an inference as ended when its callback has returned, and
the CPU and GPU plugins run the callbacks of a model one after another, so a callback that waits for
any inference of the model waits for itself. So does one that destroys an openvino.InferRequest,
whose destructor waits for its callback. Therefore a request that is dropped inside a callback is
handed to a thread, which waits in its place.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

__all__ = ["CALLBACKS", "calling_back", "disarm", "report", "retire", "trampoline"]


class _Callbacks(threading.local):
    """The number of callbacks that this thread is inside of."""

    depth = 0


CALLBACKS = _Callbacks()

# Never dropped, since their destructors would wait.
_kept: list[object] = []

_PATIENCE = 5.0  # seconds for OpenVINO to drop a callback, which takes microseconds


@contextlib.contextmanager
def calling_back() -> Iterator[None]:
    """A block for what a callback does."""
    CALLBACKS.depth += 1
    try:
        yield
    finally:
        CALLBACKS.depth -= 1


class Completes(Protocol):
    """An inference that is notified of its end."""

    def completed(self) -> None:
        """Act on OpenVINO's callback."""


def trampoline(inference: Completes) -> Callable[[object], None]:
    """A callback for OpenVINO that does not keep `inference`, which holds the native request.

    The garbage collector does not see OpenVINO's reference to the callback, so a strong reference
    to `inference` would keep the request forever. The callback is a partial and not a function:
    errors that a user's callback raises keep the functions on the stack, and `disarm` would wait
    for them.
    """
    return partial(_ended, weakref.ref(inference))


def _ended(alive: Callable[[], Completes | None], _userdata: object) -> None:
    found = alive()
    if found is not None:
        found.completed()


def disarm(native: Any, called: Callable[[], object]) -> None:
    """Make OpenVINO forget the callback of an idle request, and return when it has.

    OpenVINO's thread holds the function for a moment after wait() has returned, and takes the GIL
    to release it. If the model is destroyed in that moment, with the GIL held, both wait forever;
    and a thread that takes the GIL while Python exits ends the process.

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
        native: the request. Its destructor would wait, inside the callback that it waits for.
        holds: what it reads and writes.
        called: as for `disarm`; None if OpenVINO was not asked to call back.
    """
    parts = [native, holds, called]
    del native, holds
    try:
        # Not a daemon, as the caller's thread may be: the process would end meanwhile.
        threading.Thread(
            target=_wait_and_drop, args=(parts,), name="samebytes retire", daemon=False
        ).start()
    except RuntimeError:  # Python is exiting, and starts no threads
        _kept.append(parts)


def _wait_and_drop(parts: list[Any]) -> None:
    with contextlib.suppress(RuntimeError):
        parts[0].wait()
    if parts[2] is not None:
        disarm(parts[0], parts[2])
    parts.clear()


def _nothing(_userdata: object) -> None:
    """Do nothing, in place of a callback."""


class _CallbackError:
    """An object that reports an error when it is dropped, through sys.unraisablehook.

    The hook cannot be called directly, since only Python itself can make its argument.
    """

    __slots__ = ("_error",)

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __del__(self) -> None:
        try:
            raise self._error
        finally:
            del self  # the error's traceback holds this call


def report(error: BaseException) -> None:
    """Give an error that a callback raised to sys.unraisablehook."""
    try:
        _CallbackError(error)
    finally:
        del error  # the traceback holds this call too
