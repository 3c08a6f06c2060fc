# SPDX-License-Identifier: Apache-2.0
"""Key points: groups of them for regions and frames, from GStreamer 1.30 on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ctypes import byref, c_float, c_int, string_at
from dataclasses import dataclass
from typing import Any

import numpy as np

from samebytes import Region
from samebytes.errors import SamebytesError
from samebytes.metadata import KEY, Entry, InferenceResult

from ..._abi.analytics import GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D, GstAnalyticsMtd
from ..._abi.libraries import glib
from .functions import keypoints

__all__ = ["Points", "add_points", "place_points", "points_in", "read_points"]

Box = tuple[int, int, int, int]

_MOST_POINTS = 512
_COCO = (
    "nose", "eye_l", "eye_r", "ear_l", "ear_r", "shoulder_l", "shoulder_r", "elbow_l", "elbow_r",
    "wrist_l", "wrist_r", "hip_l", "hip_r", "knee_l", "knee_r", "ankle_l", "ankle_r",
)  # fmt: skip
# The tag that DL Streamer gives a group of these, after the name of the model.
_COCO_TAG = "body-pose/coco-17"


@dataclass(slots=True)
class Points:
    """One GstAnalyticsGroupMtd of GstAnalyticsKeypointMtd.

    Attributes:
        places: x and y in pixels of the whole picture, and the confidence, of each.
        members: their numbers in the meta.
        names: the name of each, or an empty sequence.
    """

    places: np.ndarray[Any, Any]
    members: tuple[int, ...]
    names: tuple[str, ...]


def read_points(mtd: GstAnalyticsMtd) -> Points | None:
    """The key points of a group; None if it has other members, none, or too many."""
    library = keypoints()
    count = library.gst_analytics_group_mtd_get_member_count(byref(mtd))
    if not 0 < count <= _MOST_POINTS:
        return None
    kind = library.gst_analytics_keypoint_mtd_get_mtd_type()
    places, members = np.zeros((count, 3), np.float32), []
    for number in range(count):
        member, x, y, sure = GstAnalyticsMtd(), c_int(), c_int(), c_float()
        z, dimensions = c_int(), c_int()
        known = (
            library.gst_analytics_group_mtd_get_member(byref(mtd), number, byref(member))
            and library.gst_analytics_mtd_get_mtd_type(byref(member)) == kind
            and library.gst_analytics_keypoint_mtd_get_position(
                byref(member), byref(x), byref(y), byref(z), byref(dimensions)
            )
            and library.gst_analytics_keypoint_mtd_get_confidence(byref(member), byref(sure))
        )
        if not known:
            return None
        places[number] = x.value, y.value, sure.value
        members.append(int(member.id))
    tag = _tag_of(library, mtd)
    names = _COCO if tag.endswith(_COCO_TAG) and count == len(_COCO) else ()
    return Points(places, tuple(members), names)


def _tag_of(library: Any, mtd: GstAnalyticsMtd) -> str:
    text = library.gst_analytics_mtd_get_semantic_tag(byref(mtd))
    if not text:
        return ""
    try:
        return string_at(text).decode(errors="replace")
    finally:
        glib.g_free(text)


def place_points(
    groups: Mapping[int, Points],
    relations: Iterable[tuple[int, int, int]],
    regions: Mapping[int, Region],
    picture: Box,
) -> list[Entry]:
    """Give groups to the regions that they relate to.

    Args:
        groups, regions: by their numbers.
        relations: tuples of from, to, and the kind of relation.
        picture: x, y, width and height of the visible part of the whole picture.

    Returns:
        The groups that relate to no region, as entries of the frame.
    """
    links: dict[int, int] = {}
    edges: set[tuple[int, int]] = set()
    for one, other, _ in relations:
        for group, owner in ((one, other), (other, one)):
            if group in groups and owner in regions:
                links.setdefault(group, owner)
        edges.add((one, other))
    entries: list[Entry] = []
    for number, points in groups.items():
        region = regions.get(links.get(number, -1))
        left, top = picture[:2]
        box = picture if region is None else (region.x + left, region.y + top, *region.box[2:])
        if not box[2] or not box[3]:
            continue
        result = _result(points, box, edges)
        if region is None:
            entries.append(result)
        else:
            region.metadata.setdefault(KEY, []).append(result)
    return entries


def _result(points: Points, box: Box, edges: set[tuple[int, int]]) -> InferenceResult:
    array = points.places.copy()
    array[:, :2] = (array[:, :2] - box[:2]) / box[2:]
    joined: list[str] = []
    for start, one in zip(points.names, points.members, strict=False):
        for end, other in zip(points.names, points.members, strict=False):
            if (one, other) in edges:
                joined += [start, end]
    return InferenceResult(
        array, format="keypoints", point_names=points.names, point_connections=joined
    )


def points_in(entry: Entry) -> np.ndarray[Any, Any] | None:
    """The key points of a result, as models give them: [points, 2 or 3]; None if it has none."""
    if not isinstance(entry, InferenceResult) or entry.format != "keypoints":
        return None
    if keypoints() is None or entry.tensor is None:
        return None
    try:
        array = entry.array
    except SamebytesError:
        return None
    usable = array.ndim == 2 and array.shape[1] in (2, 3) and 0 < len(array) <= _MOST_POINTS
    return array if usable and array.dtype.kind == "f" and np.isfinite(array).all() else None


def add_points(meta: int, entry: Entry, box: Box, mtd: GstAnalyticsMtd) -> bool:
    """Add a group of key points relative to `box`, in whole pixels."""
    array = points_in(entry)
    if array is None or not isinstance(entry, InferenceResult):
        return False
    places = np.round(array[:, :2].astype(float) * box[2:] + box[:2])
    if not (np.abs(places) < 2**31).all():
        return False
    count = len(array)
    sure = array[:, 2] if array.shape[1] == 3 else np.ones(count)
    names = list(entry.point_names)
    tag = _COCO_TAG if tuple(names) == _COCO else f"keypoints-{count}"
    known = all(name in names[:count] for name in entry.point_connections)
    pairs = [names.index(name) for name in entry.point_connections] if known else []
    return bool(
        keypoints().gst_analytics_relation_meta_add_keypoints_group(
            meta, tag.encode(), GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D,
            2 * count, (c_int * (2 * count))(*places.astype(int).ravel().tolist()),
            count, (c_float * count)(*sure.tolist()), None,
            len(pairs), (c_int * len(pairs))(*pairs), byref(mtd),
        )
    )  # fmt: skip
