# SPDX-License-Identifier: Apache-2.0
"""The smaller libraries that GStreamer's plugins share: allocators, app, audio and va.

A table for each: (result, *arguments) of its functions, with the header that declares them.
"""

from __future__ import annotations

from ctypes import POINTER, Structure, c_int, c_size_t, c_uint, c_uint8, c_void_p

from .gstreamer import GstMeta

__all__ = [
    "ALLOCATORS",
    "APP",
    "AUDIO",
    "GST_ALLOCATOR_VASURFACE",
    "GST_FD_MEMORY_FLAG_DONT_CLOSE",
    "GST_FLOW_OK",
    "VA",
    "VA_INVALID_SURFACE",
    "GstAudioMeta",
]

# libgstallocators-1.0.so.0: memory behind file descriptors.

GST_FD_MEMORY_FLAG_DONT_CLOSE = 1 << 2
"""gst/allocators/gstfdmemory.h: the descriptor stays whose it is."""

ALLOCATORS = {
    # gst/allocators/gstfdmemory.h
    "gst_is_fd_memory": (c_int, c_void_p),
    "gst_fd_memory_get_fd": (c_int, c_void_p),
    "gst_fd_allocator_new": (c_void_p,),
    "gst_fd_allocator_alloc": (c_void_p, c_void_p, c_int, c_size_t, c_int),
    # gst/allocators/gstdmabuf.h
    "gst_is_dmabuf_memory": (c_int, c_void_p),
    "gst_dmabuf_allocator_new": (c_void_p,),
    "gst_dmabuf_allocator_alloc_with_flags": (c_void_p, c_void_p, c_int, c_size_t, c_int),
}

# libgstapp-1.0.so.0: buffers for an appsrc.

GST_FLOW_OK = 0
"""gst/gstpad.h: GstFlowReturn."""

APP = {
    # gst/app/gstappsrc.h: it takes over the reference to the buffer.
    "gst_app_src_push_buffer": (c_int, c_void_p, c_void_p),
}

# libgstaudio-1.0.so.0: the meta of sound whose channels lie apart.

_AUDIO_INFO_NBYTES = 320
"""gst/audio/audio-info.h: sizeof (GstAudioInfo)."""


class GstAudioMeta(Structure):
    """gst/audio/gstaudiometa.h: `offsets` has one entry for each channel that lies apart."""

    _fields_ = [
        ("meta", GstMeta),
        ("info", c_uint8 * _AUDIO_INFO_NBYTES),
        ("samples", c_size_t),
        ("offsets", c_void_p),
        ("priv_offsets_arr", c_size_t * 8),
        ("_gst_reserved", c_void_p * 4),
    ]


AUDIO = {
    # gst/audio/gstaudiometa.h
    "gst_buffer_add_audio_meta": (c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
}

# libgstva-1.0.so.0: surfaces of VA-API in GstMemory.

GST_ALLOCATOR_VASURFACE = b"VAMemory"
"""gst/va/gstvaallocator.h."""

VA_INVALID_SURFACE = 0xFFFFFFFF
"""va/va.h: VA_INVALID_ID."""

VA = {
    # gst/va/gstvaallocator.h
    "gst_va_memory_get_surface": (c_uint, c_void_p),
    "gst_va_memory_peek_display": (c_void_p, c_void_p),
    # gst/va/gstvadisplay.h
    "gst_va_display_get_va_dpy": (c_void_p, c_void_p),
}
