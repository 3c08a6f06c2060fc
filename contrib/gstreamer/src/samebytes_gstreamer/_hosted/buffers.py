# SPDX-License-Identifier: Apache-2.0
"""Buffers on their way through a hosted element: copied, given results, and lent."""

from __future__ import annotations

import ctypes
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import samebytes as sb
import samebytes.elements as el
from samebytes import Frame, Region
from samebytes.metadata import KEY, Entry

from .._abi.gstreamer import GST_CLOCK_TIME_NONE, GstBuffer
from .._analytics import remove_analytics
from .._frame import GStreamerFrame
from .._frame_results import add_results, remove_results
from .._libraries import gst
from .._meta import GStreamerMeta, add_regions, carried_in
from .._metas import metas_of
from .._outgoing import Outgoing, has_other_time, set_time, to_be_changed
from .._structures import dicts_in
from .caps import check_result

__all__ = ["Said", "lend", "own_copy", "said_of", "with_results"]


def own_copy(frame: GStreamerFrame) -> GStreamerFrame:
    """The picture, sound or tensors in a buffer of its own. The copy is counted."""
    return el.own_copy(frame).map("gstreamer", "rw")  # type: ignore[return-value]  # its own frames


def lend(given: Any, like: GStreamerFrame | None, caps: Any, *, copy: bool) -> Outgoing:
    """A buffer of the bytes that an element gave, without a copy unless `copy` allows one.

    Args:
        given: a samebytes.Frame or a native one.
        like: the frame that it was made of, which gives it the time if it has none.
        caps: what was agreed on.
        copy: allow a copy where there is no other way.

    Raises:
        UnsupportedObjectError: it cannot be wrapped as a frame.
        CopyRequiredError, NoRouteError: it does not map to "gstreamer".
        LayoutError: it is not what was agreed on.
    """
    frame = given if isinstance(given, Frame) else sb.frame(given)
    if isinstance(frame, GStreamerFrame):
        check_result(frame, caps)
        # One that the element kept: what it has added since is on no buffer yet.
        meta = frame.meta
        if isinstance(meta, GStreamerMeta) and meta.said is not None:
            other = with_results(frame, meta.said)
            meta.said = said_of(frame)
            if other is not None:
                return other
        return Outgoing.of(frame)
    # Those after it may write into it, as into any frame that an element gave.
    own: Any = frame.map("gstreamer", "r" if frame.readonly else "rw", copy=copy)
    check_result(own, caps)
    made = Outgoing.of(own)
    own.close()  # a holder less
    head = GstBuffer.from_address(made.pointer)
    if like is not None and head.pts == GST_CLOCK_TIME_NONE:
        before = GstBuffer.from_address(like.handle("gst_buffer"))
        head.pts, head.dts = before.pts, before.dts
        if head.duration == GST_CLOCK_TIME_NONE:
            head.duration = before.duration
    return made


class Said(NamedTuple):
    """The regions and entries of a frame, saved before an element gets it.

    Attributes:
        regions: its regions, as they were.
        entries: its typed entries that buffers carry.
    """

    regions: list[Region]
    entries: list[Entry]


def said_of(frame: GStreamerFrame) -> Said:
    """The regions and entries of a frame now, for comparison with a later state."""
    regions = [replace(region, metadata=_own(region.metadata)) for region in frame.meta.regions]
    return Said(regions, carried_in(frame.metadata))


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    # Entries never change, and what they refer to is not to be copied: only their list is.
    return {
        key: list(value) if key == KEY and isinstance(value, list) else deepcopy(value)
        for key, value in metadata.items()
    }


def with_results(frame: GStreamerFrame, before: Said) -> Outgoing | None:
    """Put what an element changed onto the frame's buffer: time, regions and typed entries.

    Args:
        before: what they were.

    Returns:
        None: the buffer has them now. Otherwise others hold it, and here is another one on the
        same memory.

    Raises:
        UnsupportedObjectError: others hold it, and its memory cannot be in two buffers.
    """
    regions, entries = frame.meta.regions, carried_in(frame.metadata)
    more_regions = _more(before.regions, regions)
    more_entries = _more(before.entries, entries)
    if more_regions == [] and more_entries == [] and not has_other_time(frame):
        return None
    buffer, other = to_be_changed(frame)
    set_time(buffer, frame)
    metas = metas_of(buffer)
    if more_regions is None or more_entries is None:
        # Of a relation meta nothing can be removed but the whole.
        more_regions = None
        for region in metas.regions:
            gst.gst_buffer_remove_meta(buffer, ctypes.addressof(region))
        remove_analytics(buffer)
    # Buffers count from the corner of the whole picture, frames from that of the seen part.
    crop = metas.crop if getattr(frame.meta, "crop", False) else None
    left, top = (crop.x, crop.y) if crop is not None else (0, 0)
    if more_regions is None or more_entries is None:
        add_regions(buffer, regions, left, top, entries, frame.meta.info)
    else:
        add_regions(buffer, more_regions, left, top, more_entries, frame.meta.info)
    if more_entries is None:
        remove_results(buffer, metas)
        details = frame.metadata.get("gstreamer")
        known = details.get("gva_tensors") if isinstance(details, dict) else None
        add_results(buffer, dicts_in(known), entries)
    else:
        add_results(buffer, (), more_entries)
    return other


def _more(before: list[Any], now: list[Any]) -> list[Any] | None:
    """The items that were appended; None if anything else changed."""
    return list(now[len(before) :]) if list(now[: len(before)]) == before else None
