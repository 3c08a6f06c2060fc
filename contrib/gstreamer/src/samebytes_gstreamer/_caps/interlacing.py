# SPDX-License-Identifier: Apache-2.0
"""Fields of interlaced pictures: the mode in caps, and the flags of each buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samebytes.errors import LayoutError
from samebytes.formats import field_order_of, repeat_fields_of

__all__ = [
    "FIELD_FLAGS",
    "FRAME_FLAGS_SHIFT",
    "buffer_flags",
    "check_mode",
    "differ",
    "has_one_field",
    "interlacing_text",
    "read_fields",
]

# gst/video/video-frame.h, GstVideoBufferFlags; shifted right by 20 they are GstVideoFrameFlags.
_INTERLACED = 1 << 20
_TOP_FIELD_FIRST = 1 << 21
_REPEAT_FIRST_FIELD = 1 << 22
_ONE_FIELD = 1 << 23
FIELD_FLAGS = _INTERLACED | _TOP_FIELD_FIRST | _REPEAT_FIRST_FIELD | _ONE_FIELD
FRAME_FLAGS_SHIFT = 20

_ORDERS = {"top": "top-field-first", "bottom": "bottom-field-first"}
_MODES = ("progressive", "interleaved", "mixed")


def check_mode(mode: str) -> None:
    """Check that buffers of this interlace-mode hold whole pictures, row by row.

    Raises:
        LayoutError: they hold single fields.
    """
    if mode not in _MODES:
        what = "one field" if mode == "alternate" else "two separate fields"
        raise LayoutError(
            f"each buffer holds {what} of a picture (interlace-mode={mode}): put a deinterlacer "
            "before it"
        )


def read_fields(mode: str | None, order: str | None, flags: int) -> dict[str, Any]:
    """Entries of `frame.metadata` for a buffer.

    Args:
        mode, order: "interlace-mode" and "field-order" of its caps; None without caps.
        flags: of the buffer.
    """
    found: dict[str, Any] = {}
    interlaced = mode == "interleaved" or (mode != "progressive" and bool(flags & _INTERLACED))
    if interlaced:
        # As gst_video_frame_map: caps or a flag say that the top field is first.
        top = order == _ORDERS["top"] or flags & _TOP_FIELD_FIRST
        found["field_order"] = "top" if top else "bottom"
        if flags & _REPEAT_FIRST_FIELD:
            found["repeat_fields"] = 1
    elif mode is not None:
        found["field_order"] = "progressive"
    return found


def interlacing_text(metadata: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """The fields of caps about interlacing, each after a comma.

    Args:
        metadata: the metadata of the frame.
        details: metadata["gstreamer"].
    """
    order = field_order_of(metadata)
    mode = details.get("interlace_mode")
    if mode not in _MODES:
        mode = None
    if order in _ORDERS and mode != "mixed":
        return f",interlace-mode=interleaved,field-order={_ORDERS[order]}"
    if order == "progressive" and mode != "mixed":
        return ",interlace-mode=progressive"
    return f",interlace-mode={mode}" if mode is not None else ""


def differ(mode: str | None, order: str | None, metadata: Mapping[str, Any]) -> bool:
    """True if a frame's metadata names other fields than the caps of its buffer.

    Args:
        mode, order: as for `read_fields`.
        metadata: the metadata of the frame.
    """
    said = field_order_of(metadata)
    if said is None or mode not in ("progressive", "interleaved"):
        return False  # each buffer has a flag for it
    if said == "progressive" or mode == "progressive":
        return said != mode
    return order in _ORDERS.values() and order != _ORDERS[said]


def buffer_flags(metadata: Mapping[str, Any], details: Mapping[str, Any]) -> int:
    """GstVideoBufferFlags of a picture."""
    order = field_order_of(metadata)
    flags = 0
    if order in _ORDERS:
        flags |= _INTERLACED | (_TOP_FIELD_FIRST if order == "top" else 0)
        flags |= _REPEAT_FIRST_FIELD if repeat_fields_of(metadata) == 1 else 0
    return flags | (_ONE_FIELD if details.get("one_field") is True else 0)


def has_one_field(flags: int) -> bool:
    """True if the picture has only one field, and the other must be interpolated."""
    return bool(flags & _ONE_FIELD)
