# SPDX-License-Identifier: Apache-2.0
"""Results through sources, sinks and native elements, as JSON, and in tables that are full.

Run where analytics_checks.py is.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any

import gi
import numpy as np
import pytest

import samebytes.elements as el
from samebytes import Region, metadata
from samebytes.metadata import Classification, Detection, InferenceResult, ObjectId, to_json
from samebytes_gstreamer import Segmentation
from samebytes_gstreamer._abi.analytics import GstTensor, GstTensorMeta
from samebytes_gstreamer._abi.gi import Gst
from samebytes_gstreamer._abi.libraries import gst, video
from samebytes_gstreamer._metadata.analytics import reading
from samebytes_gstreamer._metadata.analytics.functions import tensor_functions
from samebytes_gstreamer._pipelines.results_of_frames import said_of, with_results

from .analytics_checks import (
    BOX,
    SOURCE,
    add_unknown,
    detect,
    frames_of,
    gray,
    native,
    plain,
    read,
    registered,
    with_tensor,
)

gi.require_version("GstAnalytics", "1.0")
from gi.repository import GLib, GstAnalytics  # noqa: E402  # after its version

PART_OF = GstAnalytics.RelTypes.IS_PART_OF
RELATED = GstAnalytics.RelTypes.RELATE_TO

# What a detection was in gvametaconvert's form before there was GstAnalytics here.
RECORDED = {
    "objects": [{
        "x": 20, "y": 30, "w": 40, "h": 50, "roi_type": "person", "id": 11,
        "detection": {
            "bounding_box": {"x_min": 0.125, "x_max": 0.375, "y_min": 0.25, "y_max": 2 / 3},
            "confidence": 0.9, "label": "person",
        },
        "classification": {"confidence": 0.75, "label": "red"},
    }],
    "resolution": {"width": 160, "height": 120},
}  # fmt: skip


def test_source_and_sink_elements_carry_results() -> None:
    """No argument says so; a native element lies on either side of the program's."""
    seen: list[Any] = []

    def look(frame: Any) -> None:
        seen.append([(r.label, r.box, metadata.find(r, ObjectId)) for r in frame.regions])

    find = registered("sb_an_at_source", detect)

    def add(frame: Any) -> None:
        look(frame)
        frame.regions.append(Region(1, 2, 3, 4, "dog", 0.5))

    adding = el.inplace(takes=el.Image(memory="cpu"))(add)
    ending = registered("sb_an_at_sink", look)
    el.Pipeline(
        el.create("gstreamer.source", f"{SOURCE} ! {find} ! identity"),
        adding(),
        el.create("gstreamer.sink", f"videoconvert ! {ending} ! fakesink"),
    ).run()
    person, dog = ("person", BOX, ObjectId(11)), ("dog", (1, 2, 3, 4), None)
    assert sorted(map(len, seen)) == [1, 1, 2, 2]
    assert all(found in ([person], [person, dog]) for found in seen)


@pytest.mark.parametrize("cut", ["videocrop left=10 top=20", "videoflip method=clockwise",
                                 "videobox left=-10"])  # fmt: skip
def test_masks_and_boxes_are_gone_or_moved_behind_native_elements(cut: str) -> None:
    def find(frame: Any) -> None:
        detect(frame)
        mask = np.ones((BOX[3], BOX[2]), np.uint8)
        metadata.add(frame.regions[0], InferenceResult(mask, format="mask"))
        metadata.add(frame, Segmentation(np.ones((12, 16), np.uint8), [1], box=(0, 0, 0.5, 1)))

    moved = {"videocrop": (10, 10, 40, 50), "videoflip": (39, 20, 50, 40),
             "videobox": (30, 30, 40, 50)}  # fmt: skip
    for frame in frames_of(registered("sb_an_find_mask", find), cut):
        boxes = [region.box for region in frame.regions]
        assert boxes in ([], [moved[cut.partition(" ")[0]]])  # 1.26 drops them, 1.28 moves them


