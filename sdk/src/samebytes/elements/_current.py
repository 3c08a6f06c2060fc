# SPDX-License-Identifier: Apache-2.0
"""The run that a thread works for, which notices the waits inside elements, and ends them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ..errors import ElementError

__all__ = ["CURRENT", "blocked", "is_stopping"]


class Watch(Protocol):
    """The watch of a run, as waits inside an element use it: see `_watch`."""

    patience: float

    def moves(self) -> bool: ...
    def progress(self) -> int: ...
    def where(self) -> str: ...


class Journal(Protocol):
    """The log of a run, as the elements of the run use it: see `_journal`."""

    def failed(self, error: ElementError, *, goes_on: bool) -> None: ...
    def took_long(self, meter: Any, nanoseconds: int) -> None: ...
    def look(self, watch: Any) -> None: ...


class Run(Protocol):
    """A run, as the threads that work for it know it: see `_run`."""

    stopping: bool

    @property
    def watch(self) -> Watch: ...
    @property
    def journal(self) -> Journal: ...


class Worker(Protocol):
    """A thread that serves an element: see `_watch`."""

    waits: bool


class _Current(threading.local):
    run: Run | None = None
    worker: Worker | None = None


CURRENT = _Current()
"""`CURRENT.run` is that of the calling thread, or None; `CURRENT.worker` the thread itself."""


def is_stopping() -> bool:
    """True if the run that this thread works for was asked to stop."""
    run = CURRENT.run
    return run is not None and run.stopping


@contextmanager
def blocked() -> Iterator[None]:
    """A block in which the calling thread waits for others, so its own work does not move."""
    worker = CURRENT.worker
    if worker is None:
        yield
        return
    worker.waits = True
    try:
        yield
    finally:
        worker.waits = False
