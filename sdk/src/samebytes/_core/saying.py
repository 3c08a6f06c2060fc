# SPDX-License-Identifier: Apache-2.0
"""The time, duration and metadata that the maker of a frame gives it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Rational
from typing import TYPE_CHECKING, Any, TypedDict

from ..errors import MetadataError

if TYPE_CHECKING:
    from .frame_meta import FrameMeta

__all__ = ["FrameSays", "say"]


class FrameSays(TypedDict, total=False):
    """Keyword arguments of what makes frames: `**says: Unpack[FrameSays]`.

    Attributes:
        pts: presentation time, an int in units of `time_base`.
        time_base: seconds for each unit of `pts`: Fraction(1, 90000).
        duration: seconds for which it is shown: `metadata["duration"]`.
        metadata: entries of `frame.metadata`, which go into the frame's own dict.
    """

    pts: int | None
    time_base: Fraction | None
    duration: Fraction | None
    metadata: Mapping[str, Any] | None


def say(
    meta: FrameMeta,
    pts: int | None = None,
    time_base: Fraction | None = None,
    duration: Fraction | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Set what is given; what is None stays as it is.

    Raises:
        MetadataError: an argument is not what it must be. Nothing was set then.
    """
    if pts is not None:
        if isinstance(pts, bool) or not isinstance(pts, Integral):
            raise MetadataError("pts", f"must be an int, in units of time_base, not {pts!r}")
        pts = int(pts)
    if time_base is not None:
        time_base = _seconds("time_base", time_base)
        if time_base == 0:
            raise MetadataError("time_base", "must not be 0")
    if duration is not None:
        duration = _seconds("duration", duration)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise MetadataError("metadata", f"must be a dict of entries by name, not {metadata!r}")
    if pts is not None:
        meta.pts = pts
    if time_base is not None:
        meta.time_base = time_base
    if metadata:
        meta.metadata.update(metadata)
    if duration is not None:
        meta.metadata["duration"] = duration


def _seconds(name: str, value: Any) -> Fraction:
    # PyAV's and the standard library's times are Fractions, GStreamer's can become one exactly.
    if isinstance(value, bool) or not isinstance(value, Rational) or value < 0:
        raise MetadataError(name, f"must be seconds from 0 on, a Fraction or int, not {value!r}")
    return Fraction(int(value.numerator), int(value.denominator))