MOVES = hasattr(video.library, "gst_video_meta_transform_matrix_init")


@pytest.mark.parametrize(
    ("part", "stays"),
    [
        ("videocrop left=80", False),
        ("videoflip method=clockwise", False),
        ("videobox left=-10", False),
        ("videoscale ! video/x-raw,width=80,height=30", True),
        ("videoconvert ! video/x-raw,format=RGB", True),
    ],
)
def test_results_of_the_whole_picture_are_not_those_of_a_part(part: str, stays: bool) -> None:
    def find(frame: Any) -> None:
        metadata.add(frame, InferenceResult(np.ones((12, 16), np.uint8), format="mask"))

    for frame in frames_of(registered("sb_an_find_whole", find), part):
        found = metadata.all_of(frame, InferenceResult)
        # 1.28 can move metas, and drops here what it cannot move.
        assert len(found) == (stays and not MOVES)


@pytest.mark.parametrize(
    ("part", "box"),
    [
        ("videoconvert ! video/x-raw,format=RGB", BOX),
        ("videoscale ! video/x-raw,width=80,height=60", (10, 15, 20, 25)),
    ],
)
def test_a_detection_in_both_metas_shows_once_behind_native_elements(part: str, box: Any) -> None:
    """They drop what the old meta says beside the box, its confidence too."""

    def find(frame: Any) -> None:
        detect(frame)
        frame.regions[0].metadata.update(id=7, label_id=3)

    for frame in frames_of(registered("sb_an_find_both", find), part):
        [region] = frame.regions
        assert (region.box, region.confidence, region.metadata["id"]) == (box, 0.9, 7)
        assert metadata.find(region, ObjectId) == ObjectId(11)


def test_a_part_of_a_native_detection_is_related_to_it() -> None:
    buffer, meta = native(("dog", 0, 0, 5, 5, 0.5), ("car", 0, 0, 50, 40, 0.5))
    frame = read(buffer)
    before = said_of(frame)
    parent = frame.regions[1].metadata["id"]
    frame.regions.append(Region(5, 5, 9, 9, "wheel", 0.5, {"parent_id": parent}))
    assert with_results(frame, before) is None
    assert plain(buffer) == (3, 0)
    assert meta.get_relation(2, 1) == PART_OF
    assert [r.metadata["id"] for r in read(buffer).regions] == [0, 1, 2]


def test_what_is_found_of_a_native_detection_leaves_unknown_types() -> None:
    buffer, meta = native(("car", *BOX, 0.5))
    add_unknown(buffer)
    first, last = meta.add_tracking_mtd(5, 77)[1], 77
    meta.set_relation(RELATED, 0, first.id)
    frame = read(buffer)
    before = said_of(frame)
    metadata.add(frame.regions[0], Classification("red", 0.75))
    frame.regions.append(Region(1, 2, 3, 4, "dog", 0.5))
    assert with_results(frame, before) is None
    assert plain(buffer) == (5, 0)
    again = read(buffer)
    assert again.metadata["gstreamer"]["unknown_analytics"] == ["tripwire-mtd"]
    assert [r.label for r in again.regions] == ["car", "dog"]
    entries = list(metadata.entries_of(again.regions[0]))
    assert entries == [ObjectId(5), Classification("red", 0.75)]
    assert meta.get_tracking_mtd(first.id)[1].get_info()[2] == last


def test_tensors_stay_where_a_buffer_is_copied_for_what_is_added() -> None:
    """As behind a tee, whose other branch holds it."""
    buffer = with_tensor(Gst.Buffer.new_wrapped(bytes(12)))
    frame = read(buffer)
    before = said_of(frame)
    frame.regions.append(Region(1, 2, 3, 4, "dog", 0.5))
    gst.gst_mini_object_ref(hash(buffer))
    try:
        other = with_results(frame, before)
    finally:
        gst.gst_mini_object_unref(hash(buffer))
    assert other is not None
    kept, given = (tensor_functions().gst_buffer_get_tensor_meta(b)
                   for b in (hash(buffer), other.pointer))  # fmt: skip
    tensors = [
        GstTensor.from_address(GstTensorMeta.from_address(m).tensors[0]) for m in (kept, given)
    ]
    assert tensors[0].data == tensors[1].data


