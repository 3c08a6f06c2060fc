# SPDX-License-Identifier: Apache-2.0
"""Gate: no thread works in an element while another one negotiates for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .._core.owner.locks import Lock
from ._current import blocked

__all__ = ["Gate"]

P = ParamSpec("P")
T = TypeVar("T")


class Gate:
    """Lets any number of threads in, but none while the state that they rely on is changed.

    The state that an element keeps from its last negotiate(), such as a size, holds for the frames
    that it works on. So a frame of another layout waits until these are out, and negotiates then.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._changed = threading.Condition(self._lock)
        self._inside = 0
        self._waiting = 0

    def enter(
        self,
        ready: Callable[P, T | None],
        prepare: Callable[P, T],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """Enter, once `ready` returns something; `prepare` makes it so, when nobody is inside.

        Args:
            args, named: the arguments of both.

        Returns:
            The result of `ready` or `prepare`.
        """
        with self._lock:  # the condition's own, since its methods take longer than the gate
            while not (found := ready(*args, **named)):
                if not self._inside:
                    found = prepare(*args, **named)
                    break
                self._waiting += 1
                try:
                    with blocked():
                        self._changed.wait()
                finally:
                    self._waiting -= 1
            self._inside += 1
            return found

    def leave(self) -> None:
        """Leave."""
        with self._lock:
            self._inside -= 1
            if self._waiting:
                self._changed.notify_all()
