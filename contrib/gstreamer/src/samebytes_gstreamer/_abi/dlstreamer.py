# SPDX-License-Identifier: Apache-2.0
"""libdlstreamer_gst_meta.so: the metas of Intel's DL Streamer, from its public headers.

include/dlstreamer/gst/metadata/{gva_tensor_meta,gva_json_meta,gva_audio_event_meta}.h
"""

from __future__ import annotations

from ctypes import Structure, c_int, c_uint, c_ulong, c_void_p

from .gstreamer import GstMeta

__all__ = [
    "DLSTREAMER",
    "GVA_AUDIO_EVENT_META_API_NAME",
    "GVA_AUDIO_EVENT_META_IMPL_NAME",
    "GVA_JSON_META_API_NAME",
    "GVA_JSON_META_IMPL_NAME",
    "GVA_TENSOR_META_API_NAME",
    "GVA_TENSOR_META_IMPL_NAME",
    "GstGVAAudioEventMeta",
    "GstGVAJSONMeta",
    "GstGVATensorMeta",
]

GVA_TENSOR_META_API_NAME = b"GstGVATensorMetaAPI"
GVA_TENSOR_META_IMPL_NAME = b"GstGVATensorMeta"
GVA_JSON_META_API_NAME = b"GstGVAJSONMetaAPI"
GVA_JSON_META_IMPL_NAME = b"GstGVAJSONMeta"
GVA_AUDIO_EVENT_META_API_NAME = b"GstGVAAudioEventMetaAPI"
GVA_AUDIO_EVENT_META_IMPL_NAME = b"GstGVAAudioEventMeta"


class GstGVATensorMeta(Structure):
    """gva_tensor_meta.h: `data` is a GstStructure."""

    _fields_ = [("meta", GstMeta), ("data", c_void_p)]


class GstGVAJSONMeta(Structure):
    """gva_json_meta.h: `message` is a string that g_free() frees."""

    _fields_ = [("meta", GstMeta), ("message", c_void_p)]


class GstGVAAudioEventMeta(Structure):
    """gva_audio_event_meta.h: `event_type` is a GQuark, `params` a GList of GstStructure."""

    _fields_ = [
        ("meta", GstMeta),
        ("event_type", c_uint),
        ("id", c_int),
        ("start_timestamp", c_ulong),
        ("end_timestamp", c_ulong),
        ("params", c_void_p),
    ]


DLSTREAMER = {
    # Each registers its meta if need be.
    "gst_gva_tensor_meta_get_info": (c_void_p,),
    "gst_gva_json_meta_get_info": (c_void_p,),
    "gst_gva_audio_event_meta_get_info": (c_void_p,),
}
