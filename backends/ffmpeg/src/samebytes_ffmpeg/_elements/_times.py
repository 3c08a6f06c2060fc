# SPDX-License-Identifier: Apache-2.0
"""Times of frames, in units that the encoder and the container of a file can hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction

__all__ = ["MOV", "WHOLE_FRAMES", "Times"]

_USUAL = 90_000
"""Units of a second into which most rates divide it; MPEG-TS and RTP have them."""
_FINEST = 4 * _USUAL
"""The finest units that are taken from the frames: 2**31 of them are 1.6 hours."""
_COARSE = {"mpeg4": 65_535}
"""Encoders that count at most so many units of a second."""
WHOLE_FRAMES = ("mpeg1video", "mpeg2video")
"""Encoders that count frames: they open with no other unit."""

# libavformat/movenc.c: durations, and the offsets of frames that are coded in another order, are
# ints, in a unit that is made finer until a second has this many.
MOV = ("mov", "mp4", "3gp", "3g2", "ipod", "psp", "ismv", "f4v", "avif")
_MOV_LEAST = 10_000
_MOV_MOST = 2**31 - 1
_REORDERED = 4
"""Frames among which an encoder may exchange the order, at most."""

# libavcodec/mpeg4videoenc.c
_DAY = 86_400
"""Seconds from a frame of MPEG-4 to the next, at most."""

_NO_TIMES = ("avi",)
"""Containers whose frames have no times beyond their order, which is that of decoding."""
_UNIT_AS_RATE = (*_NO_TIMES, "ogg", "ogv")
"""Containers that say what their unit is as their rate."""
_ONE_RATE = ("yuv4mpegpipe",)
"""Containers that say it so, and have neither times nor empty frames."""
# libavformat/avienc.c: a pause is filled with empty frames, one for each unit, which is made
# coarser.
_AVI_EMPTY = 60_000
_AVI_FINEST = Fraction(1, 600)

_LATEST = 2**33
"""Seconds, 272 years: even in the nanoseconds that some muxers count they fit into 64 bits."""


class Times:
    """The times of one stream, counted in units.

    The units are those of its frames. If these are finer than usual, they are such that each frame
    of the rate has a whole count: nanoseconds become 1/90000 s, and 1/96000 s at 24000/1001.

    Args:
        given: the time base of the first frame; None or 0 if it has none.
        rate: frames a second.
        codec: FFmpeg's name of the encoder.
        container: FFmpeg's name of the container.
        options: of the container.
        steady: the rate is that of the source, not a guess. Containers that say what their unit is
            as their rate get that one.

    Attributes:
        base: the unit, in seconds.
        may_reorder: the container can hold frames in another order than that of their times.
    """

    def __init__(
        self, given: Fraction | None, rate: Fraction, codec: str, container: str,
        options: Mapping[str, str], *, steady: bool = False,
    ) -> None:  # fmt: skip
        counts = (steady and container in _UNIT_AS_RATE) or container in _ONE_RATE
        self.base = _base(None if counts else given, rate, codec)
        self._length = 1 / rate
        self.may_reorder = container not in _NO_TIMES
        self._last: tuple[int, Fraction] | None = None
        self._later = Fraction(0)
        self._recent: deque[int] = deque(maxlen=_REORDERED)
        self._container = container
        self._codec = codec
        self._longest = _longest_pause(container, self.base, options)

    def count(self, pts: int | None, time_base: Fraction | None) -> int:
        """The time of the next frame, in units of `base`.

        A stream that begins before 0 begins at 0 instead, as players of MP4 leave out what comes
        before. In AVI every stream does: it has empty frames for pauses, but not before the first.

        Raises:
            ValueError: the time is not after that of the frame before, or too long after it.
        """
        before = self._last
        if pts is None or not time_base:
            time = Fraction(0) if before is None else before[1] + self._length
        else:
            time = pts * time_base
            if before is None and (time < 0 or self._container in _NO_TIMES):
                self._later = -time
            time += self._later
        found = round(time / self.base)
        if before is not None:
            if time <= before[1]:
                raise ValueError(
                    f"its time, {_seconds(time - self._later)} s, is not after the one before, "
                    f"{_seconds(before[1] - self._later)} s: the clock of its source has stepped "
                    "back, or there are frames of several streams. In a source of yours "
                    "el.Timeline makes times rise; frames without one (pts = None) are counted by "
                    "the rate"
                )
            found = max(found, before[0] + 1)
        if abs(time) > _LATEST:
            raise ValueError(f"its time, {_seconds(time)} s, is more than FFmpeg can count")
        self._recent.append(found)
        if self._longest is not None and (found - self._recent[0]) * self.base > self._longest:
            raise ValueError(
                f"it comes {_seconds((found - self._recent[0]) * self.base)} s after those before "
                f"it, and {self._container} holds no more than {_seconds(self._longest)} s: begin "
                "another file, or write Matroska (.mkv)"
            )
        if self._codec == "mpeg4" and before is not None and time - before[1] > _DAY:
            raise ValueError(
                f"it comes {_seconds(time - before[1])} s after the one before, and the encoder "
                "mpeg4 counts no more than a day: begin another file, or take another encoder"
            )
        self._last = found, time
        return found


def _seconds(time: Fraction) -> str:
    return f"{float(time):.6f}".rstrip("0").rstrip(".")


def _base(given: Fraction | None, rate: Fraction, codec: str) -> Fraction:
    if not given or codec in WHOLE_FRAMES:
        return 1 / rate
    most = _COARSE.get(codec)
    if given.denominator <= (most or _FINEST):
        return given
    if most is not None:
        whole = most // rate.numerator * rate.numerator
        return Fraction(1, whole or most)
    if (_USUAL / rate).denominator == 1:
        return Fraction(1, _USUAL)
    whole = -(-_USUAL // rate.numerator) * rate.numerator
    return Fraction(1, whole if whole <= _FINEST else _USUAL)


def _longest_pause(container: str, base: Fraction, options: Mapping[str, str]) -> Fraction | None:
    """Seconds from a frame to one that follows soon, at most; None if there is no such limit."""
    if container in _NO_TIMES:
        return _AVI_EMPTY * max(base, _AVI_FINEST)
    if container not in MOV:
        return None
    scale = base.denominator
    while scale < _MOV_LEAST:
        scale *= 2
    asked = options.get("video_track_timescale", "")
    if asked.isascii() and asked.isdigit() and int(asked):
        scale = int(asked)
    return Fraction(_MOV_MOST, scale)
