# SPDX-License-Identifier: Apache-2.0
"""Reading and writing video files with FFmpeg, through PyAV."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Self

import av
from av.video.frame import PictureType

from samebytes import ImageInfo
from samebytes.errors import UnknownNameError

from ._errors import DemoError

__all__ = ["Picture", "Reader", "Writer"]

_RATE = Fraction(25)
"""Frames a second of a video that does not say."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What all frames of a video have in common.

    Attributes:
        image: format and size.
        format: FFmpeg's name of the format, which also tells full range ("yuvj420p").
        pitches: bytes from row to row, for each plane.
    """

    image: ImageInfo
    format: str
    pitches: tuple[int, ...]

    @property
    def padded(self) -> bool:
        """Whether some plane has bytes between its rows."""
        return self.pitches != self.dense().pitches

    def dense(self) -> Picture:
        """The same with rows that follow one another without a gap."""
        return replace(self, pitches=tuple(p.row_nbytes for p in self.image.plane_layouts()))

    def blank(self) -> av.VideoFrame:
        """A new frame like those of the video, with undefined contents."""
        return av.VideoFrame(self.image.width, self.image.height, self.format)

    def columns(self, plane: int) -> int:
        """Pixels that a whole row of a plane has room for."""
        return self.pitches[plane] // self.image.format.planes[plane].channels


class Reader:
    """The frames of a file's first video stream.

    Attributes:
        picture: what its frames are like.
        codec: FFmpeg's name of the decoder.
        rate: frames a second.
        rotation: degrees, counter-clockwise, by which players turn the frames.
        expected: how many frames the file says that it has; 0 if it does not say.

    Raises:
        DemoError: there is no such file, no video in it, or a format that cannot be drawn into.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            raise DemoError(f"{path} does not exist")
        try:
            # Absolute: FFmpeg takes what is before the colon of "12:30.mp4" for a protocol.
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
                raise DemoError(f"{path}: its video has no frame that can be decoded")
            self._decoded = chain([first], self._decoded)
            self.picture = _picture(path, first)
            self.rotation = first.rotation
            rates = (self._stream.average_rate, self._stream.codec_context.framerate)
            # For a raw stream the average is a guess, what the stream itself says is not.
            self.rate = next(filter(None, rates if first.pts is not None else rates[::-1]), _RATE)
        except BaseException:
            self._container.close()
            raise

    def frames(self, count: int | None = None) -> Iterator[av.VideoFrame]:
        """The frames in the order in which they are shown, `count` of them at most. Once.

        Raises:
            DemoError: the file is damaged, or its frames change their size or format.
        """
        image = self.picture.image
        like = (self.picture.format, image.width, image.height, self.picture.pitches)
        for number, frame in enumerate(islice(self._decoded, count)):
            if _likeness(frame) != like:
                raise DemoError(
                    f"{self._path}: frame {number} is {frame.format.name} {frame.width}x"
                    f"{frame.height}, with another layout than those before it ({image}): "
                    "give a video whose frames are all alike"
                )
            if frame.pts is None:  # a raw stream has no times
                frame.pts, frame.time_base = number, 1 / self.rate
            yield frame

    def let_go(self) -> None:
        """End the decoder, and with it its references to frames. No more can be read."""
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
        stream.thread_type = "AUTO"
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
    return Picture(image, name, pitches)


class Writer:
    """A file with one video stream, like the one that is read.

    It is H.264 where its encoder takes the format and the size, which must be even for 4:2:0;
    else MPEG-4, and where that does not take them either, FFV1.

    Until finish() it is a hidden file beside the one that is asked for, so that a failure leaves
    an earlier video as it was.

    Attributes:
        codec: FFmpeg's name of the encoder.
        frames: how many were written.

    Raises:
        DemoError: the file cannot be written.
    """

    def __init__(self, path: Path, like: Reader, options: Mapping[str, str] | None = None) -> None:
        self.codec = _encoder(like.picture)
        self.frames = 0
        source = like._stream
        rate = like.rate
        self._path = path
        if not path.parent.is_dir():
            raise DemoError(f"{path} cannot be written: there is no folder {path.parent}")
        if path.is_dir() or (path.exists() and not os.access(path, os.W_OK)):
            raise DemoError(f"{path} cannot be written: it is a folder, or write-protected")
        # Where a link leads to, so that the link stays one.
        self._target = path.resolve()
        # With the same ending, which decides about the container.
        self._part = self._target.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
        try:
            self._container = av.open(self._part, "w")
        except (av.FFmpegError, OSError, ValueError) as error:
            raise DemoError(
                f"FFmpeg cannot write {path}: {error}; its ending must be that of a video format "
                "(.mp4, .mkv)"
            ) from None
        try:
            stream = self._container.add_stream(self.codec, rate=rate, options=dict(options or {}))
            assert isinstance(stream, av.VideoStream)
            self._stream = stream
            image = like.picture.image
            stream.width, stream.height = image.width, image.height
            stream.pix_fmt = like.picture.format
            context, given = stream.codec_context, source.codec_context
            context.time_base = source.time_base or 1 / rate
            if given.sample_aspect_ratio is not None:
                context.sample_aspect_ratio = given.sample_aspect_ratio
            context.color_range, context.colorspace = given.color_range, given.colorspace
            context.color_primaries, context.color_trc = given.color_primaries, given.color_trc
            if like.rotation:
                stream.set_display_rotation(like.rotation)
            if self.codec == "mpeg4":
                # Its default, 200 kbit/s, is a mosaic at any size of today.
                stream.bit_rate = int(image.width * image.height * rate) // 4
        except ValueError as error:
            self._discard()
            raise DemoError(f"FFmpeg cannot write {path}: {error}; name an .mp4 or .mkv") from None
        except BaseException:
            self._discard()
            raise

    def write(self, frame: av.VideoFrame) -> None:
        """Encode a frame. The encoder reads it before this returns."""
        # Else the encoder would make it an I-, P- or B-frame as it was in the file it came from.
        frame.pict_type = PictureType.NONE
        self._encode(frame)
        self.frames += 1

    def finish(self) -> None:
        """Encode what the encoder still holds, and put the file in its place."""
        self._encode(None)
        try:
            self._container.close()
            self._part.replace(self._target)
        except (av.FFmpegError, OSError) as error:
            raise DemoError(f"{self._path} cannot be written: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._discard()

    def _discard(self) -> None:
        # What cannot be written to its end is of no use anyway.
        with contextlib.suppress(av.FFmpegError, OSError):
            self._container.close()
        self._part.unlink(missing_ok=True)

    def _encode(self, frame: av.VideoFrame | None) -> None:
        try:
            self._container.mux(self._stream.encode(frame))
        except av.FFmpegError as failure:
            raise DemoError(
                f"FFmpeg cannot write {self.codec} into {self._path}: {failure}"
            ) from None


def _encoder(picture: Picture) -> str:
    image = picture.image

    def takes(codec: str) -> bool:
        try:
            formats = av.codec.Codec(codec, "w").video_formats or ()
        except av.codec.codec.UnknownCodecError:
            return False
        return picture.format in {f.name for f in formats}

    whole = all(
        image.width % (1 << p.x_shift) == image.height % (1 << p.y_shift) == 0
        for p in image.format.planes
    )
    choices: dict[str, Callable[[], bool]] = {
        "libx264": lambda: whole and takes("libx264"),
        "mpeg4": lambda: takes("mpeg4"),
        "ffv1": lambda: takes("ffv1"),
    }
    for codec, fits in choices.items():
        if fits():
            return codec
    raise DemoError(f"this FFmpeg has no encoder (of {', '.join(choices)}) for {picture.format}")
