# SPDX-License-Identifier: Apache-2.0
"""One opened file or connection, and the frames of one of its video streams."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from pathlib import Path
from typing import Any

import av

import samebytes
from samebytes import Context
from samebytes.elements import FrameInfo, Timeline
from samebytes.errors import ElementError, LayoutError, UnknownNameError
from samebytes.plugins import without_secrets_in

from .._codec_options import decoder_options
from .._hardware.frame import HardwareFrame, place_of
from .._pixel_formats import image_format_named
from .._pyav import (
    TIME_BASE,
    container_being_opened,
    end_wait,
    fraction,
    two_ints,
    two_ints_at,
)
from ._decoders import Decoder, Decoding
from ._failures import in_words
from ._files_in_use import file_name, reading
from ._lists import why_no_list
from ._opening import open_container

__all__ = ["RATE", "Input", "Waking", "place"]

RATE = Fraction(25)
"""The frames a second that are assumed if a video has no rate."""

_SAYING_ASPECT = ("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm")
"""Containers that store one size and one sample aspect ratio themselves."""

# Otherwise a file with tags that are not UTF-8 cannot be opened; PyAV 19 does this by itself.
_ANY_TAGS: dict[str, Any] = (
    {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}
)

# Demuxers that take a time-out for the end of a segment, and of the stream if it is the last.
_OF_SEGMENTS = ("hls", "dash")

# Options of decoders by which frames have another size or format than the header says.
_CHANGING = frozenset(("apply_cropping", "lowres", "skip_alpha"))

_LONG = 1 << 40
_numbers = itertools.count(1)


class Input:
    """A video stream that is read from its beginning, or from `start`.

    Args:
        fail: makes an error of the element that the input belongs to.
        url: a file, or what FFmpeg opens.
        number: which of the video streams.
        threads: of the decoder; 0 for as many as FFmpeg likes.
        start: seconds after the beginning.
        waking: the time-out of a connection; None for files.
        lenient: leave out what cannot be decoded.
        options: of FFmpeg, for the container and its streams.
        decoding: how it is decoded.

    Attributes:
        rate: frames a second, guessed if the file has none.
        length: seconds for each frame at that rate.

    Raises:
        ElementError: it cannot be opened, or has no such stream.
        NoHardwareError: the hardware is not there, or has no such codec.
    """

    def __init__(
        self,
        fail: Callable[[str], ElementError],
        url: str,
        *,
        number: int,
        threads: int,
        start: float,
        waking: Waking | None,
        lenient: bool,
        options: Mapping[str, str],
        decoding: Decoding,
    ) -> None:
        self._fail = fail
        self._memory, self._given = decoding.memory, decoding.given
        self._decoder: Decoder | None = None
        self._first: av.VideoFrame | None = None
        self._primed: FrameInfo | None = None
        self._context: Context | None = None
        self._lenient = lenient
        self._start = start
        limit = None if waking is None else waking.timeout
        path = Path(file_name(url))
        # Absolute: FFmpeg takes what is before the colon of "12:30.mp4" for a protocol.
        name = str(path.absolute()) if path.exists() else url
        self._use = reading(path)
        try:
            with decoding.opening() as more:
                self._container: Any = open_container(
                    name, options=options, by_device=decoding.by_device, timeout=limit,
                    **_ANY_TAGS, **more,
                )  # fmt: skip
        except (av.FFmpegError, OSError) as error:
            words = in_words(error, None if waking is None else waking.seconds)
            words = why_no_list(path, options, words)
            raise fail(f"FFmpeg cannot open it: {words}") from without_secrets_in(error)
        self._waking = waking if self._container.format.name in _OF_SEGMENTS else None
        try:
            self._stream: Any = self._find(number)
            context = self._stream.codec_context
            # PyAV passes options only to the container. A decoder ignores those that it lacks.
            context.options = decoder_options(options)
            self._changes = not _CHANGING.isdisjoint(options)
            self._decoder = decoding.decoder(self._stream, threads)
            self._said = fraction(self._stream.average_rate)
            self.rate = self._said or fraction(context.framerate) or RATE
            self.length = 1 / self.rate
            self._aspect = self._aspect_of_container()
            self._frames: Iterator[av.VideoFrame] = self._from_start() if start else self._all()
        except BaseException:
            self.close()
            raise

    def info(self) -> FrameInfo | None:
        """Return the properties in its header, or those of the first frame that `prime` decoded.

        It is None if the header has no format or no size, or the decoder gives others by an option.
        """
        if self._memory != "ffmpeg":
            return self._primed
        context = self._stream.codec_context
        known = context.format  # not `pix_fmt`: PyAV 17 ends the process if there is none
        if known is None or not context.width or self._changes:
            return None
        try:
            format_ = image_format_named(known.name).name
        except (LayoutError, UnknownNameError) as error:
            raise self._fail(f"its frames cannot be used: {error}") from error
        return FrameInfo("image", "ffmpeg", format_, context.width, context.height, rate=self._said)

    def frames(self) -> int | None:
        """The number of frames from `start` on, by the file's header; None if that has none."""
        stream, container = self._stream, self._container
        rate = self._said
        if stream.duration:
            seconds: Fraction | None = stream.duration * Fraction(stream.time_base)
        else:  # Matroska has it for the whole file, in microseconds
            seconds = Fraction(container.duration, av.time_base) if container.duration else None
        count: int | None = stream.frames or None
        if count is None and seconds and rate:
            count = round(seconds * rate)
        if count is None or not self._start:
            return count
        if not seconds:
            return None
        return max(round(count * (1 - Fraction(self._start) / seconds)), 0)

    def prime(self) -> None:
        """Decode the first frame, which `read` then gives, to see what a device makes of it.

        Raises:
            FFmpegError: it cannot be decoded.
            NoHardwareError: not by that device.
        """
        first = None if self._memory == "ffmpeg" else next(self._frames, None)
        if first is not None:
            self._first = first
            frame = samebytes.frame(first)
            # Kept so that its routes are compiled once. If nobody kept a frame until the next one
            # came, each would have a context of its own, and compiling costs more than mapping.
            self._context = frame.context
            self._primed = replace(FrameInfo.of(frame), rate=self._said)

    def read(self) -> av.VideoFrame | None:
        """The next frame; None at the end. Raises what PyAV raises, and the element's error."""
        found, self._first = self._first or next(self._frames, None), None
        if found is None:
            return None
        if self._memory != "ffmpeg":
            self._given(found)
        if self._aspect is not None:
            avutil, address = place_of(found)
            said = avutil.AVFrame.from_address(address).sample_aspect_ratio
            same = (said[0], said[1]) == self._aspect
            if not same and not _is_rounded(self._aspect, said, found.width):
                said[:] = self._aspect
        return found

    @property
    def container(self) -> Any:
        """PyAV's, until it is closed."""
        return self._container

    def close(self) -> None:
        """End the decoder, and with it its references to frames."""
        container, self._container = self._container, None
        if container is not None:
            self._frames, self._first = iter(()), None
            if self._decoder is not None:
                self._decoder.close()
            container.close()
            self._use = None
        # PyAV frees a codec with the last object that can reach it.
        self._stream = self._decoder = self._context = None

    def _find(self, number: int) -> Any:
        videos = self._container.streams.video
        if number >= len(videos):
            kinds = ", ".join(stream.type for stream in self._container.streams) or "nothing known"
            raise self._fail(f"it has no video stream {number}: it has {kinds}, counted from 0")
        if videos[number].codec_context is None:
            raise self._fail("this FFmpeg has no decoder for its video")
        return videos[number]

    def _aspect_of_container(self) -> tuple[int, int] | None:
        """The sample aspect ratio in the container, which counts more than that in the bitstream,
        as in FFmpeg's own programs; None if only the bitstream has one.
        """
        if self._container.format.name not in _SAYING_ASPECT:
            return None
        # PyAV guesses: it is the container's, else the bitstream's.
        ratio = self._stream.sample_aspect_ratio
        return (ratio.numerator, ratio.denominator) if ratio else None

    def _from_start(self) -> Iterator[av.VideoFrame]:
        base = Fraction(self._stream.time_base)
        # If units are shorter than frames, times are rounded to them: in Matroska, at 30 frames a
        # second, the second frame is at 33 ms. And 0.56 / 0.04 is a little more than 14.
        whole = floor if 2 * base < self.length else ceil
        begin = (self._stream.start_time or 0) + whole(round(self._start / base, 6))
        frames, first = self._sought(begin, ceil(1 / base))
        later = itertools.chain(first, frames)
        found = list(itertools.islice((f for f in later if f.pts is None or f.pts >= begin), 1))
        if found:
            yield found.pop()
            yield from frames
        elif self._is_joined():
            yield from self._by_times_that_go_on()

    def _sought(
        self, begin: int, second: int
    ) -> tuple[Iterator[av.VideoFrame], Iterator[av.VideoFrame]]:
        """Two iterators from the key frame before a time on: the later frames, and the first one.

        FFmpeg finds a key frame by the time at which it is decoded, and in MPEG-TS and MPEG-PS any
        packet. Frames that are shown before their key frame (open GOPs) come only with the key
        frame before it. So it searches further and further back.
        """
        back = 0
        while True:
            early = begin - back <= (self._stream.start_time or 0)
            try:
                if early:
                    self._rewind()
                else:
                    self._seek(begin - back)
            except (av.FFmpegError, OSError) as error:
                if early:
                    name = self._container.format.long_name or self._container.format.name
                    raise self._fail(
                        f"{name} cannot be sought: leave start= out, or put the video into a file "
                        "that has times, such as MP4"
                    ) from without_secrets_in(error)
            else:  # HLS has no position at its end or behind it
                frames = self._all()
                first = deque(itertools.islice(frames, 1))
                if early or (first and (first[0].pts is None or first[0].pts <= begin)):
                    # No frame is kept here once it was given: a device may have few.
                    return frames, (first.popleft() for _ in range(len(first)))
                frames.close()
            back = 2 * back or second

    def _all(self) -> Generator[av.VideoFrame, None, None]:
        """The frames from here on."""
        container, stream, decoder = self._container, self._stream, self._decoder
        assert decoder is not None, "it is open"
        # PyAV's generators free what they allocated when they end or are closed, not when they are
        # dropped: Cython calls no finalizer under the limited API (cython/cython#6405).
        with closing(container.demux(stream)) as packets:
            for packet in packets if self._waking is None else self._watched(packets):
                try:
                    frames = deque(decoder.decode(packet))
                except av.error.InvalidDataError:
                    if not self._lenient:
                        raise
                    continue
                # No frame is kept here once it was given: a device may have few.
                while frames:
                    yield frames.popleft()

    def _watched(self, packets: Iterator[Any]) -> Iterator[Any]:
        """The packets, and after them an error if they were ended by a time-out."""
        assert self._waking is not None, "what has no time-out is not watched"
        while True:
            began = time.monotonic()
            packet = next(packets, None)
            if packet is None:
                return
            ended = not packet.size and time.monotonic() - began >= self._waking.timeout
            yield packet
            if ended:
                said = f"no data came for {self._waking.seconds:g} s"
                raise self._fail(f"FFmpeg cannot decode it: {said}")

    def _is_joined(self) -> bool:
        """True if times step back somewhere, so that they do not identify a position."""
        self._rewind()
        last = None
        jump = -Timeline.OUT_OF_ORDER / (self.rate * Fraction(self._stream.time_base))
        with closing(self._container.demux(self._stream)) as packets:
            for packet in packets:
                if packet.dts is not None:
                    if last is not None and packet.dts - last < jump:
                        return True
                    last = packet.dts
        return False

    def _by_times_that_go_on(self) -> Iterator[av.VideoFrame]:
        self._rewind()
        timeline, begin = Timeline(), None
        for frame in self._all():
            pts, base = place(frame, timeline, self.length)
            now = pts * base
            if begin is None:
                begin = now + Fraction(self._start)
            if now >= begin:
                yield frame

    def _rewind(self) -> None:
        # Before the first time: after a step back of the clock, that time may come once more.
        first = self._stream.start_time or 0
        try:
            self._seek(first - _LONG)
        except (av.FFmpegError, OSError):  # AVI, FLV and GIF have no position before it
            self._seek(first)

    def _seek(self, time: int) -> None:
        self._container.seek(time, stream=self._stream)
        if self._decoder is not None:
            self._decoder.flush()


