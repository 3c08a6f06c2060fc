# SPDX-License-Identifier: Apache-2.0
"""FFmpeg's contexts of devices and of their frames, for ctypes.

libavutil/hwcontext.h, hwcontext_vaapi.h, hwcontext_drm.h and hwcontext_cuda.h, the names being
theirs.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_int,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

__all__ = [
    "AV_DRM_MAX_PLANES",
    "AV_PIX_FMT_NONE",
    "DEVICE_CONTEXTS",
    "FRAMES_CONTEXTS",
    "AVCUDADeviceContext",
    "AVDRMDeviceContext",
    "AVDRMFrameDescriptor",
    "AVDRMLayerDescriptor",
    "AVDRMObjectDescriptor",
    "AVDRMPlaneDescriptor",
    "AVHWFramesConstraints",
    "AVVAAPIDeviceContext",
]

AV_PIX_FMT_NONE = -1
AV_DRM_MAX_PLANES = 4

_Fields = list[tuple[str, Any]]

_CLASS: _Fields = [("av_class", c_void_p)]
# Gone since FFmpeg 7.
_INTERNAL: _Fields = [("internal", c_void_p)]
_DEVICE: _Fields = [
    ("type", c_int),
    ("hwctx", c_void_p),
    ("free", c_void_p),
    ("user_opaque", c_void_p),
]
_FRAMES: _Fields = [
    ("device_ref", c_void_p),
    ("device_ctx", c_void_p),
    ("hwctx", c_void_p),
    ("free", c_void_p),
    ("user_opaque", c_void_p),
    ("pool", c_void_p),
    ("initial_pool_size", c_int),
    ("format", c_int),
    ("sw_format", c_int),
    ("width", c_int),
    ("height", c_int),
]


class _AVHWDeviceContext57(Structure):
    _fields_ = (*_CLASS, *_INTERNAL, *_DEVICE)


class _AVHWDeviceContext59(Structure):
    _fields_ = (*_CLASS, *_DEVICE)


class _AVHWFramesContext57(Structure):
    _fields_ = (*_CLASS, *_INTERNAL, *_FRAMES)


class _AVHWFramesContext59(Structure):
    _fields_ = (*_CLASS, *_FRAMES)


DEVICE_CONTEXTS: dict[int, type[Structure]] = {
    57: _AVHWDeviceContext57,
    58: _AVHWDeviceContext57,
    59: _AVHWDeviceContext59,
    60: _AVHWDeviceContext59,
    61: _AVHWDeviceContext59,
}
"""LIBAVUTIL_VERSION_MAJOR -> AVHWDeviceContext."""

FRAMES_CONTEXTS: dict[int, type[Structure]] = {
    57: _AVHWFramesContext57,
    58: _AVHWFramesContext57,
    59: _AVHWFramesContext59,
    60: _AVHWFramesContext59,
    61: _AVHWFramesContext59,
}
"""LIBAVUTIL_VERSION_MAJOR -> AVHWFramesContext."""


class AVHWFramesConstraints(Structure):
    """The formats and sizes of frames that a device can have; lists end with AV_PIX_FMT_NONE."""

    _fields_ = (
        ("valid_hw_formats", POINTER(c_int)),
        ("valid_sw_formats", POINTER(c_int)),
        ("min_width", c_int),
        ("min_height", c_int),
        ("max_width", c_int),
        ("max_height", c_int),
    )


class AVVAAPIDeviceContext(Structure):
    """AVHWDeviceContext.hwctx of VA-API."""

    _fields_ = (("display", c_void_p), ("driver_quirks", c_uint))


class AVCUDADeviceContext(Structure):
    """AVHWDeviceContext.hwctx of CUDA. A stream of NULL is the legacy default stream."""

    _fields_ = (("cuda_ctx", c_void_p), ("stream", c_void_p), ("internal", c_void_p))


class AVDRMDeviceContext(Structure):
    """AVHWDeviceContext.hwctx of DRM. Without a device the descriptor is below zero."""

    _fields_ = (("fd", c_int),)


class AVDRMObjectDescriptor(Structure):
    """One buffer."""

    _fields_ = (("fd", c_int), ("size", c_size_t), ("format_modifier", c_uint64))


class AVDRMPlaneDescriptor(Structure):
    """The place of a plane; its object is an index into the frame's list."""

    _fields_ = (("object_index", c_int), ("offset", c_ssize_t), ("pitch", c_ssize_t))


class AVDRMLayerDescriptor(Structure):
    """A layer: the whole image, or one plane of it."""

    _fields_ = (
        ("format", c_uint32),
        ("nb_planes", c_int),
        ("planes", AVDRMPlaneDescriptor * AV_DRM_MAX_PLANES),
    )


class AVDRMFrameDescriptor(Structure):
    """The structure that AVFrame.data[0] of a frame of format drm_prime points to."""

    _fields_ = (
        ("nb_objects", c_int),
        ("objects", AVDRMObjectDescriptor * AV_DRM_MAX_PLANES),
        ("nb_layers", c_int),
        ("layers", AVDRMLayerDescriptor * AV_DRM_MAX_PLANES),
    )
