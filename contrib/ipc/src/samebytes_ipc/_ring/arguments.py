# SPDX-License-Identifier: Apache-2.0
"""The arguments that callers pass to a ring: timeouts, targets and counts."""

from __future__ import annotations

from operator import index
from typing import Any

from samebytes.errors import LayoutError

__all__ = ["check_target", "check_timeout", "is_whole"]


def check_timeout(seconds: Any, name: str = "timeout") -> None:
    """Refuse a timeout that nobody can wait for; None means no limit.

    Raises:
        ValueError: not-a-number, for which a ring would wait forever, or another object.
    """
    try:
        if seconds is None or seconds >= 0 or seconds < 0:
            return
    except TypeError:
        pass
    raise ValueError(
        f"{name}={seconds!r}: give the seconds to wait, 0 to look without waiting, or None to "
        "wait for as long as it takes"
    )


def check_target(target: Any, use: str) -> None:
    """Refuse a memory type that frames of a ring cannot have.

    Args:
        target: the argument.
        use: the beginning of what the error says about it.

    Raises:
        LayoutError: neither "dma" nor "cpu".
    """
    if target not in ("dma", "cpu"):
        raise LayoutError(f'target={target!r}: {use} "dma" or "cpu"')


def is_whole(value: Any, lowest: int, highest: int) -> bool:
    """True if a value is a whole number from `lowest` to `highest`."""
    try:
        return lowest <= index(value) <= highest
    except TypeError:
        return False
