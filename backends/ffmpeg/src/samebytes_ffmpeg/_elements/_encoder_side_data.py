# SPDX-License-Identifier: Apache-2.0
"""Side data of a whole stream, given to an encoder that PyAV has made and not opened yet.

libavcodec/avcodec.h, `AVCodecContext.decoded_side_data`: the encoder puts what it finds there into
its headers, and hands it on to the container. PyAV has no attribute for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import Structure, byref, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

import av
from av.codec.context import CodecContext

from samebytes.errors import MissingDependencyError

from .._avutil import PYAV, buffer_get_ref_count, buffer_ref, buffer_unref
from .._codec_options import option_offset
from .._owned import made
from .._pyav import codec_context_address
from .._side_data import SIDE_DATA_NAMES, AVFrameSideData, filled

__all__ = ["STREAM_SIDE_DATA", "give_side_data"]

STREAM_SIDE_DATA = (
    "DISPLAYMATRIX", "STEREO3D", "SPHERICAL", "MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL",
    "ICC_PROFILE", "AMBIENT_VIEWING_ENVIRONMENT",
)  # fmt: skip
"""Side data of frames that encoders and containers store for a whole stream."""

_VERSIONS = (61, 62, 63)
"""LIBAVCODEC_VERSION_MAJOR of FFmpeg 7 to 9: older ones have no such field."""

# Numbers that the fields of a new context do not hold by chance.
_BIT_RATE = 123_457


class _SideData(Structure):
    """Four fields of AVCodecContext that follow each other. An AVOption locates the first."""

    _fields_ = (
        ("side_data_prefer_packet", c_void_p),
        ("nb_side_data_prefer_packet", c_uint),
        ("decoded_side_data", c_void_p),
        ("nb_decoded_side_data", c_int),
    )


def give_side_data(context: Any, side_data: Mapping[str, bytes]) -> bool:
    """Add side data to an encoder that is not open.

    Args:
        context: PyAV's codec context.
        side_data: as `read_side_data` returns it. What does not belong to a whole stream is left
            out.

    Returns:
        False: this FFmpeg has no place for it, or has it in another place than is known.
    """
    known = {name: side_data[name] for name in STREAM_SIDE_DATA if name in side_data}
    place = _place() if known else 0
    if place is None:
        return False
    for name, content in known.items():
        _add(codec_context_address(context) + place, name, content)
    return True


@cache
def _place() -> int | None:
    """Bytes from an AVCodecContext to its _SideData; None if that is not known."""
    if av.library_versions["libavcodec"][0] not in _VERSIONS:
        return None
    context: Any = CodecContext.create("mpeg4", "w")
    context.bit_rate = _BIT_RATE
    address = codec_context_address(context)
    try:
        rate = option_offset(address, b"b")
        place = option_offset(address, b"side_data_prefer_packet")
        if c_int64.from_address(address + rate).value != _BIT_RATE:
            return None
        fields = _SideData.from_address(address + place)
        if any(getattr(fields, name) for name, *_ in fields._fields_):
            return None
        entry = _add(address + place, "CONTENT_LIGHT_LEVEL", bytes(8))
    except MissingDependencyError:
        return None
    # It is the right field if libavcodec gives back what was put there.
    reference = c_void_p(buffer_ref(entry.buf))
    del context
    given_back = buffer_get_ref_count(reference) == 1
    buffer_unref(byref(reference))
    return place if given_back else None


@cache  # a function of ctypes is part of a cycle
def _new() -> Any:
    return PYAV.quick(
        "av_frame_side_data_new", c_void_p, c_void_p, c_void_p, c_int, c_size_t, c_uint
    )


def _add(place: int, name: str, content: bytes) -> AVFrameSideData:
    """A new AVFrameSideData at the _SideData at `place`."""
    entry = _new()(
        place + _SideData.decoded_side_data.offset,
        place + _SideData.nb_decoded_side_data.offset,
        SIDE_DATA_NAMES.index(name),
        len(content),
        0,
    )
    return filled(made(entry, "av_frame_side_data_new"), content)
