# SPDX-License-Identifier: Apache-2.0
"""An input that may wait for data: opened, read and closed in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import av

from samebytes.elements import FrameInfo
from samebytes.plugins import Aside

from ._input import Input, Waking

__all__ = ["Connection"]


class Connection:
    """An Input whose waits Ctrl-C and `wake()` can end, even those for names in the network.

    Args:
        element: the element that it belongs to, for the name of the thread.
        timeout: seconds without data after which it counts as broken.
        opened: makes the Input with that time-out.
    """

    def __init__(self, element: str, timeout: float, opened: Callable[[Waking], Input]) -> None:
        self._waking = Waking(timeout)
        self._opened = opened
        self._input: Input | None = None
        self._aside = Aside(f"samebytes {element} waits", wake=self._end_wait, leave=self._close)

    @property
    def length(self) -> Fraction:
        """As for the Input."""
        return self._reading.length

    def open(self) -> None:
        """Connect. Raises as Input does, and Aside.GivenUpError after `wake()`."""
        self._aside.call(self._open)

    def info(self) -> FrameInfo | None:
        """As for the Input."""
        return self._reading.info()

    def frames(self) -> int | None:
        """As for the Input."""
        return self._reading.frames()

    def read(self) -> av.VideoFrame | None:
        """As for the Input; Aside.GivenUpError after `wake()`."""
        return self._aside.call(self._reading.read)

    def wake(self) -> None:
        """End what waits, from another thread."""
        self._aside.interrupt()

    def close(self) -> None:
        """End the connection at once, though a call that was given up may still wait."""
        try:
            if not self._aside.left:
                self._aside.call(self._close)
        finally:
            self._aside.close()

    @property
    def _reading(self) -> Input:
        assert self._input is not None, "open() comes first"
        return self._input

    def _open(self) -> None:
        self._input = self._opened(self._waking)

    def _end_wait(self) -> None:
        opened = self._input
        self._waking.wake(None if opened is None else opened.container)

    def _close(self) -> None:
        opened, self._input = self._input, None
        if opened is not None:
            opened.close()
