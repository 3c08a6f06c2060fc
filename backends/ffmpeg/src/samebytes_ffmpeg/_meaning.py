# SPDX-License-Identifier: Apache-2.0
"""The meaning of an AVFrame's bytes, as entries of `frame.metadata` that all backends share.

FFmpeg's colour numbers are the code points of ITU-T H.273 (libavutil/pixfmt.h), so the core's
tables name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import formats
from samebytes.formats import (
    CHROMA_LOCATIONS,
    COLOR_MATRICES,
    COLOR_PRIMARIES,
    COLOR_TRANSFERS,
    Colorimetry,
)

from ._avutil import AVFrame, get_pix_fmt
from ._pyav import frame_address, time_base_of

if TYPE_CHECKING:
    from av import AudioFrame

__all__ = [
    "FULL_RANGE_FORMATS",
    "chroma_location",
    "color_range_and_matrix",
    "colors_and_aspect",
    "duration_entry",
    "entries_of_image",
    "interlacing",
    "mark_fields",
    "sample_aspect",
    "times",
    "write_meaning",
]

FULL_RANGE_FORMATS = {
    number: f"yuvj{kind}p"
    for kind in ("411", "420", "422", "440", "444")
    if (number := get_pix_fmt(f"yuvj{kind}p".encode())) >= 0
}
"""libavutil/pixfmt.h: formats that differ from yuv420p and so on in colour range alone."""

_INT = 2**31
_NO_ASPECT = Fraction(0)

# enum AVColorRange: 0 is unspecified.
_LIMITED, _FULL = 1, 2
# enum AVChromaLocation counts from 1, as 0 is unspecified; H.273 counts from 0.
_CHROMA_BASE = 1

# Field of AVFrame, entry, table, what FFmpeg counts from, and the number of "not specified".
_COLOR_FIELDS = (
    ("color_primaries", "color_primaries", COLOR_PRIMARIES, 0, 2),
    ("color_trc", "color_transfer", COLOR_TRANSFERS, 0, 2),
    ("colorspace", "color_matrix", COLOR_MATRICES, 0, 2),
    ("chroma_location", "chroma_location", CHROMA_LOCATIONS, _CHROMA_BASE, 0),
)

# libavutil/frame.h: since FFmpeg 6.1. Up to 7 there are fields as well.
_AV_FRAME_FLAG_INTERLACED = 1 << 3
_AV_FRAME_FLAG_TOP_FIELD_FIRST = 1 << 4
_HAS_FIELDS = hasattr(AVFrame, "interlaced_frame")


def interlacing(frame: Any) -> tuple[bool, bool]:
    """Return two flags: an AVFrame is interlaced, and its top field comes first."""
    flags = frame.flags
    interlaced = bool(flags & _AV_FRAME_FLAG_INTERLACED)
    top = bool(flags & _AV_FRAME_FLAG_TOP_FIELD_FIRST)
    if _HAS_FIELDS:
        interlaced |= bool(frame.interlaced_frame)
        top |= bool(frame.top_field_first)
    return interlaced, top


def chroma_location(frame: Any) -> str | None:
    """The chroma location of an AVFrame; None if it is not known."""
    return _colors(frame).chroma_location


def color_range_and_matrix(native: VideoFrame) -> tuple[str | None, str | None]:
    """The range and matrix of an av frame, by their names in metadata; None for what is not known.

    It is fast, for each frame of a stream: PyAV gives the two numbers, and the rest is looked up.
    """
    key = native.color_range, native.colorspace, native.format.name
    found = _SAID.get(key)
    if found is None:
        colors = _colors(AVFrame.from_address(frame_address(native)))
        if len(_SAID) >= _MOST:
            _SAID.clear()
        found = _SAID[key] = colors.color_range, colors.color_matrix
    return found


_SAID: dict[tuple[Any, Any, str], tuple[str | None, str | None]] = {}
_MOST = 256


def _colors(frame: Any) -> Colorimetry:
    return _colors_of(*_numbers(frame))


def _numbers(frame: Any) -> tuple[bool, int, int, int, int, int]:
    return (
        frame.format in FULL_RANGE_FORMATS, frame.color_range, frame.color_primaries,
        frame.color_trc, frame.colorspace, frame.chroma_location,
    )  # fmt: skip


@lru_cache
def _colors_of(
    full: bool, range_: int, primaries: int, transfer: int, matrix: int, chroma: int
) -> Colorimetry:
    """The colours of FFmpeg's numbers; all frames of a stream have the same."""
    full = full or range_ == _FULL
    return Colorimetry.from_code_points(
        full_range=full if full or range_ == _LIMITED else None,
        primaries=primaries,
        transfer=transfer,
        matrix=matrix,
        chroma_location=chroma - _CHROMA_BASE,
    )


