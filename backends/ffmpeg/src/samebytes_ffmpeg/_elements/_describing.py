# SPDX-License-Identifier: Apache-2.0
"""The properties of a file's first frame, passed on to the encoder and the container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes import c_int
from fractions import Fraction
from typing import Any

import av
from av.video.reformatter import ColorRange

from samebytes import FrameMeta
from samebytes.formats import ImageInfo, duration_of, field_order_of

from .._avutil import AVFrame, frame_copy_props
from .._codec_options import option_offset
from .._meaning import chroma_location, interlacing, mark_fields, sample_aspect
from .._meta import FFmpegMeta
from .._pyav import codec_context_address, frame_address
from .._side_data import read_side_data
from .._side_data_entries import write_entries
from ._encoder_side_data import give_side_data
from ._stream_aspect import set_stream_aspect

__all__ = ["as_said", "describe", "has_colours", "properties_of"]

_CODING_FIELDS = ("libx264", "mpeg2video", "mpeg4", "prores_ks")
"""Encoders that code the fields of a picture apart, and say so in their bitstream."""

# libavutil/pixfmt.h: AVCOL_PRI_UNSPECIFIED, and the same for the transfer and the matrix
_UNSPECIFIED = 2

# libavcodec/avcodec.h
_AV_CODEC_FLAG_FRAME_DURATION = 1 << 8
_AV_CODEC_FLAG_INTERLACED_DCT = 1 << 18
_AV_CODEC_FLAG_INTERLACED_ME = 1 << 29


def properties_of(native: av.VideoFrame, meta: FrameMeta) -> av.VideoFrame:
    """An av frame without a picture, marked as a frame is: with its metadata, and with all else
    that its own av frame has.

    Args:
        native: the frame in FFmpeg's memory.
        meta: its FrameMeta.

    Raises:
        LayoutError, UnknownNameError: an entry of the metadata has a value that it cannot have.
    """
    found = av.VideoFrame()
    frame_copy_props(frame_address(found), frame_address(native))
    if not isinstance(meta, FFmpegMeta) or meta.metadata_was_read:
        write_entries(found, meta.metadata)
    return found


def has_colours(properties: av.VideoFrame) -> bool:
    """True if primaries, transfer and matrix are all specified.

    Args:
        properties: from `properties_of`.
    """
    frame = AVFrame.from_address(frame_address(properties))
    said = frame.color_primaries, frame.color_trc, frame.colorspace
    return _UNSPECIFIED not in said


def describe(
    stream: Any, codec: str, properties: av.VideoFrame, image: ImageInfo,
    options: Mapping[str, str],
) -> dict[str, str]:  # fmt: skip
    """Pass the properties on to a stream whose encoder is not open yet.

    They are colours, sample aspect ratio, fields, and side data of whole streams: the display
    matrix, mastering display and so on. FFmpeg leaves out what the encoder or the container has no
    place for.

    Args:
        stream: PyAV's, of a container that is written.
        codec: FFmpeg's name of the encoder.
        properties: from `properties_of`.
        image: format and size of the frames.
        options: the user's, of the encoder.

    Returns:
        Options of the encoder, including those of the user, which take precedence.
    """
    context, frame = stream.codec_context, AVFrame.from_address(frame_address(properties))
    # Not by PyAV's own properties, which exist only since 17.
    context.color_range, context.colorspace = frame.color_range, frame.colorspace
    if not frame.color_range and image.format.color_model == "gray":
        # Gray is of full range unless marked, but players take unmarked video for limited.
        context.color_range = ColorRange.JPEG
    context.color_primaries, context.color_trc = frame.color_primaries, frame.color_trc
    ratio = sample_aspect(frame)
    if ratio is not None:
        context.sample_aspect_ratio = ratio
        # VP8, VP9, AV1 and raw video have it in the container alone.
        set_stream_aspect(stream, ratio)
    # Without this flag only times are encoded, and the last frame is as long as the rate has it.
    flags = _AV_CODEC_FLAG_FRAME_DURATION
    said = {}
    location = chroma_location(frame)
    if location is not None:
        said["chroma_sample_location"] = location
    interlaced, top = interlacing(frame)
    if interlaced:
        said["field_order"] = "tt" if top else "bb"
        if _codes_fields(codec, image, options):
            flags |= _AV_CODEC_FLAG_INTERLACED_DCT | _AV_CODEC_FLAG_INTERLACED_ME
    _add_flags(context, flags)
    give_side_data(context, read_side_data(properties))
    return {**said, **options}


@contextmanager
def as_said(native: av.VideoFrame, meta: FrameMeta, base: Any) -> Iterator[None]:
    """Mark an av frame with the fields and the duration in its metadata; after the block it is
    marked as it was.

    Args:
        native: with the time base of the encoder.
        meta: its FrameMeta.
        base: what its time base was, in which its own duration counts; None or 0 if there is none.
    """
    frame = AVFrame.from_address(frame_address(native))
    fields, length = interlacing(frame), getattr(native, "duration", 0)
    duration = length * Fraction(base) if length and base else None
    if not isinstance(meta, FFmpegMeta) or meta.metadata_was_read:
        order, duration = field_order_of(meta.metadata), duration_of(meta.metadata)
        if order is not None:
            mark_fields(frame, order != "progressive", order == "top")
    has_duration = hasattr(native, "duration")  # since PyAV 15
    if has_duration and native.time_base:
        native.duration = round((duration or 0) / Fraction(native.time_base))
    try:
        yield
    finally:
        mark_fields(frame, *fields)
        if has_duration:
            native.duration = length


def _add_flags(context: Any, flags: int) -> None:
    """Set flags of an encoder. PyAV 12's own property refuses those that it has no name for."""
    address = codec_context_address(context)
    c_int.from_address(address + option_offset(address, b"flags")).value |= flags


def _codes_fields(codec: str, image: ImageInfo, options: Mapping[str, str]) -> bool:
    """True if the encoder can code the fields of such pictures."""
    if codec != "libx264":
        return codec in _CODING_FIELDS
    # x264 does not open for pictures whose fields are not whole groups of pixels.
    whole = not any(image.height % (2 << plane.y_shift) for plane in image.format.planes)
    return whole and options.get("profile") != "baseline"
