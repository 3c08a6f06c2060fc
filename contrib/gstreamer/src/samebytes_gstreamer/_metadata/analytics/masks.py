# SPDX-License-Identifier: Apache-2.0
"""Masks: of one object for its region, and segmentations of several things for the frame."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from ctypes import byref, c_float, c_int, c_size_t, c_uint
from dataclasses import dataclass
from typing import Any

import numpy as np

from samebytes import Region, Tensor, TensorInfo
from samebytes.errors import SamebytesError
from samebytes.metadata import KEY, Entry, InferenceResult

from ..._abi.analytics import (
    GST_SEGMENTATION_TYPE_INSTANCE,
    GST_SEGMENTATION_TYPE_SEMANTIC,
    GstAnalyticsMtd,
)
from ..._abi.gi import GstVideo, pointer_of
from ..._abi.libraries import gst, video
from ..metas import metas_of
from ..segmentation import Segmentation
from .functions import segmentation
from .labels import label_of, quark_of
from .memory import lent, tensor_in

__all__ = ["Mask", "add_mask", "add_segmentation", "is_mask", "place_masks", "read_mask"]

Box = tuple[int, int, int, int]

_MOST_IDS = 2048
_UNDEFINED = -1.0
# The formats that GStreamer allows; numpy's names of ours have the byte order of the machine.
_DTYPES = {
    int(GstVideo.VideoFormat.GRAY8): "uint8",
    int(GstVideo.VideoFormat.GRAY16_LE): "uint16",
}
_FORMATS = {dtype: number for number, dtype in _DTYPES.items()}


@dataclass(slots=True)
class Mask:
    """One GstAnalyticsSegmentationMtd.

    Attributes:
        tensor: the mask, where it lies.
        ids: its numbers.
        box: x, y, width and height of the area that it covers, in pixels of the picture.
    """

    tensor: Tensor
    ids: tuple[int, ...]
    box: Box


def read_mask(mtd: GstAnalyticsMtd, left: int, top: int) -> Mask | None:
    """The mask of a handle.

    Returns:
        The mask; None if it has no GstVideoMeta, is of another format, would reach beyond its
        memory, or has more numbers than are read.
    """
    library = segmentation()
    x, y, width, height = c_int(), c_int(), c_uint(), c_uint()
    count = library.gst_analytics_segmentation_mtd_get_region_count(byref(mtd))
    buffer = library.gst_analytics_segmentation_mtd_get_mask(
        byref(mtd), byref(x), byref(y), byref(width), byref(height)
    )
    if not buffer:
        return None
    try:
        tensor = _tensor_of(buffer) if count <= _MOST_IDS else None
    finally:
        gst.gst_mini_object_unref(buffer)
    if tensor is None:
        return None
    get = library.gst_analytics_segmentation_mtd_get_region_id
    ids = tuple(int(get(byref(mtd), number)) for number in range(count))
    return Mask(tensor, ids, (x.value - left, y.value - top, width.value, height.value))


def _tensor_of(buffer: int) -> Tensor | None:
    meta = metas_of(buffer).video
    dtype = None if meta is None else _DTYPES.get(meta.format)
    if meta is None or dtype is None or not meta.n_planes:
        return None
    element = np.dtype(dtype).itemsize
    pitch = meta.stride[0]
    if not meta.width or not meta.height or pitch < meta.width * element:
        return None
    try:
        info = TensorInfo(dtype, (meta.height, meta.width), (pitch, element))
    except SamebytesError:
        return None
    return tensor_in(buffer, info, meta.offset[0])


def place_masks(
    masks: Mapping[int, Mask],
    relations: Iterable[tuple[int, int, int]],
    regions: Mapping[int, Region],
    classes: Mapping[int, list[int]],
    size: tuple[int, int],
) -> tuple[list[Entry], set[int]]:
    """Give masks of one object to its region.

    Args:
        masks, regions: by their numbers.
        relations: tuples of from, to, and the kind of relation.
        classes: the labels of classifications, as quarks, by their numbers.
        size: width and height of the picture.

    Returns:
        The other masks as entries of the frame, and the numbers of the classifications that have
        their labels.
    """
    near: dict[int, set[int]] = {number: set() for number in masks}
    for one, other, _ in relations:
        if one in near:
            near[one].add(other)
        if other in near:
            near[other].add(one)
    entries: list[Entry] = []
    used: set[int] = set()
    for number, mask in masks.items():
        owners = [regions[n] for n in near[number] if n in regions]
        if len(owners) == 1 and _is_of_one_object(mask, owners[0]):
            result = InferenceResult(mask.tensor, format="mask", layout="HW")
            owners[0].metadata.setdefault(KEY, []).append(result)
            continue
        said = next((n for n in sorted(near[number]) if n in classes), None)
        quarks = [] if said is None else classes[said]
        labels = [label_of(quark) for quark in quarks] if len(quarks) == len(mask.ids) else []
        if said is not None and labels:
            used.add(said)
        x, y, width, height = mask.box
        box = (x / size[0], y / size[1], (x + width) / size[0], (y + height) / size[1])
        entries.append(Segmentation(mask.tensor, mask.ids, labels, box))
    return entries, used


def _is_of_one_object(mask: Mask, region: Region) -> bool:
    """True if it covers the region (to the pixel that scaling rounds) and has one number."""
    close = all(abs(a - b) <= 1 for a, b in zip(mask.box, region.box, strict=True))
    few = len([number for number in mask.ids if number]) <= 1
    return close and few and str(mask.tensor.info.dtype) == "uint8"


def is_mask(entry: Entry) -> bool:
    """True if it is the mask of a region, as models give it."""
    return type(entry) is InferenceResult and entry.format == "mask" and _array(entry) is not None


def _array(entry: InferenceResult) -> np.ndarray[Any, Any] | None:
    """The mask of a region as uint8 in one piece; the part of another one is copied."""
    try:
        array = entry.array
    except SamebytesError:
        return None
    if array.ndim != 2 or not array.size or str(array.dtype) not in ("uint8", "bool"):
        return None
    return np.ascontiguousarray(array).view(np.uint8)


def add_mask(meta: int, entry: InferenceResult, box: Box, mtd: GstAnalyticsMtd) -> bool:
    """Add the mask of an object that lies in `box`. Its bytes are lent."""
    array = _array(entry)
    if array is None or segmentation() is None:
        return False
    return _add(meta, array, GST_SEGMENTATION_TYPE_INSTANCE, (1,), box, mtd)


def add_segmentation(
    meta: int, entry: Segmentation, size: tuple[int, int], origin: tuple[int, int],
    mtd: GstAnalyticsMtd, classes: GstAnalyticsMtd,
) -> bool:  # fmt: skip
    """Add a segmentation, and a classification with its labels if it has any.

    Args:
        meta: the relation meta.
        entry: its bytes are lent.
        size: width and height of the picture.
        origin: the origin of the picture.
        mtd, classes: get the numbers of both; `classes.meta` is None without labels.
    """
    if segmentation() is None or len(entry.ids) > _MOST_IDS:
        return False
    try:
        array = np.ascontiguousarray(entry.mask.host_array())
    except SamebytesError:
        return False
    corners = [round(n * side) for n, side in zip(entry.box, size * 2, strict=True)]
    x, y = corners[0], corners[1]
    box = (x + origin[0], y + origin[1], corners[2] - x, corners[3] - y)
    kind = GST_SEGMENTATION_TYPE_INSTANCE if entry.instances else GST_SEGMENTATION_TYPE_SEMANTIC
    if not _add(meta, array, kind, entry.ids, box, mtd):
        return False
    quarks = [quark_of(label) for label in entry.labels]
    if quarks:
        count = len(quarks)
        segmentation().gst_analytics_relation_meta_add_cls_mtd(
            meta, count, (c_float * count)(*([_UNDEFINED] * count)), (c_uint * count)(*quarks),
            byref(classes),
        )  # fmt: skip
    return True


def _add(
    meta: int, array: np.ndarray[Any, Any], kind: int, ids: Collection[int], box: Box,
    mtd: GstAnalyticsMtd,
) -> bool:  # fmt: skip
    if not all(-(2**31) <= n < 2**31 for n in box) or box[2] < 0 or box[3] < 0:
        return False
    buffer = lent(array)
    rows, columns = array.shape
    # Rows without gaps: segmentationoverlay of 1.28 does not look at the stride.
    video.gst_buffer_add_video_meta_full(
        pointer_of(buffer), 0, _FORMATS[str(array.dtype)], columns, rows, 1,
        (c_size_t * 1)(0), (c_int * 1)(array.strides[0]),
    )  # fmt: skip
    taken = gst.gst_mini_object_ref(pointer_of(buffer))
    added = segmentation().gst_analytics_relation_meta_add_segmentation_mtd(
        meta, taken, kind, len(ids), (c_uint * len(ids))(*ids), *box, byref(mtd)
    )
    if not added:
        gst.gst_mini_object_unref(taken)
    return bool(added)