@lru_cache
def _entries_of(*numbers: Any) -> dict[str, str]:
    """The entries of these colours, to be copied."""
    return _colors_of(*numbers).entries()


def sample_aspect(frame: Any) -> Fraction | None:
    """The sample aspect ratio of an AVFrame; None if it is not known (libavutil/frame.h: 0/1)."""
    over, under = frame.sample_aspect_ratio
    return times(1, over, under) if over > 0 and under > 0 else None


@lru_cache
def times(number: int, over: int, under: int) -> Fraction:
    """Return number * over / under, which is mostly the same for all frames of a stream."""
    return Fraction(number * over, under)


def duration_entry(native: VideoFrame | AudioFrame) -> dict[str, Any]:
    """The entry `duration` of an av frame, if that has one."""
    duration = getattr(native, "duration", None)
    base, under = time_base_of(native)
    return {"duration": times(duration, base, under)} if duration and base and under else {}


def entries_of_image(frame: Any) -> dict[str, Any]:
    """The entries that the numbers in an image's AVFrame stand for; none for what is unspecified.

    Args:
        frame: an AVFrame of PyAV's libavutil.
    """
    found = colors_and_aspect(frame)
    interlaced, top = interlacing(frame)
    if interlaced:
        found["field_order"] = "top" if top else "bottom"
    if frame.repeat_pict > 0:
        found["repeat_fields"] = frame.repeat_pict
    return found


def colors_and_aspect(frame: Any) -> dict[str, Any]:
    """The entries of colours and sample aspect ratio of an AVFrame, of any libavutil."""
    found: dict[str, Any] = dict(_entries_of(*_numbers(frame)))
    ratio = sample_aspect(frame)
    return found if ratio is None else {**found, "sample_aspect_ratio": ratio}


def write_meaning(native: VideoFrame | AudioFrame, metadata: Mapping[str, Any]) -> None:
    """Mark an av frame of ours with those entries that have fields in it, and with no others.

    Raises:
        LayoutError, UnknownNameError: an entry is not what it can be.
    """
    duration = formats.duration_of(metadata)
    # PyAV lets it be written since 15.
    if native.time_base and hasattr(native, "duration"):
        native.duration = round(duration / Fraction(native.time_base)) if duration else 0
    if not isinstance(native, VideoFrame):
        return
    frame = AVFrame.from_address(frame_address(native))
    _write_colors(frame, Colorimetry.of(metadata))
    order = formats.field_order_of(metadata) or "progressive"
    mark_fields(frame, order != "progressive", order == "top")
    frame.repeat_pict = formats.repeat_fields_of(metadata) or 0
    said = formats.sample_aspect_of(metadata)
    ratio = said.limit_denominator(_INT - 1) if said else _NO_ASPECT
    if ratio.numerator < _INT:
        frame.sample_aspect_ratio[:] = ratio.numerator, ratio.denominator


def _write_colors(frame: Any, colors: Colorimetry) -> None:
    """Mark an AVFrame. Without an entry, a number of FFmpeg's that has no name here stays."""
    there = _colors(frame)
    if colors.color_range is not None or frame.color_range in (_FULL, _LIMITED):
        frame.color_range = {"full": _FULL, "limited": _LIMITED}.get(colors.color_range or "", 0)
    for field, key, table, base, unspecified in _COLOR_FIELDS:
        name = getattr(colors, key)
        if name != getattr(there, key):
            setattr(frame, field, unspecified if name is None else table[name] + base)


def mark_fields(frame: Any, interlaced: bool, top: bool) -> None:
    """Mark an AVFrame with what `interlacing` returns."""
    marks = _AV_FRAME_FLAG_INTERLACED | _AV_FRAME_FLAG_TOP_FIELD_FIRST
    frame.flags = (
        frame.flags & ~marks
        | (_AV_FRAME_FLAG_INTERLACED if interlaced else 0)
        | (_AV_FRAME_FLAG_TOP_FIELD_FIRST if top else 0)
    )
    if _HAS_FIELDS:
        frame.interlaced_frame, frame.top_field_first = int(interlaced), int(top)
