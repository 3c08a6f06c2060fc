# SPDX-License-Identifier: Apache-2.0
"""Reading video files with FFmpeg, through PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from typing import Self

import av

from samebytes import ImageInfo
from samebytes.errors import UnknownNameError

from ._errors import DemoError

__all__ = ["Picture", "Reader"]

_RATE = Fraction(25)
"""The frames a second of a video that does not declare them."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The properties that all frames of a video share.

    Attributes:
        image: format and size.
        format: FFmpeg's name of the format, which also shows full range ("yuvj420p").
        pitches: bytes from row to row, for each plane.
        colors: FFmpeg's numbers of the first frame's range and matrix; 0 and 2 are not specified.
    """

    image: ImageInfo
    format: str
    pitches: tuple[int, ...]
    colors: tuple[int, int] = (0, 2)

    @property
    def padded(self) -> bool:
        """True if some plane has bytes between its rows."""
        return self.pitches != self.dense().pitches

    def dense(self) -> Picture:
        """The same with rows that follow one another without a gap."""
        return replace(self, pitches=tuple(p.row_nbytes for p in self.image.plane_layouts()))

    def blank(self) -> av.VideoFrame:
        """A new frame like those of the video, with undefined contents."""
        made = av.VideoFrame(self.image.width, self.image.height, self.format)
        made.color_range, made.colorspace = self.colors
        return made

    def columns(self, plane: int) -> int:
        """The number of pixels for which a whole row of a plane has room."""
        return self.pitches[plane] // self.image.format.planes[plane].channels


class Reader:
    """The frames of a file's first video stream.

    Args:
        path: the file.
        threads: how many threads the decoder may use; None for FFmpeg's choice. With one thread it
            decodes only when a frame is requested.

    Attributes:
        picture: the properties of its frames.
        codec: FFmpeg's name of the decoder.
        rate: frames a second.
        rotation: degrees, counter-clockwise, by which players turn the frames.
        expected: the number of frames that the file declares; 0 if it declares none.

    Raises:
        DemoError: there is no such file, no video in it, or a format that cannot be drawn into.
    """

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        self._path = path
        self._threads = threads
        if not path.exists():
            raise DemoError(f"{path} does not exist")
        try:
            # Absolute: FFmpeg takes the part before the colon of "12:30.mp4" for a protocol.
            self._container = av.open(path.absolute())
        except (av.FFmpegError, OSError) as error:
            raise DemoError(f"FFmpeg cannot open {path}: {error}") from None
        try:
            self._stream = self._find_stream()
            self.codec = self._stream.codec_context.name
            self.expected = self._stream.frames
            self._decoded: Iterator[av.VideoFrame] = self._decode()
            first = next(self._decoded, None)
            if first is None:
                raise DemoError(f"{path}: no frame of its video can be decoded")
            self._decoded = chain([first], self._decoded)
            self.picture = _picture(path, first)
            self.rotation = first.rotation
            rates = (self._stream.average_rate, self._stream.codec_context.framerate)
            # For a raw stream, the average rate is a guess; the stream's own rate is not.
            self.rate = next(filter(None, rates if first.pts is not None else rates[::-1]), _RATE)
        except BaseException:
            self._container.close()
            raise

    def frames(self, count: int | None = None) -> Iterator[av.VideoFrame]:
        """Yield the frames in the order of display, at most `count` of them. Call it once.

        Raises:
            DemoError: the file is damaged, or its frames change their size or format.
        """
        image = self.picture.image
        like = (self.picture.format, image.width, image.height, self.picture.pitches)
        for number, frame in enumerate(islice(self._decoded, count)):
            if _likeness(frame) != like:
                raise DemoError(
                    f"{self._path}: frame {number} is {frame.format.name} {frame.width}x"
                    f"{frame.height}, which differs from the frames before it ({image}): "
                    "give a video whose frames all have the same layout"
                )
            if frame.pts is None:  # a raw stream has no times
                frame.pts, frame.time_base = number, 1 / self.rate
            yield frame

    def let_go(self) -> None:
        """End the decoder, and with it its references to frames. No more frames can be read."""
        self._decoded = iter(())
        self._container.close()
        # PyAV frees a codec with the last object that can reach it.
        del self._stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    def _find_stream(self) -> av.VideoStream:
        if not self._container.streams.video:
            kinds = sorted({s.type for s in self._container.streams})
            raise DemoError(
                f"{self._path} has no video, only {', '.join(kinds) or 'nothing that is known'}"
            )
        stream = self._container.streams.video[0]
        if stream.codec_context is None:
            raise DemoError(f"{self._path}: this FFmpeg has no decoder for its video")
        if self._threads is None:
            stream.thread_type = "AUTO"
        else:
            stream.codec_context.thread_count = self._threads
            stream.thread_type = "NONE" if self._threads == 1 else "AUTO"
        return stream

    def _decode(self) -> Iterator[av.VideoFrame]:
        try:
            yield from self._container.decode(self._stream)
        except av.FFmpegError as error:
            raise DemoError(f"{self._path} is damaged, FFmpeg cannot decode it: {error}") from None


def _likeness(frame: av.VideoFrame) -> tuple[str, int, int, tuple[int, ...]]:
    pitches = tuple([plane.line_size for plane in frame.planes])
    return frame.format.name, frame.width, frame.height, pitches


def _picture(path: Path, frame: av.VideoFrame) -> Picture:
    name, width, height, pitches = _likeness(frame)
    try:
        image = ImageInfo.of(name, width, height)
    except UnknownNameError:
        image = None
    if (
        image is None
        or image.format.plane_names[0] != "y"
        or any(plane.dtype != "uint8" for plane in image.format.planes)
    ):
        raise DemoError(
            f"{path} has frames of {name}: the demo draws into 8-bit planes of luma and chroma; "
            f"convert it: ffmpeg -i {path.name} -pix_fmt yuv420p converted.mp4"
        )
    if min(pitches) < 0:
        raise DemoError(f"{path} stores its frames bottom up: convert it to another codec")
    return Picture(image, name, pitches, (int(frame.color_range), int(frame.colorspace)))
