# SPDX-License-Identifier: Apache-2.0
"""libgstreamer-1.0.so.0: mini objects, memory, buffers, samples, metas and structures."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
)

from .glib import GType, GValue

__all__ = [
    "GSTREAMER",
    "GST_BUFFER_COPY_ALL",
    "GST_BUFFER_OFFSET_NONE",
    "GST_CLOCK_TIME_NONE",
    "GST_MAP_READ",
    "GST_MAP_WRITE",
    "GST_MEMORY_FLAG_NO_SHARE",
    "GST_MEMORY_FLAG_READONLY",
    "GstBuffer",
    "GstCustomMeta",
    "GstMapInfo",
    "GstMemory",
    "GstMeta",
    "GstMetaInfo",
    "GstMiniObject",
]

GST_MAP_READ = 1 << 0
GST_MAP_WRITE = 1 << 1
"""gst/gstmemory.h: GstMapFlags."""

GST_MEMORY_FLAG_READONLY = 1 << 1
"""gst/gstmemory.h: GST_MINI_OBJECT_FLAG_LOCK_READONLY of gst/gstminiobject.h."""

GST_MEMORY_FLAG_NO_SHARE = 1 << 4
"""gst/gstmemory.h: GST_MINI_OBJECT_FLAG_LAST; copies of a buffer copy such memory."""

GST_BUFFER_COPY_ALL = 0xF
"""gst/gstbuffer.h: flags, timestamps, metas and (shared) memory."""

GST_CLOCK_TIME_NONE = 2**64 - 1
"""gst/gstclock.h."""
GST_BUFFER_OFFSET_NONE = 2**64 - 1
"""gst/gstbuffer.h."""


class GstMiniObject(Structure):
    """gst/gstminiobject.h."""

    _fields_ = [
        ("type", GType),
        ("refcount", c_int),
        ("lockstate", c_int),
        ("flags", c_uint),
        ("copy", c_void_p),
        ("dispose", c_void_p),
        ("free", c_void_p),
        ("priv_uint", c_uint),
        ("priv_pointer", c_void_p),
    ]


class GstMemory(Structure):
    """gst/gstmemory.h."""

    _fields_ = [
        ("mini_object", GstMiniObject),
        ("allocator", c_void_p),
        ("parent", c_void_p),
        ("maxsize", c_size_t),
        ("align", c_size_t),
        ("offset", c_size_t),
        ("size", c_size_t),
    ]


class GstMapInfo(Structure):
    """gst/gstmemory.h."""

    _fields_ = [
        ("memory", c_void_p),
        ("flags", c_int),
        ("data", c_void_p),
        ("size", c_size_t),
        ("maxsize", c_size_t),
        ("user_data", c_void_p * 4),
        ("_gst_reserved", c_void_p * 4),
    ]


class GstBuffer(Structure):
    """gst/gstbuffer.h."""

    _fields_ = [
        ("mini_object", GstMiniObject),
        ("pool", c_void_p),
        ("pts", c_uint64),
        ("dts", c_uint64),
        ("duration", c_uint64),
        ("offset", c_uint64),
        ("offset_end", c_uint64),
    ]


class GstMeta(Structure):
    """gst/gstmeta.h: how every meta begins."""

    _fields_ = [("flags", c_int), ("info", c_void_p)]


class GstMetaInfo(Structure):
    """gst/gstmeta.h."""

    _fields_ = [
        ("api", GType),
        ("type", GType),
        ("size", c_size_t),
        ("init_func", c_void_p),
        ("free_func", c_void_p),
        ("transform_func", c_void_p),
    ]


class GstCustomMeta(Structure):
    """gst/gstmeta.h: `structure` is a GstStructure that is the meta's own."""

    _fields_ = [("meta", GstMeta), ("structure", c_void_p)]


_VALUE = POINTER(GValue)

GSTREAMER = {
    # gst/gstminiobject.h
    "gst_mini_object_ref": (c_void_p, c_void_p),
    "gst_mini_object_unref": (None, c_void_p),
    "gst_mini_object_is_writable": (c_int, c_void_p),
    "gst_mini_object_weak_ref": (None, c_void_p, c_void_p, c_void_p),
    "gst_mini_object_set_qdata": (None, c_void_p, c_uint, c_void_p, c_void_p),
    "gst_mini_object_get_qdata": (c_void_p, c_void_p, c_uint),
    "gst_clear_mini_object": (None, c_void_p),
    "gst_mini_object_replace": (c_int, c_void_p, c_void_p),
    # gst/gstmemory.h
    "gst_memory_map": (c_int, c_void_p, POINTER(GstMapInfo), c_int),
    "gst_memory_unmap": (None, c_void_p, POINTER(GstMapInfo)),
    "gst_memory_is_type": (c_int, c_void_p, c_char_p),
    "gst_memory_get_sizes": (c_size_t, c_void_p, POINTER(c_size_t), POINTER(c_size_t)),
    # gst/gstallocator.h
    "gst_memory_new_wrapped": (
        c_void_p, c_int, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, c_void_p,
    ),
    # gst/gstbuffer.h
    "gst_buffer_append_memory": (None, c_void_p, c_void_p),
    "gst_buffer_copy_region": (c_void_p, c_void_p, c_int, c_size_t, c_size_t),
    "gst_buffer_n_memory": (c_uint, c_void_p),
    "gst_buffer_peek_memory": (c_void_p, c_void_p, c_uint),
    "gst_buffer_iterate_meta": (c_void_p, c_void_p, POINTER(c_void_p)),
    "gst_buffer_add_meta": (c_void_p, c_void_p, c_void_p, c_void_p),
    "gst_buffer_remove_meta": (c_int, c_void_p, c_void_p),
    # gst/gstpad.h: it takes over the reference to the buffer.
    "gst_pad_push": (c_int, c_void_p, c_void_p),
    # gst/gstquery.h
    "gst_query_add_allocation_param": (None, c_void_p, c_void_p, c_void_p),
    "gst_query_add_allocation_meta": (None, c_void_p, GType, c_void_p),
    "gst_query_set_caps_result": (None, c_void_p, c_void_p),
    "gst_query_add_allocation_pool": (None, c_void_p, c_void_p, c_uint, c_uint, c_uint),
    # gst/gstsample.h
    "gst_sample_get_buffer": (c_void_p, c_void_p),
    # gst/gstmeta.h
    "gst_meta_get_info": (c_void_p, c_char_p),
    "gst_meta_register_custom": (
        c_void_p, c_char_p, POINTER(c_char_p), c_void_p, c_void_p, c_void_p,
    ),
    # gst/gststructure.h
    "gst_structure_new_empty": (c_void_p, c_char_p),
    "gst_structure_free": (None, c_void_p),
    "gst_structure_get_name": (c_char_p, c_void_p),
    "gst_structure_set_name": (None, c_void_p, c_char_p),
    "gst_structure_n_fields": (c_int, c_void_p),
    "gst_structure_nth_field_name": (c_char_p, c_void_p, c_uint),
    "gst_structure_get_value": (c_void_p, c_void_p, c_char_p),
    "gst_structure_set_value": (None, c_void_p, c_char_p, _VALUE),
    # gst/gstvalue.h
    "gst_value_array_get_size": (c_uint, c_void_p),
    "gst_value_array_get_value": (c_void_p, c_void_p, c_uint),
    "gst_value_array_append_value": (None, _VALUE, _VALUE),
    "gst_value_list_get_size": (c_uint, c_void_p),
    "gst_value_list_get_value": (c_void_p, c_void_p, c_uint),
    "gst_value_serialize": (c_void_p, c_void_p),
}  # fmt: skip
