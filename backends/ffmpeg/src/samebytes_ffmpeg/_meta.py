# SPDX-License-Identifier: Apache-2.0
"""FFmpegMeta: time, format and metadata of an av frame, read when asked for."""

from __future__ import annotations

from ctypes import c_ubyte
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from av import AudioFrame, VideoFrame

from samebytes import FrameMeta, formats
from samebytes.formats import ImageInfo

from ._avframe_abi import ints_of
from ._avutil import AVFrame
from ._layouts import audio_info
from ._meaning import (
    color_range_and_matrix,
    duration_entry,
    entries_of_image,
    interlacing,
    sample_aspect,
    times,
)
from ._pixel_formats import image_format_named
from ._pyav import channel_count, frame_address, time_base_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from samebytes.formats import AudioInfo

__all__ = ["FFmpegMeta", "info_of"]

_UNREAD = object()


class FFmpegMeta(FrameMeta):
    """A FrameMeta whose fields are read from the av frame on first use, and are then its own.

    `metadata` has the entries that all backends share (docs/reference/frame-metadata.md), as far as
    the frame is marked with them. The range of yuvj420p and the like is "full".

    `metadata["ffmpeg"]` holds FFmpeg's own properties of the frame. For images: `color_range`,
    `colorspace`, `color_primaries`, `color_trc`, `chroma_location` (FFmpeg's numbers), `key_frame`,
    `pict_type` ("I", "P", "B" ...), `interlaced_frame`, `top_field_first`, `repeat_pict`,
    `sample_aspect_ratio` (a Fraction, or None), `rotation` (degrees counter-clockwise, from the
    display matrix; the shared entry is clockwise) and `duration` (in units of the time base). For
    sound: `duration`. For both: `side_data`, a dict of names of AVFrameSideDataType without
    AV_FRAME_DATA_ -> a copy of the bytes.
    """

    __slots__ = ("_notes", "native")

    native: VideoFrame | AudioFrame
    _notes: tuple[Callable[[dict[str, Any]], object], ...]

    def __init__(self, native: VideoFrame | AudioFrame) -> None:
        # The other slots stay empty until __getattr__ fills them.
        self.native = native
        self._notes = ()

    def when_read(self, note: Callable[[dict[str, Any]], object]) -> None:
        """Let `note(metadata)` add something when the metadata are read; the same note once."""
        if getattr(super(), "metadata", _UNREAD) is not _UNREAD:  # `metadata_was_read`
            note(self.metadata)
        elif note not in self._notes:  # each element of a pipeline may leave the same one
            self._notes = (*self._notes, note)

    @property
    def metadata_was_read(self) -> bool:
        """True if `metadata` was read, and so may differ from the av frame by now."""
        # Through the base, since reading the attribute here would fill it. And by one call in C:
        # with try and except, CPython 3.11 leaks memory if a signal handler raises in the `except`.
        return getattr(super(), "metadata", _UNREAD) is not _UNREAD

    def color_range_and_matrix(self) -> tuple[str | None, str | None]:
        """As for any frame; before the metadata were read, the two fields of the AVFrame alone."""
        read = getattr(super(), "metadata", _UNREAD) is not _UNREAD  # `metadata_was_read`
        if read or not isinstance(self.native, VideoFrame):
            return super().color_range_and_matrix()
        return color_range_and_matrix(self.native)

    if not TYPE_CHECKING:  # it would hide every misspelt attribute from the type checker

        def __getattr__(self, name: str) -> Any:
            try:
                read = _READ[name]
            except KeyError:
                raise AttributeError(f"FFmpegMeta has no attribute {name!r}") from None
            value = read(self.native)
            if name == "metadata":
                for note in self._notes:
                    note(value)
            setattr(self, name, value)
            return value


def info_of(native: VideoFrame | AudioFrame) -> ImageInfo | AudioInfo | None:
    """Return the description of a frame; a device's frame is described as it would be in memory.

    Raises:
        LayoutError: a pixel format that has no layout, an empty frame, or sound without a rate.
    """
    if isinstance(native, VideoFrame):
        # Only frames of a device have a software format besides their own; PyAV has it since 18.
        pixels = getattr(native, "sw_format", None) or native.format
        return ImageInfo.of(image_format_named(pixels.name), native.width, native.height)
    layout = native.layout
    sample_format = AVFrame.from_address(frame_address(native)).format
    count = channel_count(layout)
    names = formats.channel_names(layout.name)
    name = layout.name if names is None else formats.channel_layout(names)
    return audio_info(sample_format, count, native.samples, native.rate, name)


def _metadata(native: VideoFrame | AudioFrame) -> dict[str, Any]:
    from ._side_data import side_data_of  # not before metadata are read

    address = frame_address(native)
    is_image = isinstance(native, VideoFrame)
    known = {name: getattr(native, name) for name in (_OF_IMAGES if is_image else _OF_SOUND)}
    side_data = side_data_of(AVFrame.from_address(address))
    entries = duration_entry(native)
    if is_image:
        said, of_image = _of_image(_ints(_ints_at(address)))
        known |= said
        entries |= of_image
        if side_data:
            from ._side_data_entries import entries_in  # most frames have none

            entries |= entries_in(side_data)
    known["side_data"] = side_data
    return {"ffmpeg": known, **entries}


# The numbers in an image's AVFrame, which are mostly the same in all frames of a stream. Reading
# them one by one would be half of the cost of the metadata.
_IMAGE = ints_of(
    AVFrame, "format", "pict_type", "sample_aspect_ratio", "repeat_pict",
    *("interlaced_frame", "top_field_first")[: 2 * hasattr(AVFrame, "interlaced_frame")],
    "flags", "color_range", "color_primaries", "color_trc", "colorspace", "chroma_location",
)  # fmt: skip
_ints = _IMAGE.unpack
_ints_at = (c_ubyte * _IMAGE.size).from_address


@lru_cache
def _of_image(numbers: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The properties and the entries that the numbers stand for; callers copy both."""
    frame = AVFrame()
    _IMAGE.pack_into(frame, 0, *numbers)
    known = {name: getattr(frame, name) for name in _NUMBERS}
    known["pict_type"] = _PICTURE_TYPES[frame.pict_type]
    known["interlaced_frame"], known["top_field_first"] = interlacing(frame)
    known["sample_aspect_ratio"] = sample_aspect(frame)
    return known, entries_of_image(frame)


def _time_base(native: VideoFrame | AudioFrame) -> Fraction | None:
    over, under = time_base_of(native)
    return times(1, over, under) if over and under else None


# libavutil/avutil.h: enum AVPictureType
_PICTURE_TYPES = ("NONE", "I", "P", "B", "S", "SI", "SP", "BI")

_NUMBERS = (
    "color_range", "colorspace", "color_primaries", "color_trc", "chroma_location", "repeat_pict",
)  # fmt: skip
_PROPERTIES = ("duration", "key_frame", "rotation")
# PyAV exposes some of them only since 15 or 17.
_OF_IMAGES, _OF_SOUND = (
    [name for name in _PROPERTIES if hasattr(kind, name)] for kind in (VideoFrame, AudioFrame)
)

_READ = {
    "info": info_of,
    "pts": lambda native: native.pts,
    "time_base": _time_base,
    "metadata": _metadata,
    "regions": lambda native: [],
    "_notes": lambda native: (),
}
