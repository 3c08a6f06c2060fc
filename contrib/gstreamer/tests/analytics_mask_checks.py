# SPDX-License-Identifier: Apache-2.0
"""Masks between registered elements and GStreamer's own, from 1.26 on.

Run where analytics_checks.py is.
"""

from __future__ import annotations

import gc
from ctypes import addressof
from typing import Any

import gi
import numpy as np
import pytest

import samebytes as sb
from samebytes import Region, metadata
from samebytes.metadata import Classification, InferenceResult
from samebytes_gstreamer import Segmentation
from samebytes_gstreamer._abi.gi import GstVideo
from samebytes_gstreamer._abi.gstreamer import GstMemory
from samebytes_gstreamer._abi.libraries import gst
from samebytes_gstreamer._metadata.analytics.memory import lent
from samebytes_gstreamer._metadata.analytics.reading import MOST_RESULTS
from samebytes_gstreamer._metadata.metas import metas_of

from .analytics_checks import (
    BOX,
    buffer_with,
    frames_of,
    gray,
    native,
    plain,
    read,
    registered,
)

gi.require_version("GstAnalytics", "1.0")
from gi.repository import GstAnalytics  # noqa: E402  # after its version

INSTANCE = GstAnalytics.SegmentationType.INSTANCE
RELATED = GstAnalytics.RelTypes.RELATE_TO
GRAY8, GRAY16 = GstVideo.VideoFormat.GRAY8, GstVideo.VideoFormat.GRAY16_LE
MOST = 2**31 - 1


def ramp(box: tuple[int, ...] = BOX) -> np.ndarray[Any, Any]:
    """A mask of a box, of 0 and 1."""
    width, height = box[2:]
    thirds = np.arange(width * height).reshape(height, width) % 3 == 0
    return np.asarray(thirds, np.uint8)


def with_mask(frame: Any) -> None:
    region = Region(*BOX, "person", 0.9)
    metadata.add(region, InferenceResult(ramp(), format="mask", layout="HW"))
    frame.regions.append(region)


def mask_buffer(array: np.ndarray[Any, Any], kind: Any = GRAY8, pitch: int | None = None) -> Any:
    """A mask as native elements have it, with its GstVideoMeta."""
    rows, columns = array.shape
    buffer = lent(array)
    pitch = array.strides[0] if pitch is None else pitch
    GstVideo.buffer_add_video_meta_full(
        buffer, 0, kind, columns, rows, 1, [0, 0, 0, 0], [pitch, 0, 0, 0]
    )
    return buffer


def masks_of(frame: Any) -> list[Any]:
    return [
        result
        for region in frame.regions
        for result in metadata.all_of(region, InferenceResult)
        if result.format == "mask"
    ]


def native_mask(
    mask: Any, ids: list[int], box: tuple[int, ...] = BOX, *, related: bool = True
) -> Any:
    """A buffer with a detection and a mask, which yolosegv8tensordec relates like this."""
    buffer, meta = native(("cat", *BOX, 0.5))
    assert meta.add_segmentation_mtd(mask, INSTANCE, ids, *box)[0]
    if related:
        meta.set_relation(RELATED, 0, 1)
        meta.set_relation(RELATED, 1, 0)
    return buffer


def test_the_mask_of_a_region_makes_the_way_there_and_back() -> None:
    frame = gray()
    with_mask(frame)
    buffer = frame.map("gstreamer").native
    assert plain(buffer) == (2, 0)
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    known, mtd = meta.get_segmentation_mtd(1)
    mask, *box = mtd.get_mask()
    assert (known, tuple(box), mtd.get_region_count(), mtd.get_region_id(0)) == (True, BOX, 1, 1)
    video = GstVideo.buffer_get_video_meta(mask)
    assert (video.width, video.height, video.stride[0]) == (BOX[2], BOX[3], BOX[2])
    [result] = masks_of(read(buffer))
    assert (result.format, result.layout) == ("mask", "HW")
    assert (result.array == ramp()).all()


def test_masks_lie_on_the_same_memory_both_ways() -> None:
    frame, ours, theirs = gray(), ramp(), ramp()
    frame.regions.append(Region(*BOX, "person", 0.9))
    metadata.add(frame.regions[0], InferenceResult(ours, format="mask"))
    sb.reset_stats()
    for array, buffer in (
        (ours, frame.map("gstreamer").native),
        (theirs, native_mask(mask_buffer(theirs), [0, 1])),
    ):
        [result] = masks_of(read(buffer))
        del buffer
        gc.collect()
        array[5, 7] = 99
        assert result.array[5, 7] == 99
    assert not sb.stats().copies


def test_the_mask_of_a_cut_region_is_written() -> None:
    frame = gray()
    with_mask(frame)
    part = frame.crop(30, 40, 100, 60)
    again = read(part.map("gstreamer").native)
    assert again.regions[0].box == (0, 0, 30, 40)
    [result] = masks_of(again)
    assert (result.array == ramp()[10:, 10:]).all()


def test_masks_of_another_size_and_number_are_of_the_region_too() -> None:
    """yolosegv8tensordec gives masks of the model's size, with the number of the object."""
    small = ramp((0, 0, 10, 12)) * 7
    [result] = masks_of(read(native_mask(mask_buffer(small), [0, 7])))
    assert (result.array == small).all()


def test_masks_follow_a_native_scaler() -> None:
    frames = frames_of(
        registered("sb_an_mask", with_mask), "videoscale", "video/x-raw,width=80,height=60"
    )
    for frame in frames:
        assert frame.regions[0].box == (10, 15, 20, 25)
        [result] = masks_of(frame)
        assert (result.array == ramp()).all()


