# SPDX-License-Identifier: Apache-2.0
"""What FFmpeg knows of a frame besides its bytes, read from the av frame when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from av import VideoFrame
from av.video.frame import PictureType

from samebytes.formats import AudioInfo, ImageInfo
from samebytes.plugins import FrameMeta

from ._avutil import AVFrame
from ._layouts import audio_info
from ._pixel_formats import image_format_named
from ._pyav import channel_count, frame_address

if TYPE_CHECKING:
    from av import AudioFrame

__all__ = ["FFmpegMeta", "info_of"]


class FFmpegMeta(FrameMeta):
    """A FrameMeta whose fields are read from the av frame on first use, and are then its own.

    `metadata["ffmpeg"]` holds FFmpeg's properties of the frame: for images `color_range`,
    `colorspace`, `color_primaries`, `color_trc` (FFmpeg's numbers, as PyAV gives them),
    `key_frame`, `pict_type` ("I", "P", "B" ...) and `duration`; for sound `duration`.
    """

    __slots__ = ("native",)

    native: VideoFrame | AudioFrame

    def __init__(self, native: VideoFrame | AudioFrame) -> None:
        # The base's slots stay empty until __getattr__ fills them.
        self.native = native

    if not TYPE_CHECKING:  # it would hide every misspelt attribute from the type checker

        def __getattr__(self, name: str) -> Any:
            try:
                read = _READ[name]
            except KeyError:
                raise AttributeError(f"FFmpegMeta has no attribute {name!r}") from None
            value = read(self.native)
            setattr(self, name, value)
            return value


def info_of(native: VideoFrame | AudioFrame) -> ImageInfo | AudioInfo | None:
    """What the frame holds. For a frame of a device, what it would be in memory.

    Raises:
        LayoutError: a pixel format that has no layout, an empty frame, or sound without a rate.
    """
    if isinstance(native, VideoFrame):
        # Only frames of a device have a software format besides their own. PyAV tells it since 18.
        pixels = getattr(native, "sw_format", None) or native.format
        return ImageInfo.of(image_format_named(pixels.name), native.width, native.height)
    layout = native.layout
    sample_format = AVFrame.from_address(frame_address(native)).format
    count = channel_count(layout)
    return audio_info(sample_format, count, native.samples, native.rate, layout.name)


def _metadata(native: VideoFrame | AudioFrame) -> dict[str, Any]:
    # PyAV tells some of them since 17 only.
    known = {name: getattr(native, name) for name in _PROPERTIES if hasattr(native, name)}
    if isinstance(native, VideoFrame):
        known["pict_type"] = PictureType(native.pict_type).name
    return {"ffmpeg": known}


_PROPERTIES = (
    "duration", "color_range", "colorspace", "color_primaries", "color_trc", "key_frame",
)  # fmt: skip


_READ = {
    "info": info_of,
    "pts": lambda native: native.pts,
    "time_base": lambda native: native.time_base,
    "metadata": _metadata,
    "regions": lambda native: [],
}
