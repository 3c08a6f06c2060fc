# SPDX-License-Identifier: Apache-2.0
"""Time stamps that continue when a source starts again, or its clock jumps."""

from __future__ import annotations

import time
from fractions import Fraction

import av

__all__ = ["JUMP", "Clock"]

JUMP = 3
"""Frames back from which on times are of another clock; less is a frame that is out of order."""

_GAP = 10
"""Seconds by which the times of a live source may go ahead of the clock of this machine."""


class Clock:
    """Moves the times of frames, so that they increase over all passes of a source.

    The times of the first pass stay as they are. Frames without a time get one by the rate. Where
    times step back, as in streams that were joined or of a camera that sets its clock, they go on
    after the last frame.

    Args:
        live: frames come when they were taken, so times that step far ahead are of another clock.
    """

    def __init__(self, *, live: bool = False) -> None:
        self._live = live
        self._came = 0.0
        self._last: Fraction | None = None
        self._end = Fraction(0)
        self._shift = Fraction(0)
        self._count = 0
        self._first_pass = True
        self._begins = True

    def begin_again(self) -> None:
        """The frames that follow are those of a new pass."""
        self._begins = True
        self._first_pass = False

    def set(self, frame: av.VideoFrame, rate: Fraction) -> Fraction:
        """Give the frame its time.

        Args:
            rate: frames a second, for frames without a time, and for how long the last one was.

        Returns:
            It, in seconds.
        """
        if self._begins:
            self._count = 0
        if frame.pts is None or not frame.time_base:
            frame.time_base = 1 / rate
            frame.pts = self._count
        base = Fraction(frame.time_base)
        given = frame.pts * base
        if self._begins:
            self._begins = False
            if not self._first_pass:
                self._shift = max(self._end - given, Fraction(0))
        elif self._last is not None and self._jumps(given + self._shift - self._last, rate):
            self._shift = self._end - given
        if self._shift:
            # Up to whole units, so that it is after the frame before.
            frame.pts = -(-(given + self._shift) // base)
        if self._last is not None and frame.pts * base <= self._last:
            frame.pts = self._last // base + 1
        self._count += 1
        self._last = now = frame.pts * base
        self._end = now + 1 / rate
        self._came = time.monotonic()
        return now

    def _jumps(self, step: Fraction, rate: Fraction) -> bool:
        """True if the step from the previous frame, in seconds, is that of another clock."""
        if step < -JUMP / rate:
            return True
        return self._live and step > _GAP + time.monotonic() - self._came
