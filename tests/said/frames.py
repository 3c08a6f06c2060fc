# SPDX-License-Identifier: Apache-2.0
"""Frames that say everything, and what frames say."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import samebytes as sb
from samebytes import Frame

__all__ = ["HEIGHT", "INSIDE", "OUTSIDE", "SAID", "WIDTH", "cut", "said_by", "said_in", "saying"]

WIDTH, HEIGHT = 128, 96
INSIDE, OUTSIDE = 60, 200
"""Luma of the part that `cut` gives, and of what is around it."""

ENTRIES: dict[str, Any] = {
    "color_range": "full",
    "color_primaries": "bt2020",
    "color_transfer": "smpte2084",
    "color_matrix": "bt2020nc",
    "chroma_location": "topleft",
    "sample_aspect_ratio": Fraction(4, 3),
    "field_order": "top",
    "repeat_fields": 1,
    "rotation": 180,
    "mirrored": True,
    "mastering_display": {
        "red_x": Fraction(17, 25), "red_y": Fraction(8, 25), "green_x": Fraction(53, 200),
        "green_y": Fraction(69, 100), "blue_x": Fraction(3, 20), "blue_y": Fraction(3, 50),
        "white_x": Fraction(3127, 10000), "white_y": Fraction(329, 1000),
        "min_luminance": Fraction(1, 200), "max_luminance": Fraction(1000),
    },
    "content_light": {"max": 1000, "average": 400},
    "duration": Fraction(1, 50),
}  # fmt: skip

# Row of the table: name of the side data, and the bytes.
SIDE_DATA = {
    # CTA-708: one pair of letters, and padding.
    "captions": ("A53_CC", bytes.fromhex("fc9420fc942cfcc1c2")),
    # libavutil/stereo3d.h: side by side.
    "stereo": ("STEREO3D", struct.pack("=9i", 1, 0, 0, 0, 0, 0, 1, 0, 1)),
    "timecode": ("S12M_TIMECODE", struct.pack("=4I", 1, 0x04030201, 0, 0)),
    "icc_profile": ("ICC_PROFILE", bytes(128)),
    "dynamic_hdr": ("DYNAMIC_HDR_PLUS", bytes(4)),
}

SAID: dict[str, Any] = {
    **ENTRIES,
    **{row: content for row, (_, content) in SIDE_DATA.items()},
    "key_frame": True,
    "time": Fraction(3, 50),
}
"""Row of the table: what the frames that `saying` gives say, and the time of the first one."""


def saying() -> list[Frame[Any]]:
    """I420 pictures of FFmpeg's that say it all, as a decoder marks them."""
    made = []
    for number in range(4):
        frame = sb.context("cpu").allocate_frame("I420", WIDTH, HEIGHT)
        for plane, value in zip(frame.planes, (OUTSIDE, 128, 128), strict=True):
            plane.native[...] = value
        frame.planes[0].native[32:64, 32:96] = INSIDE
        frame.meta.pts, frame.meta.time_base = 3 + number, Fraction(1, 50)
        frame.metadata.update(ENTRIES, ffmpeg={"side_data": dict(SIDE_DATA.values())})
        native: Any = frame.map("ffmpeg", "rw").native
        native.key_frame = True
        made.append(sb.frame(native))
    return made


def cut() -> list[Frame[Any]]:
    """The middle of these pictures, over the same bytes."""
    return [frame.map("cpu", "rw").crop(32, 32, 64, 32) for frame in saying()]


def said_by(frame: Any) -> dict[str, Any]:
    """Row of the table: what a frame, or its FrameMeta, says."""
    meta = getattr(frame, "meta", frame)
    found = said_in(meta.metadata)
    if meta.pts is not None and meta.time_base is not None:
        found["time"] = meta.pts * meta.time_base
    return found


def said_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Row of the table: what metadata say."""
    found = {key: metadata[key] for key in ENTRIES if key in metadata}
    private = metadata.get("ffmpeg", {})
    side_data = private.get("side_data", {})
    found |= {row: side_data[name] for row, (name, _) in SIDE_DATA.items() if name in side_data}
    if "key_frame" in private:
        found["key_frame"] = bool(private["key_frame"])
    return found
