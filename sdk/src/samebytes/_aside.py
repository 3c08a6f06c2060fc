# SPDX-License-Identifier: Apache-2.0
"""Library calls that wait, made in a thread of their own.

Python handles signals in the main thread, between instructions. A call that waits inside a library
would put Ctrl-C off until it returns, and some calls lose it then.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

__all__ = ["LOOK", "Aside", "taken_from"]

R = TypeVar("R")

LOOK = 0.2
"""Seconds between two checks for a signal."""

_PATIENCE = 0.5
_STEP = 0.05
"""Seconds that a call may take to return once it was woken. Then it is woken again: it may have
been between two waits."""

_INTERRUPT: Any = object()


def _nothing() -> None:
    """Do nothing: for callers that have nothing to wake or to close."""


def taken_from(queue: SimpleQueue[R]) -> R:
    """Take the next item of a queue, with a wait that Ctrl-C ends.

    `get()` without a time-out may miss a signal that comes just before it sleeps, or that Linux
    gives to a thread of a library: nothing wakes the main thread then until an item comes.

    Args:
        queue: what other threads put items in; it stays the caller's.
    """
    while True:
        try:
            return queue.get(timeout=LOOK)
        except Empty:
            continue


class Aside:
    """A thread that makes calls for another one, which waits for each.

    The wait ends when a signal handler raises, in the main thread, and when `interrupt()` is
    called, in every thread. Then `wake` is called, which should make the library's call return. If
    that does not return soon, it is given up: the thread goes on with it, calls `leave` when it
    has returned, and ends.

    Args:
        name: of the thread.
        wake: ends a call that waits. It may be called more than once, and while none waits.
        leave: called in the thread at its end, if a call was given up, to close what it used.

    If no thread can be started any more, or none runs because the interpreter is ending, calls are
    made in the calling thread.

    Attributes:
        left: True if a call was given up. No other call can be made then.
    """

    class GivenUpError(Exception):
        """A call did not return after interrupt(), so it is left to its thread."""

    def __init__(
        self,
        name: str,
        *,
        wake: Callable[[], object] = _nothing,
        leave: Callable[[], object] = _nothing,
    ) -> None:
        self._wake = wake
        self._left: list[Callable[[], object]] = []
        self._leave = leave
        self._interrupted = False
        self._calls: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        thread = threading.Thread(
            target=_serve, args=(self._calls, self._answers, self._left), name=name, daemon=True
        )
        self._thread: threading.Thread | None = thread
        # Before it starts: Ctrl-C in start() would leave a thread that nobody ends.
        weakref.finalize(self, self._calls.put, None).atexit = False
        if sys.is_finalizing():  # before Python 3.12 it would start, and never run
            self._thread = None
            return
        try:
            thread.start()
        except RuntimeError:  # since Python 3.12 none can be started while the interpreter ends
            self._thread = None

    @property
    def left(self) -> bool:
        """True if a call was given up."""
        return bool(self._left)

    def call(self, function: Callable[[], R]) -> R:
        """Have `function` called in the thread.

        Args:
            function: takes no arguments.

        Returns:
            What it returned.

        Raises:
            BaseException: what it raised, or what a signal handler raised meanwhile.
            GivenUpError: `interrupt()` was called, and it, or a call before, did not return soon.
        """
        if self._left:
            raise Aside.GivenUpError
        if self._thread is None or sys.is_finalizing():
            return function()
        try:
            self._calls.put(function)
            answer = _INTERRUPT if self._interrupted else taken_from(self._answers)
            if answer is _INTERRUPT:
                answer = self._woken()
        except BaseException:  # Ctrl-C: calls that clean up after it are not waited for either
            self._interrupted = True
            self._woken()
            raise
        if answer is None:
            raise Aside.GivenUpError
        returned, raised = answer
        try:
            if raised is not None:
                raise raised
            result: R = returned
            return result
        finally:
            del answer, returned, raised  # a traceback would hold this call

    def interrupt(self) -> None:
        """End the call that waits, and each later one that does not return soon.

        May be called from any thread and any signal handler.
        """
        self._interrupted = True  # the call that waits may return all the same
        self._answers.put(_INTERRUPT)

    def close(self) -> None:
        """End the thread; at once, unless a call was given up."""
        self._calls.put(None)
        self._wake = self._leave = _nothing  # these may hold the holder of this object
        if self._thread is not None and not self._left and not sys.is_finalizing():
            self._thread.join()

    def _woken(self) -> Any:
        """Wake the call and return its answer; give the call up and return None if none comes."""
        for _ in range(round(_PATIENCE / _STEP)):
            self._wake()
            try:
                while (answer := self._answers.get(timeout=_STEP)) is _INTERRUPT:
                    pass
            except Empty:
                continue
            return answer
        self._left.append(self._leave)
        self._calls.put(None)
        return None


def _serve(
    calls: SimpleQueue[Callable[[], Any] | None],
    answers: SimpleQueue[Any],
    left: list[Callable[[], object]],
) -> None:
    while (function := calls.get()) is not None:
        answer: tuple[Any, BaseException | None]
        try:
            answer = function(), None
        except BaseException as error:  # raised again where it is waited for
            answer = None, error
        del function
        answers.put(answer)
        del answer
    for leave in left:
        leave()
