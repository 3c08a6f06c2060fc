# SPDX-License-Identifier: Apache-2.0
"""Run the calls of a writer one at a time. A call that waits lets those of other threads run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from samebytes.errors import BusyError, ClosedError
from samebytes.plugins import Lock

from .server import Server

__all__ = ["Calls"]

T = TypeVar("T")

# How often a thread that waits for a slot looks again: arrays may be dropped without notice.
_NAP = 0.25


class Calls:
    """The state of a ring, and the lock for changing it: `with calls, calls.lock:`.

    Memory that readers are done with is dropped at the end, when the lock is free: its release runs
    code of others, which may wait for a thread that waits for the lock.

    Attributes:
        lock: held while the server, the slots or the numbers are used, and never to wait.
        server: its readers.
        state: "open", or what became of it.
        interrupted: calls must end.
        busy: a slot is being chosen, a frame accepted, or readers are served. A finalizer that runs
            in the middle of that has the lock already, and must do none of these.
    """

    __slots__ = ("busy", "interrupted", "lock", "server", "state")

    def __init__(self, server: Server) -> None:
        self.lock = Lock()
        self.server = server
        self.state = "open"
        self.interrupted = self.busy = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.drop()

    def drop(self) -> None:
        """Drop memory that readers are done with, where the lock is free."""
        # A finalizer that uses the ring may have come in the middle of a call.
        if self.server.over and not self.lock._is_owned():  # type: ignore[attr-defined]  # not in typeshed
            with suppress(IndexError):  # of another thread that drops them too
                while True:
                    self.server.over.popleft()

    def check(self) -> None:
        """Refuse a call that waits, if it cannot go on.

        Raises:
            ClosedError: the ring was closed or interrupted, or belongs to the parent process.
        """
        self.check_open()
        if self.interrupted:
            raise ClosedError("this ring was interrupted")

    def check_open(self) -> None:
        """Refuse a call that does not wait, if it cannot go on.

        Raises:
            ClosedError: the ring was closed, or belongs to the parent process.
        """
        if self.state != "open":
            raise ClosedError(f"this ring was {self.state}")

    def alone(self, do: Callable[[], T]) -> T:
        """Call a function, with the lock, unless it would run in the middle of another one.

        Raises:
            BusyError: it would.
        """
        self.check_not_busy()
        self.busy = True
        try:
            return do()
        finally:
            self.busy = False

    def check_not_busy(self) -> None:
        """Refuse the call of a finalizer or signal handler in the middle of another call.

        Raises:
            BusyError: it has interrupted one.
        """
        if self.busy:
            raise BusyError("this ring is being used by the call that this one interrupted")

    def until(
        self, found: Callable[[], T | None], seconds: float, error: Callable[[], Exception]
    ) -> T:
        """Serve until something is found.

        Args:
            found: called with the lock; it returns None to wait on.
            seconds: how long to wait.
            error: called without the lock; it makes the error that is raised after that time.

        Raises:
            ClosedError: as for `check`.
            BusyError: as for `alone`.
        """
        got = self._look_for(found)
        if got is not None:  # the usual case, for which nothing else is made
            return got
        deadline = time.monotonic() + seconds
        me, waiting = object(), self.server.waiting
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise error()
                if me in waiting:
                    self.server.poll(min(left, _NAP))
                else:  # and look again: what is dropped from now on wakes this thread
                    waiting.add(me)
                got = self._look_for(found)
                if got is not None:
                    return got
        finally:
            waiting.discard(me)

    def _look_for(self, found: Callable[[], T | None]) -> T | None:
        with self, self.lock:
            self.check()
            self.alone(self.server.serve)
            return found()
