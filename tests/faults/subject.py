# SPDX-License-Identifier: Apache-2.0
"""The base class of the subjects of strikes, and the thread beside them."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["LONG", "Other", "Subject"]

LONG = 30
"""Seconds after which something hangs."""


class Subject:
    """Something that is used again and again, with another thread that uses it too."""

    def work(self) -> None:
        """Use it. An exception of a signal handler may come anywhere in here."""
        raise NotImplementedError

    def check(self) -> None:
        """See that nothing is lost, stuck or wrong; nothing is raised in here from outside."""
        raise NotImplementedError

    def close(self) -> None:
        """End the other thread."""


class Other:
    """A thread that repeats something until it is stopped, and can be paused."""

    def __init__(self, once: Callable[[], None]) -> None:
        self._once = once
        self._over = False
        self._failed: list[BaseException] = []
        self.turn = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._over:
                with self.turn:
                    self._once()
        except BaseException as error:
            self._failed.append(error)

    def check(self) -> None:
        if self._failed:
            raise self._failed[0]

    def stop(self) -> None:
        self._over = True
        self._thread.join(LONG)
        assert not self._thread.is_alive(), "the other thread hangs"
        self.check()
