# SPDX-License-Identifier: Apache-2.0
"""Codecs that a container can hold, the range that it stores, and the advice if it cannot."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import PurePath
from typing import Any

import av
from av.video.reformatter import ColorRange

from .._pixel_formats import image_format_named
from ._encoders import name_for
from ._failures import ARGUMENT_ERROR
from ._times import MOV

__all__ = [
    "add_stream", "advice", "advice_for_raw", "is_about_the_codec", "is_read_back", "says_range",
]  # fmt: skip

_STREAMS = ("mpeg1video", "mpeg2video", "mpeg4", "h264", "hevc")
# Containers into which FFmpeg writes any video; readers find only codecs with a stream type there.
_READ_BACK = {
    # libavformat/mpegtsenc.c
    **dict.fromkeys(("mpegts", "rtp_mpegts"), (*_STREAMS, "vvc", "cavs", "dirac", "vc1")),
    **dict.fromkeys(("mpeg", "vob", "dvd", "svcd", "vcd"), _STREAMS),  # libavformat/mpeg.c
}
# Containers that store the range of any video, and those that keep no pictures.
_SAYING_RANGE = (
    "matroska", "webm", "mxf", "yuv4mpegpipe",
    "null", "crc", "framecrc", "md5", "framemd5", "hash", "framehash", "streamhash",
)  # fmt: skip
# Codecs whose bitstreams store it.
_CODED_RANGE = ("h264", "hevc", "vp9", "av1", "mjpeg", "dnxhd")
# Containers of segments, where the ending of their names says which.
_BY_ENDING = ("mpegts", "mpeg", "vob", "matroska", "webm", "mp4", "mxf")


def add_stream(
    container: Any, url: object, codec: str, rate: Any, options: Mapping[str, str]
) -> Any:
    """Add a stream of video to a container that is written.

    Args:
        container: PyAV's.
        url: what it writes to.
        codec: FFmpeg's name of the encoder.
        rate: frames a second.
        options: of the container.

    Raises:
        ValueError: the container has no place for such video; the message says which it has.
    """
    held = _READ_BACK.get(_of_pictures(container, url, options))
    if held is not None and av.codec.Codec(codec, "w").id not in _ids(held):
        raise ValueError(f"readers would find no video: {advice(container, url, codec)}")
    try:
        return container.add_stream(codec, rate=rate)
    except ValueError as error:
        raise ValueError(advice(container, url, codec)) from error


def advice(container: Any, url: object, codec: str, pixels: str = "") -> str:
    """Return the words for a container that cannot hold such video, with a codec that it can hold.

    Args:
        pixels: the pixel format, if the codec was accepted and then the header refused.
    """
    usual = getattr(container, "default_video_codec", "")  # not in PyAV 12
    if container.format.name == "image2" and usual:  # of many formats: the ending says which
        ending = PurePath(str(url)).suffix[1:].lower()
        usual = ending if ending in container.supported_codecs else usual
    usual = {"wrapped_avframe": "rawvideo", "none": ""}.get(usual, usual)  # y4m
    if not usual and container.format.name.endswith("segment"):
        usual = "h264"
    held = _ids(tuple(sorted(getattr(container, "supported_codecs", ()))))
    seeks = container.format.name in MOV and not PurePath(str(url)).is_absolute()
    if pixels and seeks and av.codec.Codec(codec, "w").id in held:
        return (
            f"the container {container.format.name} cannot be written to a pipe or connection: "
            "take another one, such as format='matroska', or for mp4 "
            "container_options={'movflags': 'frag_keyframe+empty_moov'}"
        )
    if codec == "rawvideo" and pixels:
        context = container.streams.video[0].codec_context
        said = advice_for_raw(
            pixels, (context.width, context.height), full=context.color_range == ColorRange.JPEG
        )
        return f"the container {container.format.name} has no place for raw {pixels}: {said}"
    if pixels and av.codec.Codec(codec, "w").id in held:
        return (
            f"the container {container.format.name} has no place for {codec} of this rate, size "
            f"or pixel format ({pixels}): pass rate=, convert the frames before, or take another "
            "ending"
        )
    # Few FFmpegs have an encoder of Theora, Ogg's own.
    such = f", such as {usual!r}" if _ids((usual,)) else ""
    return (
        f"the container {container.format.name} has no place for {codec}: name another encoder "
        f"with codec={such}, or take another ending"
    )


def advice_for_raw(pixels: str, size: tuple[int, int], *, full: bool = False) -> str:
    """Return the words for what to do with frames that a container does not take as raw video.

    Args:
        pixels: FFmpeg's name of the pixel format.
        size: (width, height).
        full: they are of full range, which NUT does not store for YUV.
    """
    lost = full and image_format_named(pixels).color_model == "yuv"
    ways = ["another ending (.nut)"] if not lost and is_read_back("nut", pixels, size) else []
    with suppress(av.codec.codec.UnknownCodecError):
        known = [one.name for one in av.codec.Codec("ffv1", "w").video_formats or ()]
        ways += ["the encoder 'ffv1' in .mkv"] if name_for("ffv1", pixels) in known else []
    taken = f"take {' or '.join(ways)}, or " if ways else ""
    return f"{taken}convert the frames before"


def says_range(
    container: Any, url: object, codec: str, options: Mapping[str, str], *, colours: bool
) -> bool:
    """True if a file of YUV stores whether its values are of limited or full range.

    Args:
        container: PyAV's.
        url: what it writes to.
        codec: FFmpeg's name of the encoder.
        options: of the container.
        colours: primaries, transfer and matrix are known: MP4 has one place for them and the range
            (libavformat/movenc.c, "colr").
    """
    encoder = av.codec.Codec(codec, "w")
    if any(one.name.startswith("yuvj") for one in encoder.video_formats or ()):
        return True
    if encoder.id in _ids(_CODED_RANGE):
        return True
    name = _of_pictures(container, url, options)
    return name in _SAYING_RANGE or (name == "mp4" and colours)


@cache
def is_read_back(container: str, pixel_format: str, size: tuple[int, int]) -> bool:
    """True if readers of a container get frames of raw video in the format that was written.

    AVI, MOV and NUT name the format by a tag. If there is none (P010 in AVI, I420 in MOV), FFmpeg
    writes the file all the same, and readers guess by the number of bits. Rows of RGB are
    dense in MOV, and read as padded if the width is 4n + 3. So a small file is tried.

    Args:
        container: FFmpeg's name of it.
        pixel_format: FFmpeg's name of it.
        size: (width, height); only their remainders of 16 matter.
    """
    if container not in ("avi", "mov", "nut"):
        return True
    width, height = (16 + length % 16 for length in size)
    file = BytesIO()
    try:
        given = av.VideoFrame(width, height, pixel_format)
        for plane in given.planes:
            # Opaque, where it is a palette: files have no other.
            plane.update(bytes(255 if n % 4 == 3 else n % 251 for n in range(plane.buffer_size)))
        with av.open(file, "w", format=container) as output:
            stream = output.add_stream("rawvideo", rate=25)
            stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
            output.mux(stream.encode(given))
            output.mux(stream.encode(None))
        file.seek(0)
        with av.open(file, "r") as again:
            found = next(again.decode(video=0))
    except (av.FFmpegError, StopIteration):
        return False
    name = pixel_format.replace("yuvj", "yuv")
    return found.format.name == name and _dense(found) == _dense(given)


def _dense(frame: av.VideoFrame) -> list[bytes]:
    """The values of a picture, without the padding of its rows."""
    context = av.CodecContext.create("rawvideo", "w")
    context.width, context.height, context.pix_fmt = frame.width, frame.height, frame.format.name
    context.time_base = Fraction(1, 25)
    return [bytes(packet) for packet in (*context.encode(frame), *context.encode(None))]


def _of_pictures(container: Any, url: object, options: Mapping[str, str]) -> str:
    """FFmpeg's name of the container that the pictures are in: that of the segments, if any."""
    name = str(container.format.name)
    if name == "hls":
        return "mp4" if options.get("hls_segment_type") in ("fmp4", "1") else "mpegts"
    if not name.endswith("segment"):  # also "stream_segment", "ssegment"
        return name
    ending = PurePath(str(url)).suffix[1:].lower()
    fitting = (one for one in _BY_ENDING if ending in av.ContainerFormat(one, "w").extensions)
    return options.get("segment_format") or next(fitting, "")


def is_about_the_codec(error: Exception) -> bool:
    """True if an error of writing a header may be that the container does not hold the codec."""
    if not isinstance(error, av.FFmpegError):
        return False
    kinds = (ARGUMENT_ERROR, av.error.InvalidDataError)
    return isinstance(error, kinds) or error.errno == errno.EPERM


@cache
def _ids(names: tuple[str, ...]) -> frozenset[int]:
    """The numbers of codecs, as far as this FFmpeg has encoders of them to ask."""
    found = set()
    for name in names:
        with suppress(av.codec.codec.UnknownCodecError):
            found.add(av.codec.Codec(name, "w").id)
    return frozenset(found)
