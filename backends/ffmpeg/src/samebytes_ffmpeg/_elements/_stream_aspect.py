# SPDX-License-Identifier: Apache-2.0
"""The sample aspect ratio of a stream, for containers that store it if the bitstream does not.

libavformat/avformat.h, `AVStream.sample_aspect_ratio`: with PyAV it can only be read.
"""

from __future__ import annotations

from ctypes import Structure, c_int, c_int64, c_void_p
from fractions import Fraction
from typing import Any

from .._pyav import stream_address

__all__ = ["set_stream_aspect"]

_DISPOSITION, _DISCARD = 1 << 9, 32
"""Values that no new stream has: timed thumbnails, and all but key frames."""


class _AVStream(Structure):
    """libavformat/avformat.h since FFmpeg 6, which put the class at its beginning."""

    _fields_ = (
        ("av_class", c_void_p), ("index", c_int), ("id", c_int), ("codecpar", c_void_p),
        ("priv_data", c_void_p), ("time_base", c_int * 2), ("start_time", c_int64),
        ("duration", c_int64), ("nb_frames", c_int64), ("disposition", c_int), ("discard", c_int),
        ("sample_aspect_ratio", c_int * 2),
    )  # fmt: skip


class _AVStream5(Structure):
    """The same before FFmpeg 6."""

    _fields_ = _AVStream._fields_[1:]


def set_stream_aspect(stream: Any, ratio: Fraction) -> bool:
    """Set it for a stream of a container that will be written, and was not begun.

    Args:
        stream: PyAV's.
        ratio: width of a pixel by its height.

    Returns:
        False: the place is not known in this FFmpeg, and nothing was set.
    """
    for kind in (_AVStream, _AVStream5):
        found = kind.from_address(stream_address(stream))
        if _is_of(found, stream):
            found.sample_aspect_ratio[:] = ratio.numerator, ratio.denominator
            return True
    return False


def _is_of(found: Any, stream: Any) -> bool:
    """True if the fields before it are where PyAV writes them, and it is not set yet."""
    try:
        before = stream.disposition, stream.discard
        stream.disposition, stream.discard = _DISPOSITION, _DISCARD
        seen = found.disposition, found.discard
        stream.disposition, stream.discard = before
    except (AttributeError, TypeError, ValueError):  # up to PyAV 17.0, which lacks `discard`
        return False
    return seen == (_DISPOSITION, _DISCARD) and tuple(found.sample_aspect_ratio) in ((0, 0), (0, 1))
