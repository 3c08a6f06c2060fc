# SPDX-License-Identifier: Apache-2.0
"""The parts of GStreamer's analytics metadata that came with 1.28 and 1.30.

`dev.py fresh analytics --suite testing` runs this file on Debian's next release. Key points have
run on a libgstanalytics of GStreamer's development branch alone, which no Debian has.
"""

from __future__ import annotations

from ctypes import CDLL, byref, c_int, c_size_t, c_uint, c_void_p
from typing import Any

import numpy as np
import pytest

from samebytes import Region, metadata
from samebytes.metadata import InferenceResult, ObjectId
from samebytes_gstreamer import Segmentation
from samebytes_gstreamer._abi.analytics import GstAnalyticsMtd
from samebytes_gstreamer._abi.gi import Gst
from samebytes_gstreamer._metadata.analytics import read_analytics
from samebytes_gstreamer._metadata.analytics.functions import analytics, keypoints
from samebytes_gstreamer._metadata.analytics.points import _COCO

from .analytics_checks import BOX, detect, frames_of, gray, infer, native, plain, read, registered


def needs(element: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        Gst.ElementFactory.find(element) is None,
        reason=f"missing package gstreamer1.0-plugins-bad of 1.28, which has {element}",
    )


needs_points = pytest.mark.skipif(
    keypoints() is None, reason="missing package gstreamer1.0-plugins-bad of 1.30"
)


@needs("ioutracker")
def test_a_native_tracker_numbers_our_detections_and_another_element_draws_them() -> None:
    def find(frame: Any) -> None:
        frame.regions.append(Region(*BOX, "person", 0.9))

    frames = frames_of(
        registered("sb_an_find", find), "videoconvert", "ioutracker", "objectdetectionoverlay",
        "video/x-raw,format=RGB",
    )  # fmt: skip
    assert len(frames) == 2
    for frame in frames:
        [region] = frame.regions
        assert (region.box, region.label) == (BOX, "person")
        assert metadata.find(region, ObjectId) == ObjectId(0)
        picture = np.asarray(frame.map("cpu").planes[0].host_array()).reshape(120, 160, 3)
        x, y, width, _ = BOX
        assert (picture[y, x + 4 : x + width - 4].max(-1) > 200).all()


@needs("ssdtensordec")
def test_a_tensor_decoder_before_our_element() -> None:
    seen: list[Any] = []
    frames_of(
        registered("sb_an_tensors", infer), "ssdtensordec",
        registered("sb_an_boxes", lambda frame: seen.append([r.box for r in frame.regions])),
    )  # fmt: skip
    assert seen == [[(20, 30, 60, 60)]] * 2


@needs("segmentationoverlay")
def test_a_native_element_draws_our_masks() -> None:
    """Left of the box is the object, right of it is none; the picture is black."""

    def find(frame: Any) -> None:
        mask = np.zeros((BOX[3], BOX[2]), np.uint8)
        mask[:, :21] = 1  # so that the rows are 41 bytes of the picture's, and none is a multiple
        region = Region(*BOX, "person", 0.9)
        metadata.add(region, InferenceResult(mask, format="mask", layout="HW"))
        frame.regions.append(region)
        floor = np.zeros((12, 16), np.uint8)
        floor[-1] = 2
        metadata.add(frame, Segmentation(floor, [0, 2], ["", "floor"]))

    frames = frames_of(
        registered("sb_an_segments", find), "videoconvert", "video/x-raw,format=BGRA",
        "segmentationoverlay",
    )  # fmt: skip
    picture = np.asarray(frames[0].map("cpu").planes[0].host_array()).reshape(120, 160, 4)
    bright = picture[:, :, :3].max(-1)
    x, y, width, height = BOX
    assert (bright[y + 2 : y + height, x : x + 21] > 100).all()
    assert (bright[y + 2 : y + height, x + 22 : x + width] < 50).all()
    assert (bright[111:] > 100).all()
    assert (bright[:y] < 50).all()


