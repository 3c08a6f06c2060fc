# SPDX-License-Identifier: Apache-2.0
"""libgstva-1.0.so.0: surfaces of VA-API in GstMemory."""

from __future__ import annotations

from ctypes import c_uint, c_void_p

__all__ = ["GST_ALLOCATOR_VASURFACE", "VA", "VA_INVALID_SURFACE"]

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
