# SPDX-License-Identifier: Apache-2.0
"""libavutil 60 (FFmpeg 8) for ctypes: structures and constants, without any logic.

The names are the headers' own. Everything here but AVBuffer is in public headers.
"""

from __future__ import annotations

import struct
from ctypes import (
    Structure,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint64,
    c_void_p,
)

__all__ = [
    "AV_BUFFER_FLAG_READONLY",
    "AV_PIX_FMT_FLAG_BAYER",
    "AV_PIX_FMT_FLAG_BE",
    "AV_PIX_FMT_FLAG_BITSTREAM",
    "AV_PIX_FMT_FLAG_HWACCEL",
    "AV_PIX_FMT_FLAG_PAL",
    "AV_PIX_FMT_FLAG_RGB",
    "AV_PIX_FMT_FLAG_XYZ",
    "FRAME_HEAD",
    "FRAME_PLANES",
    "LIBAVUTIL_MAJOR",
    "AVBuffer",
    "AVBufferRef",
    "AVComponentDescriptor",
    "AVFrame",
    "AVPixFmtDescriptor",
]

LIBAVUTIL_MAJOR = 60
"""The only libavutil whose structures these are; each major version may change them."""

AV_BUFFER_FLAG_READONLY = 1 << 0
"""libavutil/buffer.h: the data must never be written, whatever the reference count says."""

# libavutil/pixdesc.h
AV_PIX_FMT_FLAG_BE = 1 << 0
AV_PIX_FMT_FLAG_PAL = 1 << 1
AV_PIX_FMT_FLAG_BITSTREAM = 1 << 2
AV_PIX_FMT_FLAG_HWACCEL = 1 << 3
AV_PIX_FMT_FLAG_RGB = 1 << 5
AV_PIX_FMT_FLAG_BAYER = 1 << 8
AV_PIX_FMT_FLAG_XYZ = 1 << 10


class AVFrame(Structure):
    """libavutil/frame.h: the beginning, up to the buffers."""

    _fields_ = (
        ("data", c_void_p * 8),
        ("linesize", c_int * 8),
        ("extended_data", c_void_p),
        ("width", c_int),
        ("height", c_int),
        ("nb_samples", c_int),
        ("format", c_int),
        ("pict_type", c_int),
        ("sample_aspect_ratio", c_int * 2),
        ("pts", c_int64),
        ("pkt_dts", c_int64),
        ("time_base", c_int * 2),
        ("quality", c_int),
        ("opaque", c_void_p),
        ("repeat_pict", c_int),
        ("sample_rate", c_int),
        ("buf", c_void_p * 8),
        ("extended_buf", c_void_p),
        ("nb_extended_buf", c_int),
    )


FRAME_HEAD = struct.Struct("@4Q32x4i16xQ4i64xQ")
"""What a mapping reads of an AVFrame, in one go: data[0..3], linesize[0..3], extended_data, width,
height, nb_samples, format, buf[0]."""

FRAME_PLANES = struct.Struct("@8Q8i")
"""data and linesize of an AVFrame, to be written in one go."""


class AVBufferRef(Structure):
    """libavutil/buffer.h."""

    _fields_ = (("buffer", c_void_p), ("data", c_void_p), ("size", c_size_t))


class AVBuffer(Structure):
    """libavutil/buffer_internal.h: the only place that tells a read-only buffer from a shared one.

    It is checked against a buffer of our own before it is relied on.
    """

    _fields_ = (
        ("data", c_void_p),
        ("size", c_size_t),
        ("refcount", c_uint),
        ("free", c_void_p),
        ("opaque", c_void_p),
        ("flags", c_int),
        ("flags_internal", c_int),
    )


class AVComponentDescriptor(Structure):
    """libavutil/pixdesc.h."""

    _fields_ = (
        ("plane", c_int),
        ("step", c_int),
        ("offset", c_int),
        ("shift", c_int),
        ("depth", c_int),
    )


class AVPixFmtDescriptor(Structure):
    """libavutil/pixdesc.h."""

    _fields_ = (
        ("name", c_char_p),
        ("nb_components", c_uint8),
        ("log2_chroma_w", c_uint8),
        ("log2_chroma_h", c_uint8),
        ("flags", c_uint64),
        ("comp", AVComponentDescriptor * 4),
        ("alias", c_char_p),
    )
