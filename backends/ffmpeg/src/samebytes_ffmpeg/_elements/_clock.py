# SPDX-License-Identifier: Apache-2.0
"""Time stamps that continue when a source starts again."""

from __future__ import annotations

from fractions import Fraction

import av

__all__ = ["Clock"]


class Clock:
    """Moves the times of frames, so that they increase over all passes of a source.

    The times of the first pass stay as they are. Frames without a time get one by the rate.
    """

    def __init__(self) -> None:
        self._end = Fraction(0)
        self._shift = 0
        self._count = 0
        self._first_pass = True
        self._begins = True

    def begin_again(self) -> None:
        """The frames that follow are those of a new pass."""
        self._begins = True
        self._first_pass = False

    def set(self, frame: av.VideoFrame, rate: Fraction) -> None:
        """Give the frame its time.

        Args:
            rate: frames a second, for frames without a time, and for how long the last one was.
        """
        if self._begins:
            self._count = 0
        if frame.pts is None or not frame.time_base:
            frame.time_base = 1 / rate
            frame.pts = self._count
        base = Fraction(frame.time_base)
        if self._begins:
            self._begins = False
            late = self._end - frame.pts * base
            self._shift = 0 if self._first_pass or late <= 0 else -(-late // base)
        if self._shift:
            frame.pts += self._shift
        self._count += 1
        self._end = frame.pts * base + 1 / rate
