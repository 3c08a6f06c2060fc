# SPDX-License-Identifier: Apache-2.0
"""Writing video files with FFmpeg, through PyAV."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import av
from av.video.frame import PictureType

from ._errors import DemoError
from ._reader import Picture, Reader

__all__ = ["Writer"]


class Writer:
    """A file with one video stream, like the one that is read.

    It is H.264 if the encoder takes the format and the size, which must be even for 4:2:0;
    otherwise MPEG-4 or, if that does not take them either, FFV1.

    Until finish() it is a hidden file beside the requested one, so that a failure leaves an earlier
    video as it was.

    Attributes:
        codec: FFmpeg's name of the encoder.
        frames: how many frames were written.

    Raises:
        DemoError: the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        like: Reader,
        options: Mapping[str, str] | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.codec = _encoder(like.picture)
        self.frames = 0
        source = like._stream
        rate = like.rate
        self._path = path
        if not path.parent.is_dir():
            raise DemoError(f"{path} cannot be written: there is no folder {path.parent}")
        if path.is_dir() or (path.exists() and not os.access(path, os.W_OK)):
            raise DemoError(f"{path} cannot be written: it is a folder, or write-protected")
        # The target of a link, so that the link stays a link.
        self._target = path.resolve()
        # With the same suffix, since that decides the container.
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
            if threads is not None:
                stream.codec_context.thread_count = threads
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
                # Its default, 200 kbit/s, gives a mosaic at any present-day size.
                stream.bit_rate = int(image.width * image.height * rate) // 4
        except ValueError as error:
            self._discard()
            raise DemoError(f"FFmpeg cannot write {path}: {error}; name an .mp4 or .mkv") from None
        except BaseException:
            self._discard()
            raise

    def write(self, frame: av.VideoFrame) -> None:
        """Encode a frame. The encoder reads it before this returns."""
        # Otherwise the encoder would make it an I-, P- or B-frame as in the source file.
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
        # A file that cannot be completed is of no use anyway.
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
