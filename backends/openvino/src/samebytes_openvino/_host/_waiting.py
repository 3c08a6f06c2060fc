# SPDX-License-Identifier: Apache-2.0
"""Objects that OpenVINO still uses after their last holder in Python is gone.

OpenVINO does not report when the last use ends. So each sweep asks, and whoever drops such an
object sweeps while any are waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from samebytes.plugins import Loan

__all__ = ["keep_used", "waiting"]

waiting: set[int] = set()
"""The id of each object that is kept."""


def keep_used(held: Any, is_used: Callable[[Any], object]) -> None:
    """Keep an object for as long as OpenVINO uses its memory.

    Args:
        held: what is kept. Its finalizer may pass it itself.
        is_used: as `in_use` of `samebytes.plugins.Loan.keep_while`; it may return a count.
    """
    try:
        waiting.add(id(held))
        Loan.keep_while(partial(_waits, is_used), held)
    except BaseException:  # of a signal handler: whoever drops it keeps it once more
        waiting.discard(id(held))
        raise


def _waits(is_used: Callable[[Any], object], held: Any) -> bool:
    if is_used(held):
        return True
    waiting.discard(id(held))
    return False
