# SPDX-License-Identifier: Apache-2.0
"""Waiting in readers and writers: deadlines, polling without sleep, and a way to end a wait."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

from samebytes import Fd

__all__ = [
    "FOREVER",
    "LONGEST_WAIT",
    "deadline_of",
    "eventfd",
    "events_before",
    "seconds_until",
    "wake_up",
]

FOREVER = float("inf")

LONGEST_WAIT = 86_400.0
"""Seconds that one call waits, at most; whoever waits longer calls again. The kernel's calls count
milliseconds in an int, so more than 24 days is an error there."""


def deadline_of(timeout: float | None) -> float | None:
    """The moment so many seconds from now, as of time.monotonic(); None without a timeout."""
    return None if timeout is None else time.monotonic() + timeout


def seconds_until(deadline: float | None) -> float:
    """Return the seconds that are left until a deadline, at least 0; FOREVER without one."""
    return FOREVER if deadline is None else max(deadline - time.monotonic(), 0)


def events_before(
    waiting: select.poll, deadline: float | None, spin: float = 0.0
) -> list[tuple[int, int]]:
    """The events that come before a deadline. After a day it returns, and can be called again.

    Args:
        waiting: reports them.
        deadline: as for `deadline_of`.
        spin: for how many seconds this thread does not sleep at first.
    """
    if spin > 0:
        until = time.monotonic() + min(spin, seconds_until(deadline))
        while not (events := waiting.poll(0)):
            if time.monotonic() >= until:
                break
        if events:
            return events
    return waiting.poll(max(min(seconds_until(deadline), LONGEST_WAIT) * 1000, 1))


def eventfd() -> Fd:
    """Return a descriptor that wakes waiting threads, once it is written to and until it is read.

    A ring drops it and never closes it: another thread may be about to write to its number.
    """
    return Fd(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))


def wake_up(wake: Fd | None) -> None:
    """Wake the threads that wait for an eventfd."""
    if wake is not None:
        with suppress(OSError):  # its counter is full: it is readable all the same
            os.eventfd_write(wake.fileno(), 1)
