# SPDX-License-Identifier: Apache-2.0
"""Log messages that would come with each frame, let through once in a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from ._core.owner.locks import Lock
from ._numbers import counted

__all__ = ["EVERY", "Seldom"]

EVERY = 10.0
"""The least number of seconds between two records of the same subject."""


class Seldom:
    """Lets a message through once in a while, and counts those left out meanwhile.

        if (left_out := seldom.may(name)) is not None:
            log.warning("...%s", left_out)

    Args:
        every: seconds between two messages on the same subject.
        now: the time in seconds.
    """

    def __init__(self, every: float = EVERY, now: Callable[[], float] = time.monotonic) -> None:
        self._every, self._now = every, now
        self._asking = Lock()
        self._last: dict[Hashable, float] = {}
        self._left_out: dict[Hashable, int] = {}

    def may(self, subject: Hashable) -> str | None:
        """A phrase that counts the messages left out since the last one; None to leave this out.

        Args:
            subject: the subject of the message; each is counted by itself.
        """
        now = self._now()
        with self._asking:
            last = self._last.get(subject)
            if last is not None and now - last < self._every:
                self._left_out[subject] = self._left_out.get(subject, 0) + 1
                return None
            self._last[subject] = now
            often = self._left_out.pop(subject, 0)
        return f" (and {counted(often, 'time')} more since this was last said)" if often else ""
