# SPDX-License-Identifier: Apache-2.0
"""Typed entries on buffers: from one registered element to the next, and as others see them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes import Region, metadata
from samebytes.metadata import (
    Classification,
    Detection,
    InferenceResult,
    ModelInfo,
    ObjectId,
)

SOURCE = "videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=64,height=48"
RED = Classification("red", 0.75, 3, "color")
SCORES = np.arange(6, dtype=np.float32).reshape(1, 6)


def registered(name: str, function: Callable[[Any], None]) -> str:
    """A registered element that lets a function see each frame."""

    @el.inplace(takes=el.Image("GRAY8", memory="cpu"))
    def element(frame: Any) -> None:
        function(frame)

    return sbg.register(element, name=name)


def frames_after(*functions: Callable[[Any], None]) -> list[Any]:
    """The frames behind a chain of registered elements."""
    names = [registered(f"sb_results_{n}", each) for n, each in enumerate(functions)]
    with sbg.GStreamerSource(" ! ".join([SOURCE, *names])) as source:
        return list(source)


def buffer_of(frame: Any) -> Any:
    return frame.map("gstreamer").native


def find(holder: Any, kind: type[metadata.Entry]) -> Any:
    """The entry of that class, which is there."""
    found = metadata.find(holder, kind)
    assert found is not None
    return found


def entries_of(holder: Any) -> list[Any]:
    """The entries of a frame or region, of whatever class."""
    return list(metadata.entries_of(holder))


def gray() -> Any:
    return sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")


def detect(frame: Any) -> None:
    found = Detection(0.25, 0.25, 0.5, 0.5, "car", 0.5, label_id=7, id=4, parent_id=2)
    region = metadata.add(frame, found)
    metadata.add(region, RED)
    metadata.add(region, ObjectId(11))
    metadata.add(region, InferenceResult(SCORES, "cars", "prob", "scores", "boxes", "NC"))


def test_a_region_keeps_its_entries_from_element_to_element() -> None:
    seen = []

    def see(frame: Any) -> None:
        found = find(frame, Detection)
        region = found.region
        result = find(region, InferenceResult)
        seen.append(
            (found.label_id, found.id, found.parent_id, find(region, Classification),
             find(region, ObjectId), result.array.tolist(), result.name, result.layout)
        )  # fmt: skip

    frames_after(detect, see)
    assert seen == [(7, 4, 2, RED, ObjectId(11), SCORES.tolist(), "scores", "NC")] * 2
    # Each frame is wrapped by the second element and by the source.
    assert list(sb.stats().by_edge) == ["gstreamer -> data_buffer"]
    assert sb.stats().copied_bytes == 4 * SCORES.nbytes


def test_a_frame_keeps_its_entries_from_element_to_element() -> None:
    result = InferenceResult(
        np.array([[1], [2]], np.int64), "m", "out", layout="TC", point_names=["a", "b"],
        point_connections=["a", "b"],
    )  # fmt: skip
    whole = Classification("day", attribute="time", result=result)

    def add(frame: Any) -> None:
        for entry in (ObjectId(1), whole, ModelInfo("not carried")):
            metadata.add(frame, entry)

    seen: list[Any] = []

    def see(frame: Any) -> None:
        seen.append(entries_of(frame))

    first, _ = frames_after(add, see)
    for entries in (*seen, entries_of(first)):
        number, read = entries
        assert number == ObjectId(1)
        assert (read.label, read.confidence, read.attribute) == ("day", None, "time")
        assert read.result.array.dtype == np.int64
        assert read.result.array.tolist() == [[1], [2]]
        assert (read.result.layer_name, read.result.layout) == ("out", "TC")
        assert read.result.point_connections == ("a", "b")


def test_entries_that_are_added_to_a_known_region() -> None:
    def more(frame: Any) -> None:
        metadata.add(frame.regions[0], Classification("big", attribute="size"))

    first, _ = frames_after(detect, more)
    (region,) = first.regions
    assert [c.label for c in metadata.all_of(region, Classification)] == ["red", "big"]
    assert find(region, InferenceResult).array.tolist() == SCORES.tolist()


def test_entries_that_are_changed_and_removed() -> None:
    def both(frame: Any) -> None:
        metadata.add(frame, RED)
        metadata.add(frame, ObjectId(3))
        detect(frame)

    def less(frame: Any) -> None:
        metadata.remove(frame, find(frame, Classification))
        region = frame.regions[0]
        metadata.remove(region, find(region, ObjectId))
        metadata.remove(region, find(region, InferenceResult))
        metadata.change(frame, find(frame, Detection), label_id=None, confidence=0.25)

    first, _ = frames_after(both, less)
    assert entries_of(first) == [ObjectId(3)]
    found = find(first, Detection)
    assert (found.label_id, found.confidence) == (None, 0.25)
    assert entries_of(found.region) == [RED]


def test_a_frame_that_is_kept_and_given_later_has_what_was_added_meanwhile() -> None:
    class Later(el.Transform):
        takes = el.Image("GRAY8", memory="gstreamer", access="r")

        def open(self, context: Any) -> None:
            self.kept: list[Any] = []

        def process(self, frame: Any) -> Any:
            self.kept.append(frame)
            if len(self.kept) == 1:
                return []
            for number, kept in enumerate(self.kept):
                metadata.add(kept, ObjectId(number))
            given, self.kept = self.kept, []
            return given

        def close(self) -> None:
            self.kept.clear()

    name = sbg.register(Later, name="sb_results_later")
    with sbg.GStreamerSource(f"{SOURCE} ! {name}") as source:
        assert [entries_of(frame) for frame in source] == [[ObjectId(0)], [ObjectId(1)]]


def changed_between(change: Callable[[Any], None]) -> list[Any]:
    """The results behind a sink of frames that a program changed."""
    seen: list[Any] = []

    def look(frame: Any) -> None:
        seen.append([(region.label, entries_of(region)) for region in frame.regions])

    behind = registered("sb_results_behind", look)
    before = registered("sb_results_before", detect)
    with (
        sbg.GStreamerSource(f"{SOURCE} ! {before}") as source,
        sbg.GStreamerSink(f"{behind} ! fakesink") as sink,
        sbg.GStreamerSink(f"{behind} ! fakesink") as second,
    ):
        for frame in source:
            change(frame)
            sink.write(frame)
            second.write(frame)
    return seen


def test_what_a_program_adds_to_frames_of_a_source_goes_into_its_sinks() -> None:
    def add(frame: Any) -> None:
        frame.regions.append(Region(1, 2, 3, 4, "dog", 0.5))

    seen = changed_between(add)
    assert [[label for label, _ in regions] for regions in seen] == [["car", "dog"]] * 4
    assert all(len(entries) == 3 for ((_, entries), _) in seen)


def test_what_a_program_takes_away_is_gone_in_its_sinks() -> None:
    def change(frame: Any) -> None:
        frame.regions[0].label = "bus"
        metadata.remove(frame.regions[0], find(frame.regions[0], ObjectId))

    seen = changed_between(change)
    assert [[label for label, _ in regions] for regions in seen] == [["bus"]] * 4
    assert all(RED in entries and len(entries) == 2 for ((_, entries),) in seen)


def test_entries_behind_a_tee_stay_in_their_branch() -> None:
    name = registered("sb_results_tee", lambda frame: metadata.add(frame, ObjectId(1)))
    text = f"{SOURCE} ! tee name=t t. ! queue ! {name} ! fakesink async=false t. ! queue ! appsink"
    with sbg.GStreamerSource(text) as source:
        assert [entries_of(frame) for frame in source] == [[], []]
    assert sb.stats().copies == 0


def test_entries_pass_elements_of_gstreamer() -> None:
    name = registered("sb_results_pass", lambda frame: metadata.add(frame, ObjectId(1)))
    with sbg.GStreamerSource(
        f"{SOURCE} ! {name} ! queue ! videoflip method=1 ! identity"
    ) as source:
        assert [entries_of(frame) for frame in source] == [[ObjectId(1)]] * 2


def test_structures_have_the_names_of_dl_streamer() -> None:
    frame = gray()
    detect(frame)
    frame.regions[0].metadata["id"] = 5
    buffer = buffer_of(frame)
    roi = GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 5)
    detection = roi.get_param("detection")
    assert detection.get_int("label_id") == (True, 7)
    assert detection.get_double("confidence") == (True, 0.5)
    assert roi.get_param("object_id").get_int("id") == (True, 11)
    color = roi.get_param("classification")
    assert color.get_string("label") == "red"
    assert color.get_string("attribute_name") == "color"
    assert color.get_double("confidence") == (True, 0.75)
    tensor = roi.get_param("tensor")
    assert tensor.get_int("precision") == (True, 10)
    assert tensor.get_int("layout") == (True, 193)
    assert tensor.get_string("model_name") == "cars"
    assert tensor.get_value("data_buffer").get_data_as_bytes().get_data() == SCORES.tobytes()


def test_reading_a_tensor_is_a_copy_that_counts() -> None:
    frame = gray()
    frame.regions.append(Region(1, 2, 3, 4))
    frame.regions[0].metadata[metadata.KEY] = [InferenceResult(SCORES)]
    sb.reset_stats()
    buffer = buffer_of(frame)
    assert sb.stats().by_edge.get("gstreamer -> data_buffer") is None, "writing lends"
    assert find(sb.frame(buffer).regions[0], InferenceResult).array.tolist() == SCORES.tolist()
    counted = sb.stats().by_edge["gstreamer -> data_buffer"]
    assert (counted.copies, counted.nbytes) == (1, SCORES.nbytes)


def test_structures_of_others_are_read_and_kept() -> None:
    frame = gray()
    buffer = buffer_of(frame)
    roi = GstVideo.buffer_add_video_region_of_interest_meta(buffer, "car", 1, 2, 3, 4)
    for text in (
        "prob, label=(string)van, label_id=(int)2, model_name=(string)m, confidence=(double)0.5;",
        "object_id, id=(int)9;",
        "note, confidence=(float)0.125, size=(int)3;",
        "object_id, id=(int)-9;",
        "classification, label=(int)3;",
    ):
        roi.add_param(Gst.Structure.new_from_string(text))
    (region,) = sb.frame(buffer).regions
    assert region.confidence == 0.125  # that of the car, not of its class
    van, number = entries_of(region)
    assert (van.label, van.label_id, van.result.name, van.result.model_name) == (
        "van", 2, "prob", "m",
    )  # fmt: skip
    assert number == ObjectId(9)

    copied = gray()
    copied.regions.append(region)
    (again,) = sb.frame(buffer_of(copied)).regions
    assert again.metadata["params"] == region.metadata["params"]
    assert entries_of(again) == [van, number]
    region.metadata[metadata.KEY].remove(van)
    region.confidence = 1.0
    (again,) = sb.frame(buffer_of(copied)).regions
    assert [p["name"] for p in again.metadata["params"]] == [
        "object_id", "note", "object_id", "classification", "detection",
    ]  # fmt: skip
    assert again.confidence == 1.0


def test_the_bytes_of_a_tensor_are_lent() -> None:
    scores = SCORES.copy()
    frame = gray()
    metadata.add(frame, InferenceResult(scores))
    buffer = buffer_of(frame)
    scores[...] = 8
    (read,) = entries_of(sb.frame(buffer))
    assert read.array.tolist() == [[8] * 6]
    # Once nobody lends them, they are the reader's own.
    del frame, buffer
    gc.collect()
    assert read.array.tolist() == [[8] * 6]


@pytest.mark.parametrize(
    "array", [np.zeros((4, 4), np.float32)[:, ::2], np.zeros(3, np.complex64), np.zeros((0, 3))]
)
def test_tensors_without_one_piece_of_numbers_leave_their_names(array: Any) -> None:
    frame = gray()
    metadata.add(frame, InferenceResult(array, "m"))
    metadata.add(frame, InferenceResult())
    first, second = entries_of(sb.frame(buffer_of(frame)))
    assert (first.tensor, first.model_name) == (None, "m")
    assert second == InferenceResult()


@pytest.mark.parametrize(
    "odd",
    [
        {"dims": [2]},
        {"dims": [-1, -4]},
        {"dims": "4"},
        {"dims": [1] * 70 + [4]},
        {"precision": 12},
        {"precision": "FP32"},
        {"data_buffer": "text"},
        {"data_buffer": b""},
    ],
)
def test_tensors_that_cannot_be_are_not_believed(odd: dict[str, Any]) -> None:
    fields = {"name": "t", "dims": [4], "precision": 40, "data_buffer": b"1234"}
    frame = gray()
    frame.regions.append(Region(0, 0, 1, 1, metadata={"params": [{**fields, **odd}]}))
    (region,) = sb.frame(buffer_of(frame)).regions
    assert [e.tensor for e in metadata.all_of(region, InferenceResult)] in ([], [None])
