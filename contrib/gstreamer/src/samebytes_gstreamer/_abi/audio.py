# SPDX-License-Identifier: Apache-2.0
"""libgstaudio-1.0.so.0: the meta of sound whose channels lie apart."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_size_t, c_uint8, c_void_p

from .gstreamer import GstMeta

__all__ = ["AUDIO", "GstAudioMeta"]

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
