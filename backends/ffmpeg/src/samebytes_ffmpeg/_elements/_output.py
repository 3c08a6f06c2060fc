# SPDX-License-Identifier: Apache-2.0
"""One video file that is written."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import IO, Any

import av
from av.video.frame import PictureType

from samebytes import Frame
from samebytes.formats import ImageInfo

from ._describing import as_said, describe, properties_of

__all__ = ["Output"]

_MPEG4_MOST = 65535
"""Parts of a second that MPEG-4 can count at most."""


class Output:
    """A container with one video stream, made for frames like the first one.

    Args:
        url: where to, or a file that is open; its ending decides about the container.
        format: FFmpeg's name of the container's format; "" for what the ending says.
        options: of the container.
    """

    def __init__(self, url: str | IO[bytes], format_: str, options: Mapping[str, str]) -> None:
        self._container: Any = av.open(
            url, "w", format=format_ or None, container_options=dict(options)
        )
        self._stream: Any = None
        self._rate = Fraction(0)
        self._time_base = Fraction(0)
        self._like: tuple[Any, ...] = ()
        self._last: int | None = None
        self._flushed = False

    @property
    def started(self) -> bool:
        """True if the stream was added."""
        return self._stream is not None

    def start(
        self, frame: Frame[Any], codec: str, rate: Fraction, bit_rate: int | None,
        options: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Add the stream.

        Args:
            frame: one like those that follow, in FFmpeg's memory.

        Raises:
            LayoutError, UnknownNameError: an entry of its metadata is not what it can be.
        """
        native, time_base = frame.native, frame.meta.time_base
        properties = properties_of(native, frame.meta)
        stream = self._container.add_stream(codec, rate=rate)
        stream.width, stream.height = native.width, native.height
        stream.pix_fmt = native.format.name
        context = stream.codec_context
        base = time_base or 1 / rate
        if codec == "mpeg4" and base.denominator > _MPEG4_MOST:
            base = Fraction(1, _MPEG4_MOST)
        context.time_base = base
        image = ImageInfo.of(frame.image.format, native.width, native.height)
        context.options.update(describe(stream, codec, properties, image, options))
        if bit_rate is not None:
            stream.bit_rate = bit_rate
        elif codec == "mpeg4":
            # Its default, 200 kbit/s, is a mosaic at any size of today.
            stream.bit_rate = int(native.width * native.height * rate) // 4
        self._stream, self._rate, self._time_base = stream, rate, base
        self._like = _likeness(native)

    def write(self, frame: Frame[Any]) -> None:
        """Encode a frame in FFmpeg's memory; the av frame is afterwards as it was.

        Raises:
            ValueError: it is of another layout than the first one, or not after the one before.
        """
        native, pts, time_base = frame.native, frame.meta.pts, frame.meta.time_base
        if self._flushed:
            raise ValueError("the stream has ended: one sink writes one stream")
        if _likeness(native) != self._like:
            # PyAV would convert it.
            raise ValueError(
                f"a frame is {_words(native)}, and the file has {_words_of(self._like)}: scale or "
                "convert it before"
            )
        if pts is None or not time_base:
            last = -1 if self._last is None else self._last
            step = max(round(1 / self._rate / self._time_base), 1)
            pts, time_base = (last + step if self._last is not None else 0), self._time_base
        count = round(pts * time_base / self._time_base)
        if self._last is not None and count <= self._last:
            raise ValueError(
                f"its time, {float(count * self._time_base):.6g} s, is not after the one before, "
                f"{float(self._last * self._time_base):.6g} s: the clock of its source has stepped "
                "back, or there are frames of several streams"
            )
        kept = native.pts, native.time_base, native.pict_type
        native.pts, native.time_base = count, self._time_base
        # Else the encoder would make it an I-, P- or B-frame as it was in the file it came from.
        native.pict_type = PictureType.NONE
        try:
            with as_said(native, frame.meta, kept[1]):
                packets = self._stream.encode(native)
        finally:
            native.pts, native.pict_type = kept[0], kept[2]
            if kept[1]:
                native.time_base = kept[1]
        self._last = count
        self._container.mux(packets)

    def flush(self) -> None:
        """Write what the encoder still holds."""
        if self._stream is not None and not self._flushed:
            self._flushed = True
            if self._last is None:
                return  # the encoder did not open, and PyAV 19 would end the process
            self._container.mux(self._stream.encode(None))

    def close(self) -> None:
        """Write the trailer."""
        container, self._container = self._container, None
        self._stream = None
        if container is not None:
            container.close()


def _likeness(native: av.VideoFrame) -> tuple[Any, ...]:
    return native.format.name, native.width, native.height


def _words(native: av.VideoFrame) -> str:
    return _words_of(_likeness(native))


def _words_of(likeness: tuple[Any, ...]) -> str:
    name, width, height = likeness
    return f"{name} {width}x{height}"
