# SPDX-License-Identifier: Apache-2.0
"""One video file that is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from typing import IO, Any

import av
from av.video.frame import PictureType

from samebytes import Frame
from samebytes.elements import logger
from samebytes.formats import ImageInfo

from .._from_cpu import named
from ._containers import (
    add_stream,
    advice,
    advice_for_raw,
    is_about_the_codec,
    is_read_back,
    says_range,
)
from ._describing import as_said, describe, has_colours, properties_of
from ._encoders import name_for, why_not_of_range
from ._failures import ARGUMENT_ERROR, in_words
from ._peer import Peer, close_unbegun
from ._times import WHOLE_FRAMES, Times

__all__ = ["Output", "scheduled_as_before"]

_log = logger("ffmpeg")

_RTSP_TIMEOUT = "5000000"
"""Microseconds without an answer. The muxer connects while PyAV lets no other thread run."""


class Output:
    """A container with one video stream, made for frames like the first one.

    Args:
        url: where to write, or an open file; the ending of its name decides on the container.
        format: FFmpeg's name of the container's format; "" for what the ending says.
        options: of the container, and of the protocol of a connection.

    Attributes:
        peer: the connection; None for files, and for containers that make their own.
        made: after close(): its file was created, or emptied if there was one.
    """

    def __init__(self, url: str | IO[bytes], format_: str, options: Mapping[str, str]) -> None:
        connects = isinstance(url, str) and "://" in url
        if connects and format_ == "rtsp":
            options = {"timeout": _RTSP_TIMEOUT, **options}
        self._container: Any = av.open(
            url, "w", format=format_ or None, container_options=dict(options)
        )
        self._url, self._codec = url, ""
        self._asked: frozenset[str] = frozenset()
        self.peer: Peer | None = None
        if isinstance(url, str) and connects and Peer.needed(self._container):
            self.peer = Peer(self._container, url, options)
        self._options = options
        self._stream: Any = None
        self._times: Times | None = None
        self._like: tuple[Any, ...] = ()
        self._format = ""
        self._encodes = False
        self._headed = False
        self._begun = False
        self._refused = False
        self._flushed = False
        self.made = False

    @property
    def started(self) -> bool:
        """True if the stream was added."""
        return self._stream is not None

    def start(
        self, frame: Frame[Any], codec: str, rate: Fraction, bit_rate: int | None,
        options: Mapping[str, str], *, steady: bool = False,
    ) -> None:  # fmt: skip
        """Add the stream.

        Args:
            frame: one like those that follow, in FFmpeg's memory.
            steady: the rate is not a guess.

        Raises:
            LayoutError, UnknownNameError: an entry of its metadata has a value that it cannot have.
            ValueError: the container has no place for such video, or the range of its values or its
                pixel format would be lost.
        """
        native = frame.native
        properties = properties_of(native, frame.meta)
        container = self._container.format.name
        size = native.width, native.height
        # Checked before the range, since the advice for that keeps the format.
        if codec == "rawvideo" and not is_read_back(container, native.format.name, size):
            full = frame.metadata.get("color_range") == "full"
            raise ValueError(
                f"readers of {container} would find other pixels than those of raw "
                f"{native.format.name} {native.width}x{native.height}: "
                f"{advice_for_raw(native.format.name, size, full=full)}"
            )
        meta = frame.meta
        given = None if meta.pts is None else meta.time_base
        times = Times(given, rate, codec, container, self._options, steady=steady)
        # There is at most one frame in a unit; encoders of VP8 and VP9 refuse one of no duration.
        rate = min(rate, 1 / times.base)
        stream = add_stream(self._container, self._url, codec, rate, self._options)
        kept = says_range(
            self._container, self._url, codec, self._options, colours=has_colours(properties)
        )
        lost_in = "" if kept else container
        if (reason := why_not_of_range(codec, frame, lost_in, options)) is not None:
            raise ValueError(reason)
        stream.width, stream.height = native.width, native.height
        image = ImageInfo.of(frame.image.format, native.width, native.height)
        stream.pix_fmt = self._format = name_for(codec, native.format.name)
        context = stream.codec_context
        context.time_base = times.base
        if not times.may_reorder:
            context.max_b_frames = 0  # the user's options take precedence
        self._asked = frozenset(options)
        context.options.update(describe(stream, codec, properties, image, options))
        if bit_rate is not None:
            stream.bit_rate = bit_rate
        elif codec == "mpeg4":
            # Its default, 200 kbit/s, gives a mosaic at any size that is common today.
            stream.bit_rate = int(native.width * native.height * rate) // 4
        self._stream, self._times, self._codec = stream, times, codec
        self._like = _likeness(native)

    def write(self, frame: Frame[Any]) -> None:
        """Encode a frame in FFmpeg's memory; the av frame is afterwards as it was.

        Raises:
            ValueError: it is of another layout than the first one, or its time cannot be written.
        """
        native, times = frame.native, self._times
        assert times is not None, "start() comes first"
        if self._flushed:
            raise ValueError("the stream has ended: one sink writes one stream")
        if _likeness(native) != self._like:
            # PyAV would convert it.
            raise ValueError(
                f"a frame is {_words(native)}, and the file has {_words_of(self._like)}: scale or "
                "convert it before"
            )
        if native.format.name != self._format:
            native = named(self._format, native, frame.meta)
        count = times.count(frame.meta.pts, frame.meta.time_base)
        kept = native.pts, native.time_base, native.pict_type
        native.pts, native.time_base = count, times.base
        # Otherwise the encoder would make it an I-, P- or B-frame, as in the file it came from.
        native.pict_type = PictureType.NONE
        try:
            opening = nullcontext() if self._encodes else scheduled_as_before()
            with as_said(native, frame.meta, kept[1]), opening:
                packets = self._stream.encode(native)
        except ARGUMENT_ERROR as error:
            if self._encodes or self._codec not in WHOLE_FRAMES:
                raise
            raise ValueError(
                f"{in_words(error)}; perhaps {self._codec} has no {float(1 / times.base):g} frames "
                "a second: pass rate=, such as 25"
            ) from error
        finally:
            native.pts, native.pict_type = kept[0], kept[2]
            if kept[1]:
                native.time_base = kept[1]
        if not self._encodes:
            self._encodes = True
            self._tell_unused()
        self._mux(packets)

    def flush(self) -> None:
        """Write what the encoder still holds."""
        if self._stream is not None and not self._flushed:
            self._flushed = True
            if self._refused:
                return  # trying again would mean waiting again
            if not self._encodes:
                return  # the encoder did not open, and PyAV 19 would end the process
            self._mux(self._stream.encode(None))
            if self.peer is not None:
                self.peer.flush()

    def close(self) -> None:
        """Write the trailer."""
        container, self._container = self._container, None
        self._stream = None
        if container is None:
            return
        peer = self.peer
        self.made = self._headed or (isinstance(self._url, str) and close_unbegun(container))
        try:
            container.close()
        finally:
            if peer is not None:
                peer.forget()

    def _tell_unused(self) -> None:
        """Warn of options of the user's that the encoder has left: it knows none of that name."""
        left = sorted(self._asked.intersection(self._stream.codec_context.options))
        if left:
            # No colon after the names: what follows one like "token" would be hidden.
            names = " and no option ".join(map(repr, left))
            text = "%s has no option %s; ffmpeg -h encoder=%s lists those that it has"
            _log.warning(text, self._codec, names, self._codec)

    def _mux(self, packets: list[Any]) -> None:
        if not packets:
            return
        self._refused = not self._begun
        if self.peer is not None:
            self.peer.open()
        if not self._headed:
            try:
                self._container.start_encoding()
            except av.FFmpegError as error:
                if not is_about_the_codec(error):
                    raise
                said = advice(self._container, self._url, self._codec, self._format)
                wrong = "an option of container_options= is wrong, or " if self._options else ""
                raise ValueError(f"{in_words(error)}; perhaps {wrong}{said}") from error
            self._headed = True  # from here on PyAV closes what it writes to
        try:
            self._container.mux(packets)
        except ARGUMENT_ERROR as error:
            if not self._begun and len(packets) == 1:
                raise
            if self._container.format.name != "image2":
                raise ValueError(
                    f"{in_words(error)}; perhaps two frames are closer than "
                    f"{self._stream.time_base} s, the unit of time of "
                    f"{self._container.format.name}: leave one out, or take another ending"
                ) from error
            raise ValueError(
                "a file of this name holds one picture: put a place for a number into the name, "
                'such as "%03d", or leave out all frames but one'
            ) from error
        self._begun, self._refused = True, False


@contextmanager
def scheduled_as_before() -> Iterator[None]:
    """Open an encoder in the block, and keep this thread an ordinary one.

    If it may, as root, libsvtav1 makes the thread that opens it a real-time one. So would be the
    threads that this one starts later, and no others of the machine would run.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        if os.sched_getscheduler(0) != policy:
            os.sched_setscheduler(0, policy, parameters)


def _likeness(native: av.VideoFrame) -> tuple[Any, ...]:
    return native.format.name, native.width, native.height


def _words(native: av.VideoFrame) -> str:
    return _words_of(_likeness(native))


def _words_of(likeness: tuple[Any, ...]) -> str:
    name, width, height = likeness
    return f"{name} {width}x{height}"
