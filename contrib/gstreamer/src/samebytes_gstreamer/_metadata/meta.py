# SPDX-License-Identifier: Apache-2.0
"""GStreamerMeta: time, metas, results and regions of a buffer, read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from ctypes import addressof
from dataclasses import replace
from fractions import Fraction
from operator import index
from typing import Any, NamedTuple

from samebytes import AudioInfo, FrameMeta, ImageInfo, Region
from samebytes.formats import duration_of
from samebytes.metadata import KEY, Entry

from .._abi.gstreamer import GST_BUFFER_OFFSET_NONE, GST_CLOCK_TIME_NONE, GstBuffer
from .._abi.libraries import glib, video
from .._abi.video import GstVideoRegionOfInterestMeta
from .._caps.caps import Description
from .._caps.interlacing import (
    FIELD_FLAGS,
    FRAME_FLAGS_SHIFT,
    buffer_flags,
    has_one_field,
    read_fields,
)
from .analytics import add_analytics, merged_entries, merged_regions, read_analytics, read_tensors
from .analytics.labels import quark_of, text_of
from .dlstreamer import add_dlstreamer_metas, read_dlstreamer_metas
from .frame_results import add_results, read_results
from .metas import Metas, metas_of
from .results import detected, entries_in, is_carried, label_in, merged, with_detection
from .segmentation import Segmentation
from .structures import dicts_in, list_items, new_structure, read_structure, structure_name

__all__ = [
    "GStreamerMeta",
    "add_regions",
    "carried_in",
    "clock_time",
    "read_meta",
    "write_meta",
]

_NANOSECOND = Fraction(1, 10**9)
_MOST = 2**32 - 1


class GStreamerMeta(FrameMeta):
    """A FrameMeta that was read from a buffer.

    `pts` is in nanoseconds. `metadata` has the entries that all backends share
    (docs/reference/frame-metadata.md). Colours that the caps do not name are those that GStreamer
    assumes. `metadata["gstreamer"]` has everything else that is known: `dts` and `duration`
    (nanoseconds), `offset`, `offset_end`, `one_field`, and from the caps `caps` (as text),
    `framerate`, `pixel_aspect_ratio`, `colorimetry`, `interlace_mode`; metas of DL Streamer are
    under `gva_tensors`, `gva_json` and `gva_audio_events`. If a fact is in both, the shared entry
    is the one that counts on the way back. Likewise, the typed entries, and label, confidence and
    `metadata["label_id"]` of a region, count more than structures in `gva_tensors` and in
    `metadata["params"]` of regions.

    Attributes:
        description: the contents of the caps.
        crop: True if the planes are those of the cropped picture.
        said: the results on its buffer, to be compared with the frame's when it is passed on.
    """

    __slots__ = ("crop", "description", "said")

    description: Description
    crop: bool
    said: Said


class Said(NamedTuple):
    """Regions and entries that are on a buffer.

    Attributes:
        buffer: the GstBuffer*.
        regions: the regions of its frame, as they were.
        entries: the typed entries of the frame that buffers carry.
    """

    buffer: int
    regions: list[Region]
    entries: list[Entry]


def said_by(buffer: int, meta: FrameMeta) -> Said:
    """The regions and entries of a GstBuffer* that has the same as the meta of its frame."""
    regions = [replace(region, metadata=_own(region.metadata)) for region in meta.regions]
    return Said(buffer, regions, carried_in(meta.metadata))


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    # Entries never change, and objects in them must not be copied: only their list is.
    return {
        key: list(value) if key == KEY and isinstance(value, list) else deepcopy(value)
        for key, value in metadata.items()
    }


def read_meta(
    buffer: int,
    info: ImageInfo | AudioInfo | None,
    metas: Metas,
    description: Description,
    *,
    crop: bool = True,
) -> GStreamerMeta:
    """The meta of a GstBuffer*."""
    head = GstBuffer.from_address(buffer)
    known = {key: value for key, value in description.details.items() if value is not None}
    for key in ("dts", "duration"):
        if getattr(head, key) != GST_CLOCK_TIME_NONE:
            known[key] = getattr(head, key)
    for key in ("offset", "offset_end"):
        if getattr(head, key) != GST_BUFFER_OFFSET_NONE:
            known[key] = getattr(head, key)
    known.update(read_dlstreamer_metas(metas))
    flags = head.mini_object.flags
    if metas.video is not None:
        flags |= (metas.video.flags << FRAME_FLAGS_SHIFT) & FIELD_FLAGS
    if has_one_field(flags):
        known["one_field"] = True
    meaning = dict(description.meaning)
    if isinstance(info, ImageInfo):
        meaning |= read_fields(description.interlace_mode, description.field_order, flags)
    if head.duration != GST_CLOCK_TIME_NONE:
        meaning["duration"] = head.duration * _NANOSECOND
    origin = (metas.crop.x, metas.crop.y) if crop and metas.crop is not None else (0, 0)
    relation = None if metas.analytics is None else addressof(metas.analytics)
    left, top = origin
    analytics = read_analytics(relation, left, top, _size_of(info))
    if analytics.unknown:
        known["unknown_analytics"] = analytics.unknown
    outputs = read_tensors(metas.outputs)
    results = read_results(metas, dicts_in(known.get("gva_tensors")))
    if results := merged_entries(results, [*analytics.entries, *outputs]):
        meaning[KEY] = results
    meta = GStreamerMeta(
        info,
        None if head.pts == GST_CLOCK_TIME_NONE else head.pts,
        _NANOSECOND,
        {"gstreamer": known, **meaning},
        merged_regions(analytics.regions, [_region(r, *origin) for r in metas.regions]),
    )
    for region in meta.regions:
        region.label = region.label or label_in(dicts_in(region.metadata.get("params")))
    meta.description = description
    meta.crop = crop
    meta.said = said_by(buffer, meta)
    return meta


def _size_of(info: ImageInfo | AudioInfo | None) -> tuple[int, int] | None:
    return (info.width, info.height) if isinstance(info, ImageInfo) else None


def _region(meta: GstVideoRegionOfInterestMeta, left: int, top: int) -> Region:
    params = [
        {"name": structure_name(structure), **read_structure(structure)}
        for structure in list_items(meta.params)
    ]
    confidence, label_id = detected(params)
    numbers = {"id": meta.id, "parent_id": meta.parent_id}
    details: dict[str, Any] = {key: n for key, n in numbers.items() if n}  # 0: nobody set it
    if label_id is not None:
        details["label_id"] = label_id
    if params:
        details["params"] = params
    if entries := entries_in(params):
        details[KEY] = entries
    return Region(
        meta.x - left,
        meta.y - top,
        meta.w,
        meta.h,
        text_of(glib.g_quark_to_string(meta.roi_type)),
        confidence,
        details,
    )


def clock_time(meta: FrameMeta) -> int:
    """The time of a frame as a GstClockTime; GST_CLOCK_TIME_NONE if it cannot be one."""
    pts, base = meta.pts, meta.time_base
    if pts is None or base is None or pts < 0:
        return GST_CLOCK_TIME_NONE
    if base is _NANOSECOND:
        return pts
    found = round(pts * base / _NANOSECOND)
    return min(GST_CLOCK_TIME_NONE, found)


def write_meta(buffer: int, meta: FrameMeta) -> None:
    """Put time, regions, results, and metadata that came from GStreamer, onto a GstBuffer* of ours.

    Things that GStreamer cannot express are left out: times in unknown units or before zero,
    regions that begin left of or above the picture or between pixels, typed entries of classes
    other than those of `is_carried`, tensors that the CPU does not read in place, and metas of
    libraries that are not loaded. No bytes of tensors are copied.

    Raises:
        LayoutError, UnknownNameError: an entry that backends share is invalid.
    """
    head = GstBuffer.from_address(buffer)
    head.pts = clock_time(meta)
    known = meta.metadata.get("gstreamer")
    details = known if isinstance(known, dict) else {}
    if isinstance(meta.info, ImageInfo):
        head.mini_object.flags |= buffer_flags(meta.metadata, details)
    if isinstance(known, dict):
        for key in ("dts", "duration", "offset", "offset_end"):
            value = known.get(key)
            if isinstance(value, int) and 0 <= value < GST_CLOCK_TIME_NONE:
                setattr(head, key, value)
        add_dlstreamer_metas(buffer, {k: v for k, v in known.items() if k != "gva_tensors"})
    entries = carried_in(meta.metadata)
    add_results(buffer, dicts_in(details.get("gva_tensors")), entries)
    duration = duration_of(meta.metadata)
    if duration is not None:
        head.duration = min(round(duration / _NANOSECOND), GST_CLOCK_TIME_NONE - 1)
    add_regions(buffer, meta.regions, entries=entries, info=meta.info)


def carried_in(metadata: Mapping[str, Any]) -> list[Entry]:
    """The typed entries of a frame or region that go onto a buffer."""
    held = metadata.get(KEY)
    if not isinstance(held, list):
        return []
    return [entry for entry in held if is_carried(entry) or isinstance(entry, Segmentation)]


def add_regions(
    buffer: int,
    regions: Sequence[Region],
    left: int = 0,
    top: int = 0,
    entries: Sequence[Entry] = (),
    info: ImageInfo | AudioInfo | None = None,
    *,
    more: bool = False,
) -> None:
    """Attach regions to a GstBuffer*, as `write_meta` does: in its relation meta, if it can be.

    Args:
        entries: the entries of the whole frame, for the relation meta.
        left, top: the origin of the picture that they are in.
        info: the description of that picture, without which segmentations are left out.
        more: True if the buffer has regions already, which these may be parts of.
    """
    there = (
        _numbers_by_id(buffer) if more and any("parent_id" in r.metadata for r in regions) else {}
    )
    for region in add_analytics(buffer, regions, entries, left, top, _size_of(info), there):
        try:
            # index(): results of inference are often numpy's integers.
            x, y = index(region.x) + left, index(region.y) + top
            numbers = [x, y, index(region.width), index(region.height)]
        except TypeError:
            continue
        if not all(0 <= n <= _MOST for n in numbers):
            continue
        label = quark_of(region.label)
        added = video.gst_buffer_add_video_region_of_interest_meta_id(buffer, label, *numbers)
        mirror = GstVideoRegionOfInterestMeta.from_address(added)
        for key in ("id", "parent_id"):
            value = region.metadata.get(key)
            if isinstance(value, int) and -(2**31) <= value < 2**31:
                setattr(mirror, key, value)
        params = merged(dicts_in(region.metadata.get("params")), carried_in(region.metadata))
        for fields in with_detection(params, region, label=not label):
            structure = new_structure(str(fields.get("name", "params")), fields)
            video.gst_video_region_of_interest_meta_add_param(added, structure)


def _numbers_by_id(buffer: int) -> dict[int, int]:
    """The numbers that detections have in the relation meta, by the ids of their regions."""
    metas = metas_of(buffer)
    relation = None if metas.analytics is None else addressof(metas.analytics)
    found = read_analytics(relation).regions
    numbers = [region.metadata["id"] for region in found]
    merged_regions(found, [_region(region, 0, 0) for region in metas.regions])
    return {region.metadata["id"]: number for region, number in zip(found, numbers, strict=True)}
