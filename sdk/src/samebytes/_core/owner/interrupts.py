# SPDX-License-Identifier: Apache-2.0
"""deferred(): no signal handler of Python's runs in a section that must not be torn."""

from __future__ import annotations

# The functions of `signal` look up an enumeration's member at each call: 15 times as long.
from _signal import (  # type: ignore[import-not-found]  # typeshed has it not
    getsignal,
    raise_signal,
    valid_signals,
)
from _signal import signal as install
from threading import current_thread, main_thread
from typing import Any

__all__ = ["deferred"]

_NUMBERS = tuple(valid_signals())


class deferred:  # noqa: N801 - used like a function
    """A section in which signals are noted, and at whose end their handlers run.

        with deferred():
            device = library.open(number)
            devices[number] = device

    It takes some 5 microseconds, so it is for paths that are slow or taken once. Nothing in it may
    wait for a user, since Ctrl-C does not end that wait.

    Python runs handlers only in the main thread, whichever thread gets the signal from the kernel.
    So a signal mask would not keep them away, and handlers are replaced here instead. In other
    threads there is nothing to do. A handler that is installed in the section stays.
    """

    __slots__ = ("_came", "_handlers", "_has_ended")

    def __enter__(self) -> None:
        self._has_ended = False
        self._came: list[int] = []
        self._handlers: dict[int, Any] = {}
        if current_thread() is not main_thread():
            return
        try:
            for number in _NUMBERS:
                handler = getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    install(number, self._note)
        except BaseException:  # of a handler that was not replaced yet
            self._put_back()
            raise

    def __exit__(self, *exc: object) -> None:
        try:
            self._put_back()
        finally:
            self._has_ended = True
            self._tell()

    def _note(self, number: int, frame: object) -> None:
        if self._has_ended:  # a handler that was installed in the section calls the one before it
            self._handlers[number](number, frame)
        else:
            self._came.append(number)

    def _put_back(self) -> None:
        try:
            for number, handler in self._handlers.items():
                if getsignal(number) == self._note:
                    install(number, handler)
        except BaseException:  # of a handler that is back already: put back the others all the same
            self._put_back()
            raise

    def _tell(self) -> None:
        if self._came:
            try:
                raise_signal(self._came.pop(0))
            finally:
                self._tell()
