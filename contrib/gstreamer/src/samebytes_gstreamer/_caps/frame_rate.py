# SPDX-License-Identifier: Apache-2.0
"""The frame rate in caps of frames that have none, or 0/1.

Encoders plan with it. 0/1, which in GStreamer means a varying or unknown rate, makes some of them
fail, and openh264enc lose a frame; most refuse caps without any rate.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from samebytes import FrameMeta
from samebytes.formats import length_of

__all__ = ["rate_of", "with_rate"]

# Broadcast rates are 24000/1001 and so on; durations in nanoseconds are rounded.
_MOST_DENOMINATOR = 1001


def rate_of(meta: FrameMeta) -> Fraction | None:
    """Frames a second, if a frame says how long it lasts (`samebytes.formats.length_of`)."""
    length = length_of(meta.metadata, meta.time_base)
    rate = length and (1 / length).limit_denominator(_MOST_DENOMINATOR)
    return rate if rate and rate.numerator < 2**31 else None


def with_rate(caps: Any, rate: Fraction) -> Any:
    """Caps of a picture with that framerate, if they have none or 0/1; others as they are."""
    structure = caps.get_structure(0)
    if structure.get_name() != "video/x-raw":
        return caps
    if structure.has_field("framerate"):
        stated, numerator, _ = structure.get_fraction("framerate")
        if not stated or numerator or not rate:
            return caps
        caps = caps.copy()
        caps.get_structure(0).remove_field("framerate")
    return type(caps).from_string(
        f"{caps.to_string()},framerate=(fraction){rate.numerator}/{rate.denominator}"
    )
