# SPDX-License-Identifier: Apache-2.0
"""The run that a thread works for: waits inside an element end with it, and are noticed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._run import Run
    from ._watch import Worker

__all__ = ["CURRENT", "blocked", "is_stopping"]


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
    """While the calling thread waits for others: what it has to do does not move."""
    worker = CURRENT.worker
    if worker is None:
        yield
        return
    worker.waits = True
    try:
        yield
    finally:
        worker.waits = False
