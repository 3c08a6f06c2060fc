# SPDX-License-Identifier: Apache-2.0
"""Entries of `frame.metadata` about high dynamic range (SMPTE ST 2086, CTA-861.3).

mastering_display   dict: the display that the picture was graded on
content_light       dict: how bright the whole stream gets

Their values are plain, so that they can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from samebytes.errors import LayoutError

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "LUMINANCES",
    "MASTERING_PRIMARIES",
    "content_light_of",
    "mastering_display_of",
]

MASTERING_PRIMARIES = (
    "red_x", "red_y", "green_x", "green_y", "blue_x", "blue_y", "white_x", "white_y",
)  # fmt: skip
"""Keys of metadata["mastering_display"]: coordinates of CIE 1931, from 0 to 1. All or none."""

LUMINANCES = ("min_luminance", "max_luminance")
"""Keys of metadata["mastering_display"]: candelas for a square metre. Both or none."""

_LEVELS = ("max", "average")
_UINT16 = 2**16 - 1
_FINEST = 50_000


def mastering_display_of(metadata: Mapping[str, Any]) -> dict[str, Fraction] | None:
    """metadata["mastering_display"] as Fractions, or None.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is not a dict of numbers by the names in MASTERING_PRIMARIES and LUMINANCES,
            lacks some of either, or has a value out of range.
    """
    value = metadata.get("mastering_display")
    if value is None:
        return None
    keys = set(value) if isinstance(value, Mapping) else {None}
    kinds = (set(MASTERING_PRIMARIES), set(LUMINANCES))
    if keys not in (*kinds, kinds[0] | kinds[1]):
        raise LayoutError(
            f"metadata['mastering_display'] is a dict with {', '.join(MASTERING_PRIMARIES)}, or "
            f"{' and '.join(LUMINANCES)}, or all of them; not {value!r}"
        )
    most = {key: 1 if key in MASTERING_PRIMARIES else _UINT16 for key in keys}
    return {
        key: _number("mastering_display", key, number, most[key]) for key, number in value.items()
    }


def _number(entry: str, key: str, value: Any, most: int) -> Fraction:
    from fractions import Fraction  # with decimal, which importing samebytes does not need

    if not isinstance(value, Fraction | int | float) or not 0 <= value <= most:
        raise LayoutError(
            f"metadata[{entry!r}][{key!r}] is a number from 0 to {most}, not {value!r}"
        )
    return Fraction(value).limit_denominator(_FINEST)


def content_light_of(metadata: Mapping[str, Any]) -> dict[str, int] | None:
    """metadata["content_light"], or None: "max" is the brightest pixel (MaxCLL), "average" the
    brightest frame (MaxFALL), in whole candelas for a square metre; 0 where it is not known.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is not a dict of the two, with integers from 0 to 65535.
    """
    value = metadata.get("content_light")
    if value is None:
        return None
    if (
        not isinstance(value, Mapping)
        or set(value) != set(_LEVELS)
        or not all(type(n) is int and 0 <= n <= _UINT16 for n in value.values())
    ):
        raise LayoutError(
            "metadata['content_light'] is a dict with 'max' and 'average', integers from 0 to "
            f"{_UINT16}; not {value!r}"
        )
    return dict(value)