def test_a_class_without_a_level_is_read() -> None:
    buffer, meta = native(("car", *BOX, 0.5))
    number = meta.add_one_cls_mtd(float("nan"), GLib.quark_from_string("red"))[1].id
    meta.set_relation(RELATED, 0, number)
    [region] = read(buffer).regions
    assert metadata.find(region, Classification) == Classification("red")


def test_json_is_what_it_was() -> None:
    frame = gray()
    detect(frame)
    again = read(frame.map("gstreamer").native)
    for found in (frame, again):
        said = json.loads(to_json(found))
        objects = [dict(item) for item in said["objects"]]
        for item in objects:
            item.pop("region_id", None)  # each buffer gives it a new one
        assert {"objects": objects, "resolution": said["resolution"]} == RECORDED


def test_thousands_of_relations_and_cycles_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of 200 detections are part of all, and each class belongs to each."""
    detections = [("car", n % 100, n % 100, 5, 5, 0.5) for n in range(200)]
    buffer, meta = native(*detections)
    for number in range(20):
        assert meta.add_one_cls_mtd(0.5, GLib.quark_from_string(f"class {number}"))[0]
    for one in range(220):
        for other in range(220):
            meta.set_relation(PART_OF if other < 200 else RELATED, one, other)
    relations = []
    count_relations = reading._relations

    def counted(*arguments: Any) -> Any:
        for relation in count_relations(*arguments):
            relations.append(relation)
            yield relation

    monkeypatch.setattr(reading, "_relations", counted)
    frame = read(buffer)
    assert len(frame.regions) == 200
    assert len(relations) <= reading._MOST_RELATIONS < 220 * 220
    # Whoever walks up from a part has to count the steps.
    parents = [(r.metadata.get("parent_id"), r.metadata["id"]) for r in frame.regions]
    assert all(parent != own for parent, own in parents)
    monkeypatch.undo()
    again = read(frame.map("cpu").map("gstreamer").native)
    assert len(metadata.all_of(again, Detection)) == 200


def test_a_thousand_random_tables_are_read_and_written() -> None:
    """Numbers of all sizes, relations of all kinds, between results of all types."""
    chance = random.Random(32)
    edges = [0, 1, -1, 2**31 - 1, -(2**31), 160, 120]
    began = time.process_time()
    rounds = 0
    while rounds < 1000 and time.process_time() - began < 2:
        buffer, meta = native()
        for _ in range(chance.randrange(12)):
            numbers = [chance.choice(edges) for _ in range(4)]
            match chance.randrange(4):
                case 0:
                    meta.add_od_mtd(chance.randrange(9), *numbers, chance.uniform(-9, 9))
                case 1:
                    meta.add_oriented_od_mtd(0, *numbers, chance.uniform(-99, 99), 0.5)
                case 2:
                    meta.add_one_cls_mtd(float("nan"), chance.randrange(9))
                case 3:
                    meta.add_tracking_mtd(chance.randrange(2**64), chance.randrange(2**64))
        for _ in range(chance.randrange(30)):
            ends = chance.randrange(14), chance.randrange(14)
            if max(ends) < GstAnalytics.relation_get_length(meta):
                meta.set_relation(chance.choice([PART_OF, RELATED]), *ends)
        frame = read(buffer)
        again = read(frame.map("cpu").map("gstreamer").native)
        assert len(again.regions) == len(frame.regions)
        assert len(metadata.all_of(again, Classification)) == len(
            metadata.all_of(frame, Classification)
        )
        rounds += 1
    assert rounds > 10
