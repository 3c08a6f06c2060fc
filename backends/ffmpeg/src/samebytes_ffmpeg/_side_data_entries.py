# SPDX-License-Identifier: Apache-2.0
"""Side data of FFmpeg's pictures, such as rotation, as entries of `frame.metadata`, and back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes.errors import LayoutError
from samebytes.formats import (
    LUMINANCES,
    MASTERING_PRIMARIES,
    content_light_of,
    mastering_display_of,
    mirrored_of,
    rotation_of,
)

from ._meaning import write_meaning
from ._side_data import read_side_data, set_side_data

if TYPE_CHECKING:
    from av import AudioFrame

__all__ = ["entries_in", "write_entries"]

# libavutil/display.h: rows of a, b, u; c, d, v; x, y, w. A point (p, q) of the picture is shown
# at (a p + c q + x, b p + d q + y). The third column is in 2.30 fixed point, the others in 16.16.
_MATRIX = struct.Struct("=9i")
_ONE, _ONE_OF_COLUMN = 1 << 16, 1 << 30
# (a, b) of pictures that are turned clockwise; its sign is the other one if they are mirrored too.
_TURNS = {(1, 0): 0, (0, 1): 90, (-1, 0): 180, (0, -1): 270}

# libavutil/mastering_display_metadata.h: AVMasteringDisplayMetadata is ten AVRationals, and if the
# primaries and the luminances are known; AVContentLightMetadata is MaxCLL and MaxFALL.
_MASTERING = struct.Struct("=20i2i")
_LIGHT = struct.Struct("=2I")

_KEPT = (
    "A53_CC", "STEREO3D", "AFD", "ICC_PROFILE", "S12M_TIMECODE",
    "DYNAMIC_HDR_PLUS", "DYNAMIC_HDR_VIVID", "SEI_UNREGISTERED", "AMBIENT_VIEWING_ENVIRONMENT",
)  # fmt: skip
"""Side data that are as true of a picture that was scaled, cut or drawn on."""


def entries_in(side_data: Mapping[str, bytes]) -> dict[str, Any]:
    """The entries of a picture's side data. What they cannot say has none: rotations by other
    angles than quarter turns, and numbers that cannot be.

    Args:
        side_data: as `read_side_data` returns it.
    """
    found: dict[str, Any] = {}
    if len(matrix := side_data.get("DISPLAYMATRIX", b"")) >= _MATRIX.size:
        found |= _orientation(_MATRIX.unpack_from(matrix))
    if len(mastering := side_data.get("MASTERING_DISPLAY_METADATA", b"")) >= _MASTERING.size:
        found["mastering_display"] = _display(_MASTERING.unpack_from(mastering))
    if len(light := side_data.get("CONTENT_LIGHT_LEVEL", b"")) >= _LIGHT.size:
        levels = zip(("max", "average"), _LIGHT.unpack_from(light), strict=True)
        found["content_light"] = dict(levels)
    checks = (("mastering_display", mastering_display_of), ("content_light", content_light_of))
    for key, check in checks:
        try:
            check(found)
        except LayoutError:
            del found[key]
    return found


def _orientation(matrix: tuple[int, ...]) -> dict[str, Any]:
    a, b, _, c, d = matrix[:5]
    mirrored = a * d - b * c < 0
    if (abs(c), abs(d)) != (abs(b), abs(a)):
        return {}
    turn = _TURNS.get((-_sign(a), -_sign(b)) if mirrored else (_sign(a), _sign(b)))
    if turn is None:
        return {}
    return {"rotation": turn, **({"mirrored": True} if mirrored else {})}


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _display(fields: tuple[int, ...]) -> dict[str, Fraction]:
    *numbers, has_primaries, has_luminance = fields
    keys = (MASTERING_PRIMARIES if has_primaries else ()) + (LUMINANCES if has_luminance else ())
    pairs = zip((*MASTERING_PRIMARIES, *LUMINANCES), numbers[::2], numbers[1::2], strict=True)
    return {key: Fraction(over, under or 1) for key, over, under in pairs if key in keys}


def write_entries(native: VideoFrame | AudioFrame, metadata: Mapping[str, Any]) -> None:
    """Mark an av frame of ours with the entries, and with no others than there are.

    Raises:
        LayoutError, UnknownNameError: an entry is not what it can be.
    """
    write_meaning(native, metadata)
    if isinstance(native, VideoFrame):
        _write_side_data(native, metadata)


def _write_side_data(native: VideoFrame, metadata: Mapping[str, Any]) -> None:
    """Hang on a picture what its metadata say: the entries, and of metadata["ffmpeg"]["side_data"]
    what holds for a picture that was made of the frame, where it has none.

    Raises:
        LayoutError: an entry is not what it can be.
    """
    there = read_side_data(native)
    private = metadata.get("ffmpeg")
    raw = private.get("side_data") if isinstance(private, dict) else None
    if isinstance(raw, dict):
        for name in _KEPT:
            if name not in there and isinstance(content := raw.get(name), bytes):
                set_side_data(native, name, content)
    said = entries_in(there) if there else {}  # mostly there is none
    for name, read, packed in _WRITERS:
        value = read(metadata)
        if value != read(said):
            set_side_data(native, name, None if value is None else packed(value))


def _orientation_of(metadata: Mapping[str, Any]) -> tuple[int, bool] | None:
    rotation, mirrored = rotation_of(metadata), mirrored_of(metadata)
    return None if rotation is None and not mirrored else (rotation or 0, bool(mirrored))


def _matrix(orientation: tuple[int, bool]) -> bytes:
    rotation, mirrored = orientation
    a, b = next(step for step, turn in _TURNS.items() if turn == rotation)
    c, d = -b, a
    if mirrored:
        a, b = -a, -b
    return _MATRIX.pack(*(n * _ONE for n in (a, b, 0, c, d, 0, 0, 0)), _ONE_OF_COLUMN)


def _mastering(display: Mapping[str, Fraction]) -> bytes:
    numbers = [display.get(key, Fraction(0)) for key in (*MASTERING_PRIMARIES, *LUMINANCES)]
    pairs = (part for number in numbers for part in (number.numerator, number.denominator))
    return _MASTERING.pack(*pairs, MASTERING_PRIMARIES[0] in display, LUMINANCES[0] in display)


def _light(levels: Mapping[str, int]) -> bytes:
    return _LIGHT.pack(levels["max"], levels["average"])


_WRITERS: tuple[tuple[str, Callable[[Mapping[str, Any]], Any], Callable[[Any], bytes]], ...] = (
    ("DISPLAYMATRIX", _orientation_of, _matrix),
    ("MASTERING_DISPLAY_METADATA", mastering_display_of, _mastering),
    ("CONTENT_LIGHT_LEVEL", content_light_of, _light),
)
