# SPDX-License-Identifier: Apache-2.0
"""ffmpeg.sink: frames into a video file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar

import av

from samebytes import Context, Frame
from samebytes.elements import Doc, FrameInfo, Range, Sink
from samebytes.errors import ElementError
from samebytes.formats import ImageInfo
from samebytes.plugins import Aside, GivenUpError, without_secrets_in

from ._encoders import Encodable, encoder_for, why_not_of_range
from ._failures import in_words
from ._input import RATE
from ._output import Output

__all__ = ["FFmpegSink"]

R = TypeVar("R")

_FINEST = 100_000
"""The denominator of a rate at most: with it 10,000 frames a second are within FFmpeg's int."""


class FFmpegSink(Sink):
    """Encodes frames into a video file, without converting or copying them.

    Frames in memory of the CPU are lent to FFmpeg. Their own times are kept; frames without one get
    it by the rate. The file has its trailer when the pipeline has stopped, also when it was stopped
    early. One sink writes one stream.

    Raises:
        ElementError: the file cannot be written, or the encoder does not take the frames as they
            are.
    """

    name = "ffmpeg.sink"
    one_stream = True

    url: Annotated[Path | str, Doc("a file, or what FFmpeg can write to")]
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
    container_options: Annotated[Mapping[str, str] | None, Doc("of the container")] = None
    on_failure: Annotated[
        Literal["keep", "remove"], Doc("what becomes of the file when the run fails")
    ] = "keep"

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._output: Output | None = None
        self._aside: Aside | None = None
        self._pipe: IO[bytes] | None = None
        self._rate: Fraction | None = None
        self._path: Path | None = None

    @property
    def takes(self) -> Encodable:
        """What the encoder takes, so that a source gives that if it can."""
        return Encodable(self.codec)

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """Keep the rate."""
        self._rate = given.rate
        return given

    def open(self, context: Context | None) -> None:
        """Create the file."""
        super().open(context)
        url = str(self.url)
        if "://" not in url:
            # Absolute: FFmpeg takes what is before the colon of "12:30.mp4" for a protocol.
            path = Path(url).absolute()
            if not path.parent.is_dir():
                raise self._error(
                    f"FFmpeg cannot create it: the folder {path.parent} does not exist"
                )
            self._path, url = path, str(path)
        pipe = self._path is not None and self._path.exists() and not self._path.is_file()
        if self._path is None or pipe:
            self._aside = Aside(f"samebytes {self.name} waits", leave=self._close_pipe)
        try:
            if pipe:
                self._waiting(self._open_pipe)
            options = self.container_options or {}
            self._output = self._waiting(lambda: Output(self._pipe or url, self.format, options))
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self._error(
                f"FFmpeg cannot create it: {in_words(error)}"
            ) from without_secrets_in(error)

    def write(self, frame: Frame[Any]) -> None:
        """Encode a frame."""
        output, meta = self._output, frame.meta
        assert output is not None, "open() comes first"
        native: av.VideoFrame = frame.native
        try:
            if not output.started:
                image = ImageInfo.of(frame.image.format, native.width, native.height)
                codec = self.codec or encoder_for(native.format.name, image)
                options = self.options or {}
                if (reason := why_not_of_range(codec, native, options)) is not None:
                    raise ValueError(reason)
                rate = _written_as(self.rate) if self.rate else self._rate or RATE
                output.start(frame, codec, _countable(rate), self.bit_rate, options)
            self._waiting(lambda: output.write(frame))
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self._error(
                f"FFmpeg cannot write the frame: {in_words(error)}", meta.pts
            ) from without_secrets_in(error)

    def end_of_stream(self, stream: int) -> Iterable[Frame[Any]] | None:
        """Write what the encoder still holds."""
        output = self._output
        if output is not None:
            self._waiting(output.flush)
        return None

    def interrupt(self) -> None:
        """Give up on a peer that takes no data."""
        if self._aside is not None:
            self._aside.interrupt()

    def close(self) -> None:
        """Write the trailer, and close the file."""
        super().close()
        output, self._output = self._output, None
        if output is not None:
            try:
                # It may have been stopped early.
                with suppress(av.FFmpegError, ElementError):
                    self._waiting(output.flush)
            finally:
                with suppress(ElementError):
                    self._waiting(output.close)
            if self.run_failed and self.on_failure == "remove" and self._path is not None:
                self._path.unlink(missing_ok=True)
        aside, self._aside = self._aside, None
        if aside is not None:
            if not aside.left:
                self._close_pipe()
            aside.close()

    def _open_pipe(self) -> None:
        # PyAV would open it without letting other threads run.
        assert self._path is not None
        self._pipe = self._path.open("wb", buffering=0)

    def _close_pipe(self) -> None:
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()

    def _waiting(self, call: Callable[[], R]) -> R:
        """What a call gives that waits if this writes to a connection."""
        if self._aside is None:
            return call()
        try:
            return self._aside.call(call)
        except GivenUpError:
            raise self._error("stopped while the other side takes no data") from None

    def _error(self, text: str, pts: int | None = None) -> ElementError:
        return ElementError(self.name, text, pts=pts, parameters=self.changed_parameters)


def _written_as(rate: Fraction) -> Fraction:
    """The rate that is meant: 29.97, 23.976 and 59.94 are short for 30000/1001 and so on."""
    whole = -(-rate // 1)
    meant = Fraction(1000 * whole, 1001)
    short = rate != whole and any(round(meant, n) == round(rate, 3) for n in (2, 3))
    return meant if short else rate


def _countable(rate: Fraction) -> Fraction:
    """A rate near to it whose two numbers FFmpeg can hold (AVRational has two ints)."""
    return rate.limit_denominator(_FINEST)
