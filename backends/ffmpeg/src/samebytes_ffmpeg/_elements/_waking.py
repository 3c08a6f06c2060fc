# SPDX-License-Identifier: Apache-2.0
"""Ending a read that waits for data, from another thread.

FFmpeg asks PyAV ten times a second whether a wait has lasted too long.
"""

from __future__ import annotations

import itertools
from typing import Any

from .._pyav import end_wait

__all__ = ["Waking"]

_numbers = itertools.count(1)


class Waking:
    """The time-out of one container, and its end.

    Args:
        seconds: how long a read may wait for data.

    Attributes:
        timeout: what av.open() takes: very nearly `seconds`, and no other container's.
    """

    def __init__(self, seconds: float) -> None:
        # No other number in a container's object is this one.
        self.timeout = seconds + (next(_numbers) % 100_000) * 1e-7 + 1e-8

    def wake(self, container: Any) -> bool:
        """End a read of the container that waits now, with av.ExitError.

        Returns:
            False: none waits, or this PyAV keeps the number elsewhere, and it ends by the time-out.
        """
        return end_wait(container, self.timeout)
