# SPDX-License-Identifier: Apache-2.0
"""The metas on a GstBuffer, found in one walk."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from dataclasses import dataclass, field
from functools import cache

from .._abi.analytics import (
    RELATION_META_API_NAME,
    TENSOR_META_API_NAME,
    GstAnalyticsRelationMeta,
    GstTensorMeta,
)
from .._abi.dlstreamer import (
    GVA_AUDIO_EVENT_META_API_NAME,
    GVA_JSON_META_API_NAME,
    GVA_TENSOR_META_API_NAME,
    GstGVAAudioEventMeta,
    GstGVAJSONMeta,
    GstGVATensorMeta,
)
from .._abi.gstreamer import GstCustomMeta, GstMeta, GstMetaInfo
from .._abi.libraries import gobject, gst
from .._abi.plugin_libraries import GstAudioMeta
from .._abi.video import GstVideoCropMeta, GstVideoMeta, GstVideoRegionOfInterestMeta

__all__ = ["RESULT_META", "Metas", "metas_of"]

RESULT_META = b"SamebytesResult"
"""The name of the custom meta that has one result of a whole frame."""

# The names of the API types, as their registration gives them.
_MIRRORS: dict[bytes, type[ctypes.Structure]] = {
    b"GstAudioMetaAPI": GstAudioMeta,
    RELATION_META_API_NAME: GstAnalyticsRelationMeta,
    TENSOR_META_API_NAME: GstTensorMeta,
    b"GstVideoMetaAPI": GstVideoMeta,
    b"GstVideoCropMetaAPI": GstVideoCropMeta,
    b"GstVideoRegionOfInterestMetaAPI": GstVideoRegionOfInterestMeta,
    RESULT_META + b"-api": GstCustomMeta,
    GVA_TENSOR_META_API_NAME: GstGVATensorMeta,
    GVA_JSON_META_API_NAME: GstGVAJSONMeta,
    GVA_AUDIO_EVENT_META_API_NAME: GstGVAAudioEventMeta,
}


@dataclass(slots=True)
class Metas:
    """The metadata attached to a buffer. The structures are the buffer's own memory.

    Attributes:
        video: the places of the planes.
        crop: the part of the picture that is meant to be seen.
        audio: the places of the channels of sound.
        analytics, outputs: the results of GstAnalytics, and its tensors.
        regions, results, tensors, json, audio_events: all metas of that kind, in their order.
    """

    video: GstVideoMeta | None = None
    crop: GstVideoCropMeta | None = None
    audio: GstAudioMeta | None = None
    analytics: GstAnalyticsRelationMeta | None = None
    outputs: GstTensorMeta | None = None
    regions: list[GstVideoRegionOfInterestMeta] = field(default_factory=list)
    results: list[GstCustomMeta] = field(default_factory=list)
    tensors: list[GstGVATensorMeta] = field(default_factory=list)
    json: list[GstGVAJSONMeta] = field(default_factory=list)
    audio_events: list[GstGVAAudioEventMeta] = field(default_factory=list)


def metas_of(buffer: int) -> Metas:
    """The metas of a GstBuffer*, to be read while it is held."""
    found = Metas()
    state = c_void_p()
    while meta := gst.gst_buffer_iterate_meta(buffer, byref(state)):
        info = GstMetaInfo.from_address(GstMeta.from_address(meta).info)
        mirror = _mirror(info.api)
        # A library that made its meta shorter than its header says is not read.
        if mirror is None or info.size < ctypes.sizeof(mirror):
            continue
        _enter(found, mirror.from_address(meta))
    return found


def _enter(found: Metas, meta: ctypes.Structure) -> None:
    match meta:
        case GstVideoMeta():
            # Several of them are the views of a stereo picture; the first has the lowest id.
            if found.video is None or meta.id < found.video.id:
                found.video = meta
        case GstAudioMeta():
            found.audio = meta
        case GstAnalyticsRelationMeta():
            found.analytics = meta
        case GstTensorMeta():
            found.outputs = meta
        case GstVideoCropMeta():
            found.crop = meta
        case GstVideoRegionOfInterestMeta():
            found.regions.append(meta)
        case GstCustomMeta():
            found.results.append(meta)
        case GstGVATensorMeta():
            found.tensors.append(meta)
        case GstGVAJSONMeta():
            found.json.append(meta)
        case GstGVAAudioEventMeta():
            found.audio_events.append(meta)


@cache
def _mirror(api: int) -> type[ctypes.Structure] | None:
    return _MIRRORS.get(gobject.g_type_name(api) or b"")
