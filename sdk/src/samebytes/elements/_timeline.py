# SPDX-License-Identifier: Apache-2.0
"""Frame times that always rise, whatever the clock of a source does."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import ClassVar

__all__ = ["Timeline"]

_GAP = 10
"""Seconds by which the times of a live source may run ahead of the clock of this machine."""

_APART = Fraction(1, 1000)
"""The most seconds to put between frames of one time: Matroska counts in nothing finer."""


class Timeline:
    """The times of one stream, moved so that each is after the one before.

    For sources: files were joined, cameras restart and set their clocks, and writers of files
    accept no time twice. Times that rise stay as they are. Frames without a time get the end of the
    frame before. If times step back, they go on after the last frame, as do those of a new
    connection; a frame that is a little out of order, or repeats a time, comes a millisecond later.

        timeline = el.Timeline(live=self.live)
        ...
        meta = frame.meta
        meta.pts, meta.time_base = timeline.place(meta.pts, meta.time_base, 1 / self.rate)

    Args:
        live: frames come when they were taken, so times that jump far ahead are of another clock.
            Other sources may show one picture for an hour.
    """

    OUT_OF_ORDER: ClassVar[int] = 3
    """The number of frames by which a time may step back and still be of the same clock."""

    def __init__(self, *, live: bool = False) -> None:
        self._live = live
        self._came = 0.0
        self._shift = Fraction(0)
        self._begins = False
        # Units up to which the next frame keeps its time; 0 if that is not so simple.
        self._usual_step = 0
        # The frame before; seconds for each unit are 0 as long as there is none.
        self._pts = 0
        self._base = Fraction(0)
        self._length = Fraction(0)
        self._made_up = False
        self._exact = Fraction(0)  # the time of a frame that had none, before it was rounded

    def begin_again(self) -> None:
        """Begin a new pass or a new connection, to which the frames that follow belong."""
        self._begins = bool(self._base)
        self._usual_step = 0

    def place(
        self, pts: int | None, time_base: Fraction | None, length: Fraction
    ) -> tuple[int, Fraction]:
        """The time of the next frame.

        Args:
            pts: its own time, in units of `time_base`, or None.
            time_base: seconds for each unit. With None or 0, it is treated as a frame without a
                time, and gets one in units of the frame before.
            length: seconds for which a frame is shown, by the rate of the stream; above 0.

        Returns:
            The pts and time_base that it gets, which are after those of the frame before.
        """
        if (
            pts is not None
            and time_base is not None
            and (time_base is self._base or time_base == self._base)
            and 0 < pts - self._pts <= self._usual_step
        ):
            # The usual case; with fractions it takes several times as long.
            self._pts, self._length, self._made_up = pts, length, False
            if self._live:
                self._came = time.monotonic()
            return pts, time_base
        made_up = pts is None or not time_base
        base = time_base or self._base or length
        if pts is None or not time_base:
            pts = self._at_the_end(base) if self._base else 0
        elif self._base:
            pts = self._moved(pts, base)
        self._pts, self._base, self._length = pts, base, length
        self._made_up = made_up
        usual = not (self._shift or self._begins)
        self._usual_step = _GAP * base.denominator // base.numerator if usual else 0
        if self._live:
            self._came = time.monotonic()
        return pts, base

    def _at_the_end(self, base: Fraction) -> int:
        """The first time after the frame before, in whole units."""
        last = self._pts * self._base
        # From before the rounding, so that it does not add up.
        known = self._made_up and last - self._exact < base
        self._exact = (self._exact if known else last) + self._length
        return max(-(-self._exact // base), last // base + 1)

    def _moved(self, pts: int, base: Fraction) -> int:
        given, last = pts * base, self._pts * self._base
        if self._begins:
            self._begins = False
            self._shift = max(last + self._length - given, Fraction(0))
        elif self._jumps(given + self._shift - last):
            self._shift = last + self._length - given
        if self._shift:
            # Rounded up to whole units, so that it is after the frame before.
            pts = -(-(given + self._shift) // base)
        if pts * base > last:
            return pts
        apart = min(_APART, self._length / 4)
        return max(-(-(last + apart) // base), last // base + 1)

    def _jumps(self, step: Fraction) -> bool:
        """True if the step from the frame before, in seconds, is that of another clock."""
        if step < -self.OUT_OF_ORDER * self._length:
            return True
        if self._live:
            return step > _GAP + time.monotonic() - self._came
        # A time that was made up may be far from those that follow.
        return self._made_up and step > _GAP
