# SPDX-License-Identifier: Apache-2.0
"""Buffers and pixel formats of libavutil for ctypes: the same in all versions that are known.

The names are the headers' own. Everything here but AVBuffer is in public headers.
"""

from __future__ import annotations

from ctypes import (
    Structure,
    c_char_p,
    c_int,
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
    "AVBuffer",
    "AVBufferRef",
    "AVComponentDescriptor",
    "AVOption",
    "AVPixFmtDescriptor",
]

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


class AVBufferRef(Structure):
    """libavutil/buffer.h."""

    _fields_ = (("buffer", c_void_p), ("data", c_void_p), ("size", c_size_t))


class AVBuffer(Structure):
    """libavutil/buffer_internal.h: the only place that distinguishes a read-only buffer from a
    shared one.

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


class AVOption(Structure):
    """libavutil/opt.h, its beginning."""

    _fields_ = (("name", c_char_p), ("help", c_char_p), ("offset", c_int))


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