def test_a_segmentation_has_numbers_and_labels() -> None:
    picture = np.zeros((30, 40), np.uint16)
    picture[5:9] = 1200
    labels = ["background", "leaf", "berry"]
    given = Segmentation(picture, [0, 12, 1200], labels, (0.25, 0.5, 1.0, 1.0))
    frame = gray()
    metadata.add(frame, given)
    buffer = frame.map("gstreamer").native
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    assert plain(buffer) == (2, 0)
    assert meta.get_relation(0, 1) == GstAnalytics.RelTypes.N_TO_N
    _, *box = meta.get_segmentation_mtd(0)[1].get_mask()
    assert tuple(box) == (40, 60, 120, 60)
    again = read(buffer)
    [found] = metadata.all_of(again, Segmentation)
    assert (found.ids, found.labels, found.box) == (given.ids, given.labels, given.box)
    picture[7, 7] = 12
    assert found.mask.host_array()[7, 7] == 12
    assert metadata.all_of(again, Classification) == []
    # It speaks of the whole picture, so a part does not have it; at another size it is the same.
    part = metadata.meta_of_part(again, 0, 0, 80, 60)
    assert metadata.all_of(part, Segmentation) == []
    scaled = metadata.meta_of_warped(again, 80, 60)
    assert metadata.all_of(scaled, Segmentation) == [found]


def test_a_mask_that_is_of_no_single_region_is_a_segmentation() -> None:
    whole = np.zeros((120, 160), np.uint8)
    for buffer in (
        native_mask(mask_buffer(whole), [0, 1], (0, 0, 160, 120)),
        native_mask(mask_buffer(ramp()), [1], related=False),
        native_mask(mask_buffer(ramp()), [1, 2]),
    ):
        frame = read(buffer)
        assert masks_of(frame) == []
        assert len(metadata.all_of(frame, Segmentation)) == 1


def test_an_element_that_adds_one_has_it_on_the_buffer() -> None:
    def segment(frame: Any) -> None:
        metadata.add(frame, Segmentation(np.ones((12, 16), np.uint8), [1], ["floor"]))

    frames = frames_of(registered("sb_an_segment", segment), "queue")
    assert [len(metadata.all_of(frame, Segmentation)) for frame in frames] == [1, 1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda video, memory: setattr(video, "height", 51),
        lambda video, memory: setattr(video, "width", 2**32 - 1),
        lambda video, memory: setattr(video, "width", 0),
        lambda video, memory: video.stride.__setitem__(0, 39),
        lambda video, memory: video.stride.__setitem__(0, -40),
        lambda video, memory: video.stride.__setitem__(0, MOST),
        lambda video, memory: video.offset.__setitem__(0, 1),
        lambda video, memory: video.offset.__setitem__(0, 2**64 - 1),
        lambda video, memory: setattr(video, "n_planes", 0),
        lambda video, memory: setattr(video, "format", int(GRAY16)),
        lambda video, memory: setattr(memory, "size", 1999),
    ],
)
def test_a_mask_whose_size_lies_is_left_out_and_named(spoil: Any) -> None:
    mask = mask_buffer(ramp())
    buffer = native_mask(mask, [1])
    memory = GstMemory.from_address(gst.gst_buffer_peek_memory(hash(mask), 0))
    before = memory.size
    spoil(metas_of(hash(mask)).video, memory)
    frame = read(buffer)
    memory.size = before
    assert (masks_of(frame), metadata.all_of(frame, Segmentation)) == ([], [])
    assert frame.metadata["gstreamer"]["unknown_analytics"] == ["segmentation"]
    assert [region.box for region in frame.regions] == [BOX]


def test_a_mask_without_a_video_meta_is_left_out_and_named() -> None:
    mask = mask_buffer(ramp())
    buffer = native_mask(mask, [1])
    gst.gst_mini_object_unref(hash(mask))  # one holder is left, who may change it
    meta = metas_of(hash(mask)).video
    assert meta is not None
    removed = gst.gst_buffer_remove_meta(hash(mask), addressof(meta))
    gst.gst_mini_object_ref(hash(mask))
    assert removed
    frame = read(buffer)
    assert masks_of(frame) == []
    assert frame.metadata["gstreamer"]["unknown_analytics"] == ["segmentation"]
    assert plain(frame.map("gstreamer").native) == (2, 0)  # it stays on the buffer


@pytest.mark.parametrize("box", [(MOST, MOST, 2**32 - 1, 2**32 - 1), (-5, -MOST, 0, 0)])
def test_a_mask_may_say_that_it_lies_anywhere(box: tuple[int, ...]) -> None:
    frame = read(native_mask(mask_buffer(ramp()), [1], box))
    [found] = metadata.all_of(frame, Segmentation)
    assert found.mask.info.shape == (50, 40)
    read(frame.map("cpu").map("gstreamer").native)


def test_more_numbers_than_are_read_leave_a_mask_out() -> None:
    frame = read(native_mask(mask_buffer(ramp()), list(range(MOST_RESULTS + 1))))
    assert frame.metadata["gstreamer"]["unknown_analytics"] == ["segmentation"]


def test_masks_that_cannot_be_written_so_stay_in_old_metas() -> None:
    region = Region(*BOX, "person", 0.9)
    metadata.add(region, InferenceResult(ramp(), "yolo", format="mask", layout="HW"))
    buffer = buffer_with(region)
    assert plain(buffer) == (2, 1)
    [result] = masks_of(read(buffer))
    assert result.model_name == "yolo"
