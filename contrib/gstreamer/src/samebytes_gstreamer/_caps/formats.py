# SPDX-License-Identifier: Apache-2.0
"""GStreamer's names and numbers of pixel and sample formats."""

from __future__ import annotations

from ctypes import byref, c_uint
from functools import cache

from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import AudioInfo, ImageFormat, ImageInfo

from .._abi.libraries import video

__all__ = [
    "audio_format_name",
    "image_format_named",
    "image_format_of",
    "known_formats",
    "sample_dtype",
    "video_format_name",
    "video_format_of",
]

# gst/audio/audio-format.h, in the order of bytes of the machines that samebytes knows.
_SAMPLES = {
    "S8": "int8",
    "U8": "uint8",
    "S16LE": "int16",
    "U16LE": "uint16",
    "S32LE": "int32",
    "U32LE": "uint32",
    "F32LE": "float32",
    "F64LE": "float64",
}
_SAMPLE_NAMES = {dtype: name for name, dtype in _SAMPLES.items()}


@cache
def _numbers() -> dict[ImageFormat, tuple[int, str]]:
    """Format -> number and name in the GStreamer that is installed."""
    length = c_uint()
    listed = video.gst_video_formats_raw(byref(length))
    found: dict[ImageFormat, tuple[int, str]] = {}
    # If two of GStreamer's formats are one here, the older one.
    for number in sorted(listed[: length.value]):
        name = video.gst_video_format_to_string(number).decode()
        try:
            found.setdefault(ImageFormat.of(name), (number, name))
        except UnknownNameError:
            continue
    return found


def known_formats() -> list[str]:
    """GStreamer's names of all formats that samebytes knows."""
    return [name for _, name in _numbers().values()]


def image_format_named(name: str) -> ImageFormat:
    """The format of GStreamer's name.

    Raises:
        LayoutError: its planes are not rows of whole elements (tiles, packed bits).
    """
    try:
        return ImageFormat.of(name)
    except UnknownNameError as error:
        raise LayoutError(
            f"GStreamer's format {name} has no planes of whole elements that samebytes knows: put "
            "a videoconvert before it"
        ) from error


def why_not(info: ImageInfo | AudioInfo | None) -> str | None:
    """Say why GStreamer has no buffers of such media, or return None."""
    try:
        if isinstance(info, ImageInfo):
            video_format_of(info.format)
        elif isinstance(info, AudioInfo):
            audio_format_name(info.dtype)
        else:
            return "it is neither picture nor sound; map its tensors one by one"
    except LayoutError as error:
        return str(error)
    return None


@cache
def image_format_of(number: int) -> ImageFormat:
    """The format of a GstVideoFormat.

    Raises:
        LayoutError: as `image_format_named`.
    """
    text = video.gst_video_format_to_string(number)
    return image_format_named("UNKNOWN" if text is None else text.decode())


def video_format_of(image: ImageFormat) -> int:
    """The GstVideoFormat of a format.

    Raises:
        LayoutError: GStreamer lacks it.
    """
    return _known(image)[0]


def video_format_name(image: ImageFormat) -> str:
    """GStreamer's name of a format, for caps.

    Raises:
        LayoutError: GStreamer lacks it.
    """
    return _known(image)[1]


def _known(image: ImageFormat) -> tuple[int, str]:
    try:
        return _numbers()[image]
    except KeyError:
        raise LayoutError(f"no GStreamer format for {image}") from None


def sample_dtype(name: str) -> str:
    """The dtype of GStreamer's sample format.

    Raises:
        LayoutError: its samples are not whole elements in the machine's byte order.
    """
    try:
        return _SAMPLES[name]
    except KeyError:
        near = name.replace("BE", "LE")
        near = near if near in _SAMPLES else "S32LE"  # which holds those of 18, 20 and 24 bits
        raise LayoutError(
            f"samples of GStreamer's format {name} are not whole elements in the machine's byte "
            f"order: put audioconvert ! audio/x-raw,format={near} behind what gives them"
        ) from None


def audio_format_name(dtype: str) -> str:
    """GStreamer's name of samples of a dtype.

    Raises:
        LayoutError: it has none.
    """
    try:
        return _SAMPLE_NAMES[dtype]
    except KeyError:
        raise LayoutError(f"no GStreamer audio format for {dtype} samples") from None
