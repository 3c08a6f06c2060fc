# SPDX-License-Identifier: Apache-2.0
"""Read the relation meta of a buffer: regions with what is related to them, and the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from ctypes import byref, c_float, c_int, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samebytes import Region
from samebytes.errors import MetadataError
from samebytes.metadata import KEY, Classification, Entry, ObjectId

from ..._abi.analytics import (
    ANY_RELATION,
    GST_ANALYTICS_REL_TYPE_CONTAIN,
    GST_ANALYTICS_REL_TYPE_IS_PART_OF,
    GstAnalyticsMtd,
)
from .functions import analytics, keypoints, oriented, segmentation
from .labels import label_of
from .masks import Mask, place_masks, read_mask
from .points import Points, place_points, read_points

__all__ = ["MOST_RESULTS", "Analytics", "read_analytics"]

MOST_RESULTS = 2048
"""The most results read or written for one buffer: the relation table grows as their square."""

_MOST_RELATIONS = 8 * MOST_RESULTS


@dataclass(slots=True)
class Analytics:
    """The contents of a relation meta.

    Attributes:
        regions: its object detections, in their order, with the entries that relate to them.
        entries: classifications and identities that relate to no detection, and segmentations.
        unknown: the names of the types that are not read here, each once.
    """

    regions: list[Region] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def read_analytics(
    meta: int | None, left: int = 0, top: int = 0, size: tuple[int, int] | None = None
) -> Analytics:
    """The contents of a GstAnalyticsRelationMeta*; empty without one.

    Args:
        meta: the meta of a buffer that the caller holds.
        left, top: the origin of the returned regions, in pixels of the whole picture.
        size: width and height of the picture, without which masks and key points are not read.
    """
    found = Analytics()
    library = analytics() if meta else None
    if library is None or meta is None:
        return found
    regions: dict[int, Region] = {}
    entries: dict[int, Entry] = {}
    masks: dict[int, Mask] = {}
    groups: dict[int, Points] = {}
    points: set[int] = set()
    classes: dict[int, list[int]] = {}
    kinds = _kinds(library, masks=size is not None)
    names: dict[int, str] = {}
    count = min(library.gst_analytics_relation_get_length(meta), MOST_RESULTS)
    for number in range(count):
        mtd = GstAnalyticsMtd()
        if not library.gst_analytics_relation_meta_get_mtd(meta, number, 0, byref(mtd)):
            continue
        kind = library.gst_analytics_mtd_get_mtd_type(byref(mtd))
        match kinds.get(kind):
            case "detection":
                _put(regions, number, _region(library, mtd, left, top))
                continue
            case "classification":
                _put(entries, number, _classification(library, mtd))
                classes[number] = _quarks(library, mtd)
                continue
            case "tracking":
                _put(entries, number, _object_id(library, mtd))
                continue
            case "mask":
                _put(masks, number, read_mask(mtd, left, top))
            case "group":
                _put(groups, number, read_points(mtd))
            case "point":
                points.add(number)
        if number not in masks and number not in groups:
            name = library.gst_analytics_mtd_type_get_name(kind) or b"?"
            names[number] = name.decode(errors="replace")
    grouped = points & {member for group in groups.values() for member in group.members}
    found.unknown = list(dict.fromkeys(names[n] for n in names if n not in grouped))
    relations = list(_relations(library, meta, count))
    placed = _relate(relations, regions, entries)
    found.regions = list(regions.values())
    others: list[Entry] = []
    if size is not None:
        others, used = place_masks(masks, relations, regions, classes, size)
        others += place_points(groups, relations, regions, (left, top, *size))
        placed |= used
    found.entries = [entry for number, entry in entries.items() if number not in placed]
    found.entries += others
    return found


def _kinds(library: Any, *, masks: bool) -> dict[int, str]:
    """The types that are read here, with the kind of each."""
    kinds = {
        library.gst_analytics_od_mtd_get_mtd_type(): "detection",
        library.gst_analytics_cls_mtd_get_mtd_type(): "classification",
        library.gst_analytics_tracking_mtd_get_mtd_type(): "tracking",
    }
    segmented, pointed = segmentation(), keypoints()
    if masks and segmented is not None:
        kinds[segmented.gst_analytics_segmentation_mtd_get_mtd_type()] = "mask"
    if masks and pointed is not None:
        kinds[pointed.gst_analytics_group_mtd_get_mtd_type()] = "group"
        kinds[pointed.gst_analytics_keypoint_mtd_get_mtd_type()] = "point"
    return kinds


def _put(found: dict[int, Any], number: int, item: Any) -> None:
    if item is not None:
        found[number] = item


def _region(library: Any, mtd: GstAnalyticsMtd, left: int, top: int) -> Region | None:
    """The region of a detection; None if it has an impossible size."""
    x, y, width, height, sure = c_int(), c_int(), c_int(), c_int(), c_float()
    place = (byref(x), byref(y), byref(width), byref(height))
    if not library.gst_analytics_od_mtd_get_location(byref(mtd), *place, byref(sure)):
        return None
    if width.value < 0 or height.value < 0:
        return None
    label = label_of(library.gst_analytics_od_mtd_get_obj_type(byref(mtd)))
    region = Region(
        x.value - left, y.value - top, width.value, height.value, label, _confidence(sure.value),
        {"id": int(mtd.id)},
    )  # fmt: skip
    turned, angle = oriented(), c_float()
    if turned is not None and turned.gst_analytics_od_mtd_get_oriented_location(
        byref(mtd), *place, byref(angle), byref(sure)
    ):
        radians = _confidence(angle.value)
        if radians:
            region.metadata["oriented_box"] = (
                x.value - left, y.value - top, width.value, height.value, radians,
            )  # fmt: skip
    return region


def _classification(library: Any, mtd: GstAnalyticsMtd) -> Entry | None:
    """The class that is the most likely of those in a classification."""
    best, quark = math.nan, 0
    for index in range(min(library.gst_analytics_cls_mtd_get_length(byref(mtd)), MOST_RESULTS)):
        level = library.gst_analytics_cls_mtd_get_level(byref(mtd), index)
        if not index or level > best or math.isnan(best):
            best, quark = level, library.gst_analytics_cls_mtd_get_quark(byref(mtd), index)
    label = label_of(quark)
    return Classification(label, _confidence(best)) if label else None


def _quarks(library: Any, mtd: GstAnalyticsMtd) -> list[int]:
    """The labels of all classes of a classification."""
    count = min(library.gst_analytics_cls_mtd_get_length(byref(mtd)), MOST_RESULTS)
    get = library.gst_analytics_cls_mtd_get_quark
    return [int(get(byref(mtd), index)) for index in range(count)]


def _object_id(library: Any, mtd: GstAnalyticsMtd) -> Entry | None:
    number, first, last, lost = c_uint64(), c_uint64(), c_uint64(), c_int()
    times = (byref(first), byref(last), byref(lost))
    if not library.gst_analytics_tracking_mtd_get_info(byref(mtd), byref(number), *times):
        return None
    try:
        return ObjectId(number.value)
    except MetadataError:  # 64 bits, of which ours have 63
        return None


def _confidence(value: float) -> float | None:
    """The shortest number that is this float of 32 bits: 0.9, not 0.899999976158."""
    return float(str(np.float32(value))) if math.isfinite(value) else None


def _relate(
    relations: list[tuple[int, int, int]], regions: dict[int, Region], entries: dict[int, Entry]
) -> set[int]:
    """Give entries to the regions that they relate to; return the numbers of these entries."""
    placed: set[tuple[int, int]] = set()
    for one, other, kind in relations:
        for region, entry in ((one, other), (other, one)):
            if region in regions and entry in entries and (region, entry) not in placed:
                placed.add((region, entry))
        if one in regions and other in regions and one != other:
            if kind & GST_ANALYTICS_REL_TYPE_IS_PART_OF:
                regions[one].metadata.setdefault("parent_id", other)
            elif kind & GST_ANALYTICS_REL_TYPE_CONTAIN:
                regions[other].metadata.setdefault("parent_id", one)
    for region, entry in sorted(placed):
        regions[region].metadata.setdefault(KEY, []).append(entries[entry])
    return {entry for _, entry in placed}


def _relations(library: Any, meta: int, count: int) -> Iterator[tuple[int, int, int]]:
    """The relations between results, at most `count` of them: (from, to, kind)."""
    left = _MOST_RELATIONS
    for number in range(count):
        state, mtd = c_void_p(), GstAnalyticsMtd()
        while left and library.gst_analytics_relation_meta_get_direct_related(
            meta, number, ANY_RELATION, 0, byref(state), byref(mtd)
        ):
            left -= 1
            if mtd.id < count:
                kind = library.gst_analytics_relation_meta_get_relation(meta, number, mtd.id)
                yield number, int(mtd.id), kind
