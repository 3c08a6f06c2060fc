# SPDX-License-Identifier: Apache-2.0
"""Which run a thread works for, so that a wait deep inside of an element ends with it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._run import Run
    from ._watch import Worker

__all__ = ["CURRENT", "is_stopping"]


class _Current(threading.local):
    run: Run | None = None
    worker: Worker | None = None


CURRENT = _Current()
"""`CURRENT.run` is that of the calling thread, or None; `CURRENT.worker` the thread itself."""


def is_stopping() -> bool:
    """Whether the run that this thread works for was asked to stop."""
    run = CURRENT.run
    return run is not None and run.stopping
