# SPDX-License-Identifier: Apache-2.0
"""High dynamic range in caps, and as entries of `frame.metadata` that all backends share."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from samebytes.errors import LayoutError
from samebytes.formats import (
    LUMINANCES,
    MASTERING_PRIMARIES,
    content_light_of,
    mastering_display_of,
)

__all__ = ["hdr_text", "read_hdr"]

# gst/video/video-hdr.h: numbers with colons between them.
_DISPLAY, _LIGHT = "mastering-display-info", "content-light-level"
_ORDER = (*MASTERING_PRIMARIES, *reversed(LUMINANCES))
_UNITS = {key: 50_000 if key in MASTERING_PRIMARIES else 10_000 for key in _ORDER}


def read_hdr(structure: Any) -> dict[str, Any]:
    """The entries for a Gst.Structure of caps; none for values that are unknown or invalid."""
    found: dict[str, Any] = {}
    display = _numbers(structure.get_string(_DISPLAY), len(_ORDER))
    if display is not None:
        pairs = zip(_ORDER, display, strict=True)
        numbers = {key: Fraction(number, _UNITS[key]) for key, number in pairs}
        found |= _checked("mastering_display", numbers, mastering_display_of)
    light = _numbers(structure.get_string(_LIGHT), 2)
    if light is not None:
        levels = dict(zip(("max", "average"), light, strict=True))
        found |= _checked("content_light", levels, content_light_of)
    return found


def _numbers(text: str | None, count: int) -> list[int] | None:
    parts = (text or "").split(":")
    right = len(parts) == count and all(part.isdecimal() for part in parts)
    return [int(part) for part in parts] if right else None


def _checked(key: str, value: Mapping[str, Any], check: Any) -> dict[str, Any]:
    try:
        check({key: value})
    except LayoutError:
        return {}
    return {key: value}


def hdr_text(metadata: Mapping[str, Any]) -> str:
    """The fields of caps about HDR, each after a comma. GStreamer cannot express primaries without
    luminances, nor the other way round.

    Args:
        metadata: the metadata of the frame.

    Raises:
        LayoutError: an entry is invalid.
    """
    text = ""
    display, light = mastering_display_of(metadata), content_light_of(metadata)
    if display is not None and len(display) == len(_ORDER):
        numbers = ":".join(str(round(display[key] * _UNITS[key])) for key in _ORDER)
        text += f",{_DISPLAY}=(string){numbers}"
    if light is not None:
        text += f",{_LIGHT}=(string){light['max']}:{light['average']}"
    return text
