# SPDX-License-Identifier: Apache-2.0
"""libgstallocators-1.0.so.0: memory behind file descriptors."""

from __future__ import annotations

from ctypes import c_int, c_size_t, c_void_p

__all__ = ["ALLOCATORS", "GST_FD_MEMORY_FLAG_DONT_CLOSE"]

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