def _is_rounded(container: Sequence[int], bitstream: Sequence[int], width: int) -> bool:
    """True if a container's ratio is that of the bitstream, as near as whole pixels show it."""
    if not bitstream[0] or not bitstream[1]:
        return False
    return abs(bitstream[0] / bitstream[1] - container[0] / container[1]) * width < 1


@lru_cache(maxsize=64)
def _ratio(over: int, under: int) -> Fraction | None:
    """The same Fraction for the same numbers; None if one of them is 0."""
    return Fraction(over, under) if over and under else None


def place(
    frame: av.VideoFrame | HardwareFrame, timeline: Timeline, length: Fraction
) -> tuple[int, Fraction]:
    """Give a frame its time in a stream, and return that: pts and time base.

    Args:
        frame: the frame.
        timeline: that of the stream.
        length: seconds that a frame of the stream lasts.
    """
    # PyAV makes another Fraction for each frame.
    if isinstance(frame, av.VideoFrame):  # as time_base_of() does, without a call for each frame
        of = _ratio(*two_ints(two_ints_at(id(frame) + TIME_BASE)))
    else:
        of = frame.time_base
    given = frame.pts
    pts, base = timeline.place(given, of, length)
    if base is not of or pts != given:
        frame.pts, frame.time_base = pts, base
    return pts, base


class Waking:
    """The time-out of one container, by which another thread can end its waits.

    FFmpeg asks PyAV ten times a second whether a wait has lasted too long.

    Args:
        seconds: how long a read may wait for data.

    Attributes:
        seconds: as they were given.
        timeout: what av.open() is given: very nearly `seconds`, and different for each container.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        # No other number in a container's object is this one.
        self.timeout = seconds + (next(_numbers) % 100_000) * 1e-7 + 1e-8

    def wake(self, container: Any = None) -> bool:
        """End a read of the container that waits now, with av.ExitError.

        Args:
            container: of PyAV; None for the one that is just opened.

        Returns:
            False: none waits, or this PyAV keeps the number elsewhere; then the time-out ends it.
        """
        if container is None:
            container = container_being_opened(self.timeout)
        return container is not None and end_wait(container, self.timeout)
