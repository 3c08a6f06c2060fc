# SPDX-License-Identifier: Apache-2.0
"""AVFrame of each libavutil that is known, for ctypes: libavutil/frame.h.

Within one major version fields are only added at the end.
"""

from __future__ import annotations

import struct
from ctypes import Structure, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

__all__ = ["AVFRAMES", "FRAME_PLANES", "device_fields", "frame_head", "ints_of"]

_Fields = list[tuple[str, Any]]

_HEAD: _Fields = [
    ("data", c_void_p * 8),
    ("linesize", c_int * 8),
    ("extended_data", c_void_p),
    ("width", c_int),
    ("height", c_int),
    ("nb_samples", c_int),
    ("format", c_int),
]
_KEY_FRAME: _Fields = [("key_frame", c_int)]
_TIMES: _Fields = [
    ("pict_type", c_int),
    ("sample_aspect_ratio", c_int * 2),
    ("pts", c_int64),
    ("pkt_dts", c_int64),
    ("time_base", c_int * 2),
]
_NUMBERS: _Fields = [("coded_picture_number", c_int), ("display_picture_number", c_int)]
_QUALITY: _Fields = [("quality", c_int), ("opaque", c_void_p), ("repeat_pict", c_int)]
_INTERLACED: _Fields = [
    ("interlaced_frame", c_int),
    ("top_field_first", c_int),
    ("palette_has_changed", c_int),
]
_BUFFERS: _Fields = [
    ("buf", c_void_p * 8),
    ("extended_buf", c_void_p),
    ("nb_extended_buf", c_int),
    ("side_data", c_void_p),
    ("nb_side_data", c_int),
    ("flags", c_int),
    ("color_range", c_int),
    ("color_primaries", c_int),
    ("color_trc", c_int),
    ("colorspace", c_int),
    ("chroma_location", c_int),
    ("best_effort_timestamp", c_int64),
]
_METADATA: _Fields = [("metadata", c_void_p), ("decode_error_flags", c_int)]
_HARDWARE: _Fields = [
    ("hw_frames_ctx", c_void_p),
    ("opaque_ref", c_void_p),
    ("crop_top", c_size_t),
    ("crop_bottom", c_size_t),
    ("crop_left", c_size_t),
    ("crop_right", c_size_t),
]


class _AVFrame57(Structure):
    """FFmpeg 5 and 6, which differ in what is deprecated alone."""

    _fields_ = (
        *_HEAD, *_KEY_FRAME, *_TIMES, *_NUMBERS, *_QUALITY, *_INTERLACED,
        ("reordered_opaque", c_int64), ("sample_rate", c_int), ("channel_layout", c_uint64),
        *_BUFFERS, ("pkt_pos", c_int64), ("pkt_duration", c_int64),
        *_METADATA, ("channels", c_int), ("pkt_size", c_int), *_HARDWARE,
    )  # fmt: skip


class _AVFrame59(Structure):
    """FFmpeg 7."""

    _fields_ = (
        *_HEAD, *_KEY_FRAME, *_TIMES, *_QUALITY, *_INTERLACED, ("sample_rate", c_int),
        *_BUFFERS, ("pkt_pos", c_int64), *_METADATA, ("pkt_size", c_int), *_HARDWARE,
    )  # fmt: skip


class _AVFrame60(Structure):
    """FFmpeg 8 and 9."""

    _fields_ = (
        *_HEAD, *_TIMES, *_QUALITY, ("sample_rate", c_int), *_BUFFERS, *_METADATA, *_HARDWARE,
    )  # fmt: skip


AVFRAMES: dict[int, type[Structure]] = {
    57: _AVFrame57,
    58: _AVFrame57,
    59: _AVFrame59,
    60: _AVFrame60,
    61: _AVFrame60,
}
"""LIBAVUTIL_VERSION_MAJOR -> AVFrame up to the cropping. Another version may have another one."""


def frame_head(frame: type[Structure]) -> struct.Struct:
    """Return the struct that unpacks the fields of an AVFrame that a mapping needs, in one go.

    data[0..3], linesize[0..3], extended_data, width, height, nb_samples, format, buf[0].
    """
    gap = frame.buf.offset - frame.format.offset - frame.format.size
    return struct.Struct(f"@4Q32x4i16xQ4i{gap}xQ")


def device_fields(frame: type[Structure]) -> struct.Struct:
    """Return the struct that unpacks what describes the frame of a device, in one go.

    data[0..3], linesize[0..3], width, height, format, buf[0], hw_frames_ctx, crop_top, crop_left.
    """
    before = frame.buf.offset - frame.format.offset - frame.format.size
    between = frame.hw_frames_ctx.offset - frame.buf.offset - 8
    return struct.Struct(f"@4Q32x4i24x2i4xi{before}xQ{between}xQ8xQ8xQ")


def ints_of(frame: type[Structure], *names: str) -> struct.Struct:
    """Return the struct that unpacks fields of an AVFrame in one go, and packs them into another.

    Args:
        frame: the class.
        names: of fields of one or more ints, in the order in which the AVFrame has them.
    """
    form, end = "", 0
    for name in names:
        field = getattr(frame, name)
        form += f"{field.offset - end}x{field.size // 4}i"
        end = field.offset + field.size
    return struct.Struct(f"={form}")


FRAME_PLANES = struct.Struct("@8Q8i")
"""data and linesize of an AVFrame, to be written in one go."""
