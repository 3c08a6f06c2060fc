# SPDX-License-Identifier: Apache-2.0
"""Entries of `frame.metadata` that backends share and that are not about colours.

sample_aspect_ratio     Fraction: width of a pixel by its height
duration                Fraction: seconds for which the frame is shown, or heard
field_order             "progressive", "top" or "bottom": the field that is shown first
repeat_fields           int: how many fields longer than usual the picture is shown
rotation                0, 90, 180 or 270: degrees by which to turn it clockwise to be upright
mirrored                bool: its left and right are to be exchanged before it is turned
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from samebytes.errors import LayoutError, UnknownNameError

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "FIELD_ORDERS",
    "ROTATIONS",
    "duration_of",
    "field_order_of",
    "length_of",
    "mirrored_of",
    "repeat_fields_of",
    "rotation_of",
    "sample_aspect_of",
]

FIELD_ORDERS = ("progressive", "top", "bottom")
"""metadata["field_order"]: not interlaced, or interlaced with the top or bottom field first."""

ROTATIONS = (0, 90, 180, 270)
"""metadata["rotation"]: degrees clockwise."""

# A time base with more units a second counts by a clock (1/1000, 1/90000), not by frames.
_MOST_FRAMES_A_SECOND = 240


def field_order_of(metadata: Mapping[str, Any]) -> str | None:
    """metadata["field_order"], or None.

    Args:
        metadata: that of a frame.

    Raises:
        UnknownNameError: it is not in FIELD_ORDERS.
    """
    value = metadata.get("field_order")
    if value is None:
        return None
    if not isinstance(value, str) or value not in FIELD_ORDERS:
        raise UnknownNameError("metadata['field_order']", str(value), FIELD_ORDERS)
    return value


def repeat_fields_of(metadata: Mapping[str, Any]) -> int | None:
    """metadata["repeat_fields"], or None.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is not an integer from 0 on.
    """
    value = metadata.get("repeat_fields")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise LayoutError(f"metadata['repeat_fields'] must be a number of fields, not {value!r}")
    return value


def rotation_of(metadata: Mapping[str, Any]) -> int | None:
    """metadata["rotation"], or None.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is not in ROTATIONS.
    """
    value = metadata.get("rotation")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value not in ROTATIONS:
        raise LayoutError(
            f"metadata['rotation'] is 0, 90, 180 or 270 degrees clockwise, not {value!r}"
        )
    return value


def mirrored_of(metadata: Mapping[str, Any]) -> bool | None:
    """metadata["mirrored"], or None.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is neither True nor False.
    """
    value = metadata.get("mirrored")
    if value is None or isinstance(value, bool):
        return value
    raise LayoutError(f"metadata['mirrored'] is True or False, not {value!r}")


def duration_of(metadata: Mapping[str, Any]) -> Fraction | None:
    """metadata["duration"], or None.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is not a Fraction (or int) from 0 on.
    """
    return _fraction(metadata, "duration", "seconds, as fractions.Fraction(1, 25)")


def length_of(metadata: Mapping[str, Any], time_base: Fraction | None) -> Fraction | None:
    """The seconds that a frame lasts: its duration, or one unit of a time base that counts frames.

    Args:
        metadata: the metadata of the frame.
        time_base: the unit of its pts. A unit of less than 1/240 s counts no frames.

    Returns:
        None if neither is known.

    Raises:
        LayoutError: the duration is not a Fraction (or int) from 0 on.
    """
    if duration := duration_of(metadata):
        return duration
    counts_frames = time_base and time_base * _MOST_FRAMES_A_SECOND >= 1
    return time_base if counts_frames else None


def sample_aspect_of(metadata: Mapping[str, Any]) -> Fraction | None:
    """metadata["sample_aspect_ratio"], or None.

    Args:
        metadata: that of a frame.

    Raises:
        LayoutError: it is not a Fraction (or int) above 0.
    """
    found = _fraction(metadata, "sample_aspect_ratio", "width by height of a pixel, a Fraction")
    if found is not None and not found.numerator:
        raise LayoutError("metadata['sample_aspect_ratio'] must not be 0")
    return found


def _fraction(metadata: Mapping[str, Any], key: str, what: str) -> Fraction | None:
    value = metadata.get(key)
    if value is None:
        return None
    from fractions import Fraction  # with decimal, which importing samebytes does not need

    if type(value) is Fraction and value.numerator >= 0:
        return value  # the usual case, checked for each frame without comparing Fractions
    if not isinstance(value, Fraction | int) or isinstance(value, bool) or value < 0:
        raise LayoutError(f"metadata[{key!r}] is {what}; not {value!r}")
    return Fraction(value)
