# SPDX-License-Identifier: Apache-2.0
"""ffmpeg.sink: frames into a video file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import av

from samebytes import Context, Frame
from samebytes.elements import Doc, FrameInfo, Range, Sink, StreamName, stream_of
from samebytes.errors import ElementError
from samebytes.formats import ImageInfo, duration_of, length_of
from samebytes.plugins import Aside, without_secrets_in

from .._codec_options import warn_of_unknown
from ._encoders import Encodable, encoder_for, named
from ._failures import in_words
from ._file import OneFile
from ._input import RATE

__all__ = ["FFmpegSink"]

_GIVEN_UP = "stopped while the other side takes no data"
_NTSC = 1001
_EXACT = Fraction(1, 10**6)
"""Seconds by which a duration may differ from that of the rate it was rounded from."""
_FINEST = 100_000
"""The largest denominator of a rate: with it, 10,000 frames a second fit into FFmpeg's int."""


class FFmpegSink(Sink):
    """Encodes frames into a video file, without converting or copying them.

    Frames in memory of the CPU are lent to FFmpeg. Their own times are kept; frames without a time
    get one by the rate. The file has its trailer when the pipeline has stopped, even if it was
    stopped early. One sink writes one stream. With "{stream}" in its `url` it writes a file for
    each stream, with the stream's number in the name: "out-{stream}.mp4", "out-{stream:02}.mp4".

    Raises:
        ElementError: the file cannot be written, or the encoder does not take the frames as they
            are.
    """

    name = "ffmpeg.sink"

    url: Annotated[
        Path | str,
        Doc('a file, or what FFmpeg can write to; with "{stream}" in it, one for each stream'),
    ]
    codec: Annotated[
        str, Doc("FFmpeg's encoder; by default H.264, else MPEG-4, else FFV1, as the frames allow")
    ] = ""
    options: Annotated[Mapping[str, str] | None, Doc("of the encoder: preset, crf ...")] = None
    rate: Annotated[
        Fraction | None,
        Range(0.001, 10_000),
        Doc("frames a second; None for the source's; 29.97 is 30000/1001"),
    ] = None
    bit_rate: Annotated[
        int | None, Range(1, 10**12), Doc("bits a second; None for the encoder's")
    ] = None
    format: Annotated[str, Doc("of the container; by default what the ending says")] = ""
    container_options: Annotated[
        Mapping[str, str] | None, Doc("of the container, and of the protocol of a connection")
    ] = None
    on_failure: Annotated[
        Literal["keep", "remove"], Doc("what becomes of the file when the run fails")
    ] = "keep"

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._files: dict[int, OneFile] = {}
        self._rates: set[Fraction | None] = set()
        self._stopping = False

    @property
    def one_stream(self) -> str:  # type: ignore[override]  # the class has one that is constant
        """The advice for writing several streams if `url` names one file, else ""."""
        if StreamName(str(self.url)).varies:
            return ""
        return (
            'put "{stream}" into the name of the file, such as "out-{stream}.mp4", for a file of '
            "each, or give each source a pipeline of its own"
        )

    @property
    def takes(self) -> Encodable:
        """The images that the encoder takes; a source that can gives these."""
        return Encodable(self.codec)

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """Keep the rate."""
        self._rates.add(given.rate)
        return given

    def open(self, context: Context | None) -> None:
        """Create the file; of several streams, each when its first frame comes."""
        super().open(context)
        self._stopping = False
        warn_of_unknown(self.name, self.container_options or ())
        if self.one_stream:
            self._file_of(0)

    def write(self, frame: Frame[Any]) -> None:
        """Encode a frame."""
        meta, native = frame.meta, frame.native
        file = self._file_of(0 if self.one_stream else stream_of(frame))
        output = file.output
        assert output is not None, "it was opened"
        try:
            if not output.started:
                image = ImageInfo.of(frame.image.format, native.width, native.height)
                codec = named(self.codec) or encoder_for(native.format.name, image)
                options = self.options or {}
                rate = _countable(self._rate_of(frame))
                # If frames come unevenly, the rate of a file is a mean, not that of each frame.
                length = duration_of(frame.metadata)
                known = self.rate or self._common_rate
                steady = bool(known and length and abs(1 / rate - length) < _EXACT)
                output.start(frame, codec, rate, self.bit_rate, options, steady=steady)
            file.waiting(lambda: output.write(frame))
        except Aside.GivenUpError:
            raise self._error(_GIVEN_UP) from None
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self._error(
                f"FFmpeg cannot write the frame: {in_words(error)}", meta.pts
            ) from without_secrets_in(error)

    def end_of_stream(self, stream: int) -> Iterable[Frame[Any]] | None:
        """Write what the encoder still holds."""
        file = self._files.get(0 if self.one_stream else stream)
        if file is not None and file.output is not None:
            try:
                file.waiting(file.output.flush)
            except Aside.GivenUpError:
                raise self._error(_GIVEN_UP) from None
            except (av.FFmpegError, OSError, ValueError) as error:
                raise self._unfinished(error) from without_secrets_in(error)
        return None

    def interrupt(self) -> None:
        """Give up on a peer that takes no data."""
        self._stopping = True
        for file in list(self._files.values()):
            file.interrupt()

    def close(self) -> None:
        """Write the trailers, and close the files."""
        super().close()
        files, self._files = self._files, {}
        self._rates.clear()
        whole = False
        try:
            with ExitStack() as closing:  # all of them, whatever one raises
                for file in files.values():
                    closing.callback(self._finish, file)
            whole = not self.run_failed
        finally:
            with ExitStack() as leaving:
                for file in files.values():
                    remove = not whole and self.on_failure == "remove"
                    leaving.callback(file.leave, remove=remove)

    def _finish(self, file: OneFile) -> None:
        try:
            file.close(failed=self.run_failed, stopping=self._stopping)
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self._unfinished(error) from without_secrets_in(error)

    def _file_of(self, stream: int) -> OneFile:
        file = self._files.get(stream)
        if file is None:
            url = StreamName(str(self.url)).of(stream)
            file = OneFile(url, self.format, self.container_options or {}, self.name)
            self._files[stream] = file
            if self._stopping:  # interrupt() has not seen this one
                raise self._error(_GIVEN_UP)
            try:
                file.open()
            except Aside.GivenUpError:
                raise self._error(_GIVEN_UP) from None
            except ValueError as error:
                raise self._error(str(error)) from error.__cause__
        return file

    @property
    def _common_rate(self) -> Fraction | None:
        return next(iter(self._rates)) if len(self._rates) == 1 else None

    def _rate_of(self, frame: Frame[Any]) -> Fraction:
        """Return the rate asked for, else the sources' common one, else that of the frame."""
        if self.rate:
            return _written_as(self.rate)
        if common := self._common_rate:
            return common
        length = length_of(frame.metadata, frame.meta.time_base)
        return RATE if length is None else _of_duration(length)

    def _unfinished(self, error: Exception) -> ElementError:
        return self._error(f"FFmpeg cannot finish what it writes: {in_words(error)}")

    def _error(self, text: str, pts: int | None = None) -> ElementError:
        return ElementError(self.name, text, pts=pts, parameters=self.changed_parameters)


def _written_as(rate: Fraction) -> Fraction:
    """The rate that is meant: 29.97, 23.976 and 59.94 are short for 30000/1001 and so on."""
    whole = -(-rate // 1)
    meant = Fraction(1000 * whole, 1001)
    short = rate != whole and any(round(meant, n) == round(rate, 3) for n in (2, 3))
    return meant if short else rate


def _of_duration(seconds: Fraction) -> Fraction:
    """The rate of a duration, which may be rounded to nanoseconds: 30000/1001 of 33366667."""
    usual = (1 / seconds).limit_denominator(_NTSC)
    return usual if abs(1 / usual - seconds) < Fraction(1, 10**9) else 1 / seconds


def _countable(rate: Fraction) -> Fraction:
    """The nearest rate whose two numbers FFmpeg can hold (AVRational has two ints)."""
    return rate.limit_denominator(_FINEST)
