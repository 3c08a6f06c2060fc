# SPDX-License-Identifier: Apache-2.0
"""Results that a program added to a frame, or changed in it, put onto the buffer that goes on."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from samebytes import Region
from samebytes.metadata import KEY, Entry

from .._abi.libraries import gst
from .._buffers.frame import GStreamerFrame
from .._metadata.analytics import add_details, remove_analytics
from .._metadata.frame_results import add_results, remove_results
from .._metadata.meta import GStreamerMeta, Said, add_regions, carried_in, said_by
from .._metadata.metas import metas_of
from .._metadata.structures import dicts_in
from .outgoing import Outgoing, has_other_time, set_time, to_be_changed

__all__ = ["as_it_is", "said_of", "with_results"]


def said_of(frame: GStreamerFrame) -> Said:
    """The regions and entries of a frame now, for comparison with a later state."""
    return said_by(frame.handle("gst_buffer"), frame.meta)


def as_it_is(frame: GStreamerFrame) -> Outgoing:
    """A reference to the buffer of a frame, with the changes made since it was read.

    Raises:
        UnsupportedObjectError: others hold it, and its memory cannot be in two buffers.
    """
    meta = frame.meta
    # A frame that was mapped there and back has the same meta, and a buffer of its own.
    if isinstance(meta, GStreamerMeta) and meta.said.buffer == frame.handle("gst_buffer"):
        other = with_results(frame, meta.said)
        if other is not None:
            return other
        meta.said = said_of(frame)
    return Outgoing.of(frame)


def with_results(frame: GStreamerFrame, before: Said) -> Outgoing | None:
    """Put an element's changes onto the frame's buffer: time, regions and typed entries.

    Args:
        before: the regions and entries before the changes.

    Returns:
        None if the buffer has them now; if others hold it, another buffer on the same memory.

    Raises:
        UnsupportedObjectError: others hold it, and its memory cannot be in two buffers.
    """
    regions, entries = frame.meta.regions, carried_in(frame.metadata)
    more_regions = _more(before.regions, regions)
    more_entries = _more(before.entries, entries)
    as_before = more_regions == [] and more_entries == []
    if as_before and not has_other_time(frame):
        return None
    buffer, other = to_be_changed(frame, metas=not as_before)
    set_time(buffer, frame)
    metas = metas_of(buffer)
    # Buffers count from the corner of the whole picture, frames from that of the seen part.
    crop = metas.crop if getattr(frame.meta, "crop", False) else None
    left, top = (crop.x, crop.y) if crop is not None else (0, 0)
    if more_regions is None and more_entries is not None and not metas.regions:
        details = _more_details(before.regions, regions)
        if details and add_details(buffer, details, left, top):
            more_regions = regions[len(before.regions) :]
    if more_regions is None or more_entries is None:
        # From a relation meta nothing can be removed, except all of it.
        more_regions = None
        for region in metas.regions:
            gst.gst_buffer_remove_meta(buffer, ctypes.addressof(region))
        remove_analytics(buffer)
    if more_regions is None or more_entries is None:
        add_regions(buffer, regions, left, top, entries, frame.meta.info)
    else:
        add_regions(buffer, more_regions, left, top, more_entries, frame.meta.info, more=True)
    if more_entries is None:
        remove_results(buffer, metas)
        details = frame.metadata.get("gstreamer")
        known = details.get("gva_tensors") if isinstance(details, dict) else None
        add_results(buffer, dicts_in(known), entries)
    else:
        add_results(buffer, (), more_entries)
    if other is None and isinstance(frame.meta, GStreamerMeta):
        frame.meta.said = said_of(frame)
    return other


def _more_details(
    before: Sequence[Region], now: Sequence[Region]
) -> list[tuple[Region, list[Entry]]] | None:
    """The entries that were appended to regions; None if the regions changed otherwise."""
    if len(now) < len(before):
        return None
    found = []
    for old, new in zip(before, now, strict=False):
        more = _more(old.metadata.get(KEY, []), new.metadata.get(KEY, []))
        if more is None or _but_entries(old) != _but_entries(new):
            return None
        if more:
            found.append((new, more))
    return found


def _but_entries(region: Region) -> tuple[Any, ...]:
    rest = {key: value for key, value in region.metadata.items() if key != KEY}
    return region.box, region.label, region.confidence, rest


def _more(before: list[Any], now: list[Any]) -> list[Any] | None:
    """The items that were appended; None if anything else changed."""
    return list(now[len(before) :]) if list(now[: len(before)]) == before else None
