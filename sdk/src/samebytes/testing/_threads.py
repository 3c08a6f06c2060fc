# SPDX-License-Identifier: Apache-2.0
"""Threads that begin work at the same moment, and limits on how long to wait."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["in_threads", "switching_often", "wait_until", "within"]

_INTERVAL_S = 5e-6
_PATIENCE_S = 5.0


def in_threads(number: int, work: Callable[[int], None]) -> None:
    """Run `work(0)`, `work(1)` ... in one thread each, and raise the first error of any."""
    start = threading.Barrier(number, timeout=60)
    errors: list[BaseException] = []

    def run(which: int) -> None:
        try:
            start.wait()
            work(which)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(which,)) for which in range(number)]
    with switching_often():
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # this frame is in their tracebacks


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads take turns a thousand times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def wait_until(happened: Callable[[], bool]) -> bool:
    """True if it happens, at once or a little later: some releases wait for another thread."""
    end = time.monotonic() + _PATIENCE_S
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def within(seconds: float, work: Callable[[], None], stop: Callable[[], object]) -> bool:
    """Run `work` in another thread, and `stop` it if it takes longer.

    Returns:
        True if it ended in time. An error that it raised in time is raised here.
    """
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(seconds)
    in_time = not worker.is_alive()
    if not in_time:
        stop()
        worker.join(_PATIENCE_S)
    if errors and in_time:
        try:
            raise errors[0]
        finally:
            errors.clear()  # this frame is in their tracebacks
    return in_time
