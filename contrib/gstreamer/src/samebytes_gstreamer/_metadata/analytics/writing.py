# SPDX-License-Identifier: Apache-2.0
"""Write regions and entries into the relation meta of a buffer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, Literal, get_args

from samebytes import Region
from samebytes.errors import UnknownNameError
from samebytes.metadata import KEY, Classification, Entry, InferenceResult, ObjectId

from ..._abi.analytics import (
    GST_ANALYTICS_REL_TYPE_CONTAIN,
    GST_ANALYTICS_REL_TYPE_IS_PART_OF,
    GST_ANALYTICS_REL_TYPE_N_TO_N,
    GST_ANALYTICS_REL_TYPE_RELATE_TO,
    GstAnalyticsMtd,
)
from ..._abi.gstreamer import GST_CLOCK_TIME_NONE, GstBuffer
from ..._abi.libraries import gst
from ..segmentation import Segmentation
from .functions import analytics, check_analytics, oriented
from .labels import quark_of
from .masks import add_mask, add_segmentation, is_mask
from .points import add_points, points_in
from .reading import MOST_RESULTS, read_analytics
from .tensors import add_tensors, remove_tensors

__all__ = ["add_analytics", "add_details", "remove_analytics", "write_regions_as"]

Way = Literal["analytics", "regions", "both"]

_INT = range(-(2**31), 2**31)
_way: list[Way] = ["analytics"]
_warned: list[int] = []


def write_regions_as(way: Way) -> None:
    """Choose the metas that regions become when frames are mapped to "gstreamer".

    It holds for the whole process, from the next buffer on.

    Args:
        way: "analytics", the default: metas of GstAnalytics, which elements of GStreamer and DL
            Streamer read from 1.24 on; before 1.24, it is the same as "regions". "regions":
            GstVideoRegionOfInterestMeta, which elements from before 1.24 read. "both": both.

    Raises:
        UnknownNameError: another word.
        MissingDependencyError: this GStreamer has no GstAnalytics; nothing has changed.
    """
    if way not in get_args(Way):
        raise UnknownNameError("way to write regions", way, get_args(Way))
    if way != "regions":
        check_analytics()
    _way[0] = way


def add_analytics(
    buffer: int,
    regions: Sequence[Region],
    entries: Iterable[Entry],
    left: int = 0,
    top: int = 0,
    size: tuple[int, int] | None = None,
    numbers: Mapping[int, int] | None = None,
) -> list[Region]:
    """Add regions, and entries of the whole frame, to the relation meta of a GstBuffer*.

    Args:
        buffer: a buffer that can be written.
        regions: the regions of the frame.
        entries: its entries; those of classifiers and trackers, tensors, key points and
            segmentations are written.
        left, top: the origin of the picture that the regions are in.
        size: width and height of that picture, without which segmentations are not written.
        numbers: the numbers of the detections that are there, by the ids of their regions.

    Returns:
        The regions still to be written as GstVideoRegionOfInterestMeta: all if this version has no
        relation meta, else those with details that a relation meta cannot store.
    """
    library = analytics() if _way[0] != "regions" else None
    entries = list(entries)
    if library is not None:
        add_tensors(buffer, entries)
    wanted = [entry for entry in entries if _is_said(entry)]
    groups = [entry for entry in entries if size and points_in(entry) is not None]
    segmentations = [entry for entry in entries if size and isinstance(entry, Segmentation)]
    if library is None or not (regions or wanted or segmentations or groups):
        return list(regions)
    meta = library.gst_buffer_add_analytics_relation_meta(buffer)
    if not meta:
        return list(regions)
    writer = _Writer(library, meta, GstBuffer.from_address(buffer).pts)
    old = writer.add_regions(regions, left, top, numbers or {})
    for entry in wanted:
        writer.add_entry(entry)
    for group in groups:
        writer.add_points(group, (left, top, *(size or ())))
    for segmentation in segmentations:
        writer.add_segmentation(segmentation, size or (0, 0), (left, top))
    return list(regions) if _way[0] == "both" else old


def add_details(
    buffer: int, details: Sequence[tuple[Region, Sequence[Entry]]], left: int, top: int
) -> bool:
    """Add entries to detections that the relation meta of a GstBuffer* has already.

    Args:
        buffer: a buffer that can be written, and has no old metas.
        details: the regions of the detections, and the new entries of each.
        left, top: the origin of the picture that the regions are in.

    Returns:
        False, with nothing added, if a detection is not there, or the meta cannot store them all.
    """
    library = analytics() if _way[0] == "analytics" else None
    meta = library.gst_buffer_get_analytics_relation_meta(buffer) if library else None
    if library is None or not meta:
        return False
    there = {region.metadata["id"]: region for region in read_analytics(meta, left, top).regions}
    writer = _Writer(library, meta, GstBuffer.from_address(buffer).pts)
    for region, entries in details:
        number = region.metadata.get("id")
        known = there.get(number) if type(number) is int else None
        if known is None or (known.box, known.label) != (region.box, region.label):
            return False
        if not all(_is_said(entry) and not _says_more(entry) for entry in entries):
            return False
    if not writer.has_room_for([entry for _, entries in details for entry in entries]):
        return False
    for region, entries in details:
        writer.add_related(region.metadata["id"], entries)
    return True


def remove_analytics(buffer: int) -> None:
    """Take relation meta and tensors off a GstBuffer*, if there are any."""
    remove_tensors(buffer)
    library = analytics()
    meta = library.gst_buffer_get_analytics_relation_meta(buffer) if library else None
    if meta:
        gst.gst_buffer_remove_meta(buffer, meta)


def _is_said(entry: Entry) -> bool:
    return type(entry) is ObjectId or (type(entry) is Classification and bool(entry.label))


class _Writer:
    """Adds to one relation meta, as long as it has room."""

    def __init__(self, library: Any, meta: int, pts: int) -> None:
        self._library = library
        self._meta = meta
        self._first_seen = pts if pts != GST_CLOCK_TIME_NONE else 0
        self._room = MOST_RESULTS - library.gst_analytics_relation_get_length(meta)

    def has_room_for(self, entries: Sequence[Entry]) -> bool:
        """True if all of these classifications and numbers of trackers can be added."""
        labels = [entry.label for entry in entries if isinstance(entry, Classification)]
        return len(entries) <= self._room and all(map(quark_of, labels))

    def add_related(self, number: int, entries: Iterable[Entry]) -> None:
        """Add the entries that belong to the detection of that number."""
        for entry in entries:
            added = self.add_entry(entry)
            if added is not None:
                self._relate(GST_ANALYTICS_REL_TYPE_RELATE_TO, number, added)

    def add_regions(
        self, regions: Sequence[Region], left: int, top: int, there: Mapping[int, int]
    ) -> list[Region]:
        """Add detections, their entries and part-of relations; return those with more details."""
        # All detections first: so their numbers are the same when they are read and written.
        numbers = [self._add_region(region, left, top) for region in regions]
        by_id = dict(there) | {
            region.metadata["id"]: number
            for region, number in zip(regions, numbers, strict=True)
            if number is not None and type(region.metadata.get("id")) is int
        }
        old = []
        for region, number in zip(regions, numbers, strict=True):
            if number is None or not self._add_details(region, number, by_id, (left, top)):
                old.append(region)
        return old

    def _add_region(self, region: Region, left: int, top: int) -> int | None:
        try:
            x, y, width, height = map(index, region.box)
        except TypeError:
            return None  # set to what is between pixels, which no meta can say
        turned = oriented()
        box = region.metadata.get("oriented_box")
        label = quark_of(region.label)
        sure = 0.0 if region.confidence is None else float(region.confidence)
        if turned is not None and box is not None and _is_oriented(box):
            x, y, width, height = map(round, box[:4])
            angle = box[4]
            return self._added(
                turned.gst_analytics_relation_meta_add_oriented_od_mtd,
                label, *_moved(x, y, width, height, left, top), angle, sure,
            )  # fmt: skip
        return self._added(
            self._library.gst_analytics_relation_meta_add_od_mtd,
            label, *_moved(x, y, width, height, left, top), sure,
        )  # fmt: skip

    def _add_details(
        self, region: Region, number: int, by_id: dict[int, int], origin: tuple[int, int]
    ) -> bool:
        """Add the entries of a detection; True if nothing was left out."""
        known: dict[str, Any] = region.metadata
        said = region.confidence is not None and bool(known.get("id", number) == number)
        said &= bool(quark_of(region.label)) or not region.label  # else there are too many labels
        said &= not known.get("params") and known.get("label_id") is None
        whole = known.get("parent_id")
        parent = by_id.get(whole) if type(whole) is int else None
        if parent is not None and parent != number:
            self._relate(GST_ANALYTICS_REL_TYPE_IS_PART_OF, number, parent)
            self._relate(GST_ANALYTICS_REL_TYPE_CONTAIN, parent, number)
        said &= "parent_id" not in known or bool(parent == known["parent_id"])
        held = known.get(KEY)
        for entry in held if isinstance(held, list) else ():
            added = self.add_entry(entry) if _is_said(entry) else None
            if is_mask(entry):
                box = _moved(*region.box, *origin)
                added = self._added(add_mask, entry, box)
                if added is not None:  # both ways, as yolosegv8tensordec has it
                    self._relate(GST_ANALYTICS_REL_TYPE_RELATE_TO, added, number)
            elif isinstance(entry, InferenceResult):
                group = self.add_points(entry, _moved(*region.box, *origin))
                if group is not None:  # as DL Streamer has it
                    self._relate(GST_ANALYTICS_REL_TYPE_CONTAIN, number, group)
                    self._relate(GST_ANALYTICS_REL_TYPE_IS_PART_OF, group, number)
            if added is not None:
                self._relate(GST_ANALYTICS_REL_TYPE_RELATE_TO, number, added)
            said &= added is not None and not _says_more(entry)
        return said

    def add_entry(self, entry: Entry) -> int | None:
        """Add a classification or the number of a tracker; its number, None without room."""
        if isinstance(entry, ObjectId):
            add = self._library.gst_analytics_relation_meta_add_tracking_mtd
            return self._added(add, entry.id, self._first_seen)
        assert isinstance(entry, Classification)
        quark = quark_of(entry.label)
        if not quark:
            return None
        add = self._library.gst_analytics_relation_meta_add_one_cls_mtd
        return self._added(add, 0.0 if entry.confidence is None else entry.confidence, quark)

    def add_points(self, entry: Entry, box: tuple[int, ...]) -> int | None:
        """Add a group of key points; its number, None if the entry is none or there is no room."""
        points = points_in(entry)
        if points is None:
            return None
        if self._room <= len(points):
            _tell_no_room()
            return None
        group = self._added(add_points, entry, box)
        self._room -= len(points) if group is not None else 0
        return group

    def add_segmentation(
        self, entry: Segmentation, size: tuple[int, int], origin: tuple[int, int]
    ) -> None:
        """Add a segmentation, and a classification with its labels."""
        if self._room < 1 + bool(entry.labels):
            _tell_no_room()
            return
        mask, classes = GstAnalyticsMtd(), GstAnalyticsMtd()
        if not add_segmentation(self._meta, entry, size, origin, mask, classes):
            return
        self._room -= 1 + bool(classes.meta)
        if classes.meta:
            self._relate(GST_ANALYTICS_REL_TYPE_N_TO_N, mask.id, classes.id)

    def _relate(self, kind: int, one: int, other: int) -> None:
        self._library.gst_analytics_relation_meta_set_relation(self._meta, kind, one, other)

    def _added(self, add: Callable[..., int], *values: Any) -> int | None:
        if self._room <= 0:
            _tell_no_room()
            return None
        mtd = GstAnalyticsMtd()
        if not add(self._meta, *values, mtd):
            return None
        self._room -= 1
        return int(mtd.id)


def _says_more(entry: Entry) -> bool:
    """True if an entry has details that a relation meta cannot store."""
    if isinstance(entry, InferenceResult):
        return entry.layout not in ("", "HW") or any(
            (entry.model_name, entry.layer_name, entry.name, entry.point_names)
        )
    if not isinstance(entry, Classification):
        return False
    return bool(
        entry.confidence is None or entry.label_id is not None or entry.attribute or entry.result
    )


def _is_oriented(box: Any) -> bool:
    return (
        isinstance(box, tuple)
        and len(box) == 5
        and all(type(n) in (int, float) and math.isfinite(n) and round(n) in _INT for n in box[:4])
        and min(box[2:4]) >= 0
        and isinstance(box[4], float)
        and math.isfinite(box[4])
    )


def _moved(x: int, y: int, width: int, height: int, left: int, top: int) -> tuple[int, ...]:
    """A box in the whole picture, limited to the range of an int."""
    box = (x + left, y + top, width, height)
    return tuple(max(_INT.start, min(n, _INT.stop - 1)) for n in box)


def _tell_no_room() -> None:
    if not _warned:
        _warned.append(1)
        warnings.warn(
            f"a buffer with more than {MOST_RESULTS} results: the further ones are not written to "
            "its GstAnalytics meta, whose size grows with their square; drop detections of low "
            "confidence",
            RuntimeWarning,
            stacklevel=2,
        )
