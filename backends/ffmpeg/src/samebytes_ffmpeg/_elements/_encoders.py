# SPDX-License-Identifier: Apache-2.0
"""The choice of an encoder that takes frames as they are, and its pattern for a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import av
from av.video.reformatter import ColorRange

from samebytes import Frame
from samebytes.elements import FrameInfo, Image
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import ImageFormat, ImageInfo

from .._pixel_formats import image_format_named, pixel_format_name

__all__ = ["Encodable", "encoder_for", "name_for", "named", "why_not", "why_not_of_range"]

_CHOICES = ("libx264", "mpeg4", "ffv1")
# Encoders whose bitstreams mark all YUV as limited range.
_LIMITED = (
    "mpeg1video", "mpeg2video", "libvpx", "prores", "prores_aw", "prores_ks", "magicyuv",
    "libwebp", "libwebp_anim",
)  # fmt: skip
# Values of FFmpeg's option `strict` that allow the range to be lost or marked wrongly.
_LENIENT = ("unofficial", "experimental", "-1", "-2")


class Encodable(Image):
    """The images that an encoder takes as they are; a source that has a choice gives these.

    Args:
        codec: FFmpeg's name of the encoder; "" for one of those that `encoder_for` chooses from.
    """

    _codec: str

    def __init__(self, codec: str) -> None:
        super().__init__(memory="ffmpeg")
        object.__setattr__(self, "_codec", codec)  # patterns are frozen

    @property
    def media(self) -> str:
        """Images."""
        return "image"

    def with_parameters(self, parameters: Mapping[str, Any]) -> Image:
        """The same pattern: it has its parameter already."""
        return self

    def why_not(self, info: FrameInfo) -> str | None:
        """Return why the encoder does not take these images; None if it does, or if unknown."""
        if (reason := super().why_not(info)) is not None or info.format is None:
            return reason
        # 64x64 stands for a size that is not known yet: no encoder refuses it.
        try:
            format_ = _format_of(info.format)
            name = pixel_format_name(format_)
        except (LayoutError, UnknownNameError) as error:
            return str(error)
        image = ImageInfo(format_, info.width or 64, info.height or 64)
        if self._codec:
            return why_not(self._codec, name, image)
        try:
            encoder_for(name, image)
        except ValueError as error:
            return str(error)
        return None

    def _words(self) -> list[str]:
        return [f"that {self._codec or ' or '.join(_CHOICES)} encodes"]


def _format_of(name: str) -> ImageFormat:
    """The format of a name, even if only FFmpeg has it: palettes, Bayer patterns."""
    try:
        return ImageFormat.of(name)
    except UnknownNameError:
        return image_format_named(name.lower())


def encoder_for(pixel_format: str, image: ImageInfo) -> str:
    """The encoder of H.264 if it takes the format and the size; else MPEG-4's, else FFV1's.

    Raises:
        ValueError: none of them does; the message says why.
    """
    reasons = []
    for codec in _CHOICES:
        reason = why_not(codec, pixel_format, image)
        if reason is None:
            return codec
        reasons.append(reason)
    raise ValueError(f"no encoder takes these frames: {'; '.join(reasons)}; name one with codec=")


def why_not(codec: str, pixel_format: str, image: ImageInfo) -> str | None:
    """Return why an encoder does not take such frames without converting them; None if it does."""
    try:
        found = av.codec.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        others = ": take one of av.codec.codecs_available, such as 'hevc' for H.265"
        return f"this FFmpeg has no encoder {codec!r}{'' if codec in _CHOICES else others}"
    known = [one.name for one in found.video_formats or ()]
    if known and name_for(codec, pixel_format) not in known:
        return f"{codec} takes {', '.join(known)}, not {pixel_format}"
    if found.name == "libx264" and any(_odd(image)):
        return f"libx264 takes whole groups of pixels, not {image.width}x{image.height}"
    return None


def named(codec: str) -> str:
    """The own name of an encoder, "libvpx" for "vp8"; "" for ""."""
    return av.codec.Codec(codec, "w").name if codec else ""


def name_for(codec: str, pixel_format: str) -> str:
    """The name under which an encoder takes a pixel format.

    For yuvj420p it is yuv420p if the encoder gets the range separately: these formats differ in the
    range alone.

    Args:
        codec: FFmpeg's name of the encoder.
        pixel_format: that of the frames.
    """
    known = [one.name for one in av.codec.Codec(codec, "w").video_formats or ()]
    plain = pixel_format.replace("yuvj", "yuv")
    return plain if plain in known and pixel_format not in known else pixel_format


def why_not_of_range(
    codec: str, frame: Frame[Any], lost_in: str, options: Mapping[str, str]
) -> str | None:
    """Return why an encoder does not take the range of a frame's values; None if it does.

    Args:
        codec: FFmpeg's name of it.
        frame: one in FFmpeg's memory.
        lost_in: the container, if neither it nor the encoder says the range; else "".
        options: of the encoder.

    libavcodec/mjpegenc.c: its first formats are those of full range, and others have to be allowed.
    The error of avcodec_open2() is just "Invalid argument".
    """

    def converted(color_range: str) -> str:
        image = frame.image.format
        return f'Put el.create("convert", "{image}", color_range="{color_range}") before it'

    native = frame.native
    full = (
        frame.metadata.get("color_range") == "full"
        and frame.image.format.color_model == "yuv"
        and options.get("strict") not in _LENIENT
    )
    if full and codec in _LIMITED:
        return (
            f"the file would say limited range, as {codec} does of all YUV, and the frames are of "
            f"full range: blacks and whites would be cut off. {converted('limited')}, take another "
            "encoder (libx264, libvpx-vp9), or allow it with options={'strict': 'unofficial'}"
        )
    if full and lost_in:
        return (
            f"the file would say no range, as {codec} in {lost_in} does not, and the frames are of "
            f"full range: players would cut blacks and whites off. {converted('limited')}, take "
            "another ending (.mkv) or encoder (libx264, libvpx-vp9), or allow it with "
            "options={'strict': 'unofficial'}"
        )
    known = [one.name for one in av.codec.Codec(codec, "w").video_formats or ()]
    if not known or not known[0].startswith("yuvj") or not native.format.name.startswith("yuv"):
        return None
    marked = native.format.name.startswith("yuvj") or native.color_range == ColorRange.JPEG
    if marked or options.get("strict") in _LENIENT:
        return None
    limited = native.color_range == ColorRange.MPEG
    found = "of limited range" if limited else "of a range that they do not say"
    return (
        f"{codec} takes YUV of full range ({', '.join(known)}), and the frames are {found}. "
        f"{converted('full')}, or allow it with options={{'strict': 'unofficial'}}"
    )


def _odd(image: ImageInfo) -> Iterator[bool]:
    for plane in image.format.planes:
        yield bool(image.width % (1 << plane.x_shift) or image.height % (1 << plane.y_shift))
