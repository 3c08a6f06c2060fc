# SPDX-License-Identifier: Apache-2.0
"""libgstvideo-1.0.so.0: the metas of a picture, and the names of formats."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_int, c_size_t, c_uint, c_void_p

from .glib import GType
from .gstreamer import GstMeta

__all__ = [
    "GST_VIDEO_MAX_PLANES",
    "VIDEO",
    "GstVideoAlignment",
    "GstVideoCropMeta",
    "GstVideoMeta",
    "GstVideoRegionOfInterestMeta",
]

GST_VIDEO_MAX_PLANES = 4
"""gst/video/video-format.h."""


class GstVideoAlignment(Structure):
    """gst/video/video-info.h."""

    _fields_ = [
        ("padding_top", c_uint),
        ("padding_bottom", c_uint),
        ("padding_left", c_uint),
        ("padding_right", c_uint),
        ("stride_align", c_uint * GST_VIDEO_MAX_PLANES),
    ]


class GstVideoMeta(Structure):
    """gst/video/gstvideometa.h: where the planes lie in the buffer."""

    _fields_ = [
        ("meta", GstMeta),
        ("buffer", c_void_p),
        ("flags", c_int),
        ("format", c_int),
        ("id", c_int),
        ("width", c_uint),
        ("height", c_uint),
        ("n_planes", c_uint),
        ("offset", c_size_t * GST_VIDEO_MAX_PLANES),
        ("stride", c_int * GST_VIDEO_MAX_PLANES),
        ("map", c_void_p),
        ("unmap", c_void_p),
        ("alignment", GstVideoAlignment),
    ]


class GstVideoCropMeta(Structure):
    """gst/video/gstvideometa.h: the part of the picture that is meant to be seen."""

    _fields_ = [
        ("meta", GstMeta),
        ("x", c_uint),
        ("y", c_uint),
        ("width", c_uint),
        ("height", c_uint),
    ]


class GstVideoRegionOfInterestMeta(Structure):
    """gst/video/gstvideometa.h: a rectangle; `params` is a GList of GstStructure."""

    _fields_ = [
        ("meta", GstMeta),
        ("roi_type", c_uint),
        ("id", c_int),
        ("parent_id", c_int),
        ("x", c_uint),
        ("y", c_uint),
        ("w", c_uint),
        ("h", c_uint),
        ("params", c_void_p),
    ]


VIDEO = {
    # gst/video/gstvideometa.h
    "gst_video_meta_api_get_type": (GType,),
    "gst_video_crop_meta_api_get_type": (GType,),
    "gst_video_region_of_interest_meta_api_get_type": (GType,),
    "gst_buffer_add_video_meta_full": (
        c_void_p, c_void_p, c_int, c_int, c_uint, c_uint, c_uint, POINTER(c_size_t),
        POINTER(c_int),
    ),
    "gst_buffer_add_video_region_of_interest_meta_id": (
        c_void_p, c_void_p, c_uint, c_uint, c_uint, c_uint, c_uint,  # GQuark is 32 bits
    ),
    "gst_video_region_of_interest_meta_add_param": (None, c_void_p, c_void_p),
    # gst/video/video-format.h
    "gst_video_format_to_string": (c_char_p, c_int),
    # All formats whose planes lie in memory; the array stays the library's.
    "gst_video_formats_raw": (POINTER(c_int), POINTER(c_uint)),
}  # fmt: skip