@needs("ssdtensordec")
def test_native_elements_of_1_28_move_boxes() -> None:
    frames = frames_of(registered("sb_an_moved", detect), "videocrop left=10 top=20")
    assert [frame.regions[0].box for frame in frames] == [(10, 10, 40, 50)] * 2
    frames = frames_of(registered("sb_an_turned", detect), "videoflip method=clockwise")
    assert [frame.regions[0].box for frame in frames] == [(39, 20, 50, 40)] * 2


POINTS = np.array([[0.25, 0.5, 0.75], [1.5, -0.5, 0.125]], np.float32)


@needs_points
def test_key_points_of_a_region_make_the_way_there_and_back() -> None:
    frame = gray()
    region = Region(*BOX, "person", 0.9)
    metadata.add(region, InferenceResult(POINTS, format="keypoints"))
    frame.regions.append(region)
    buffer = frame.map("gstreamer").native
    assert plain(buffer) == (4, 1)  # a detection, a group, two points; the fractions as before
    meta = analytics().gst_buffer_get_analytics_relation_meta(hash(buffer))
    relation = analytics().gst_analytics_relation_meta_get_relation
    assert (relation(meta, 0, 1), relation(meta, 1, 0)) == (4, 2)
    again = read(buffer)
    assert "unknown_analytics" not in again.metadata["gstreamer"]
    [result] = metadata.all_of(again.regions[0], InferenceResult)
    assert (result.array == POINTS).all()


@needs_points
def test_key_points_of_a_frame_have_names_and_lines() -> None:
    places = np.linspace(0, 1, 34, dtype=np.float32).reshape(17, 2)
    given = InferenceResult(
        places, format="keypoints", point_names=_COCO, point_connections=("nose", "eye_l")
    )
    frame = gray()
    metadata.add(frame, given)
    buffer = frame.map("gstreamer").native
    meta = analytics().gst_buffer_get_analytics_relation_meta(hash(buffer))
    [found] = read_analytics(meta, 0, 0, (160, 120)).entries
    assert isinstance(found, InferenceResult)
    assert (found.array[:, :2] * (160, 120)).round(3).tolist() == (
        np.round(places.astype(float) * (160, 120)).tolist()
    )
    assert (found.array[:, 2] == 1).all()
    assert (found.point_names, found.point_connections) == (_COCO, ("nose", "eye_l"))
    [once] = metadata.all_of(read(buffer), InferenceResult)
    assert (once.array == places).all()


@needs_points
@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3), np.float32),
        np.zeros((600, 3), np.float32),
        np.full((2, 3), np.nan, np.float32),
        np.full((2, 3), 3e38, np.float32),
    ],
)
def test_key_points_that_no_group_can_have_stay_out_of_it(array: Any) -> None:
    frame = gray()
    region = Region(*BOX, "person", 0.9)
    metadata.add(region, InferenceResult(array, format="keypoints"))
    frame.regions.append(region)
    assert plain(frame.map("gstreamer").native)[0] == 1


@needs_points
def test_groups_of_other_things_and_points_anywhere_do_no_harm() -> None:
    library = CDLL("libgstanalytics-1.0.so.0")
    add_group = library.gst_analytics_relation_meta_add_group_mtd
    add_group.argtypes = (c_void_p, c_size_t, c_void_p)
    library.gst_analytics_group_mtd_add_member.argtypes = (c_void_p, c_uint)
    buffer, _ = native(("cat", *BOX, 0.5))
    meta = analytics().gst_buffer_get_analytics_relation_meta(hash(buffer))
    group, most = GstAnalyticsMtd(), 2**31 - 1
    for member in (0, 999):  # a detection, and nothing
        assert add_group(meta, 1, byref(group))
        library.gst_analytics_group_mtd_add_member(byref(group), member)
    assert add_group(meta, 1, byref(group))
    assert keypoints().gst_analytics_relation_meta_add_keypoints_group(
        meta, b"hand", 2, 2, (c_int * 2)(most, -most), 1, None, None, 0, None, group
    )
    frame = read(buffer)
    assert frame.metadata["gstreamer"]["unknown_analytics"] == ["grouping-mtd"]
    [found] = metadata.all_of(frame, InferenceResult)
    assert np.isfinite(found.array).all()
    assert [region.box for region in frame.regions] == [BOX]
