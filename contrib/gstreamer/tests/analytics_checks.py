# SPDX-License-Identifier: Apache-2.0
"""Results between registered elements and GStreamer's own, from 1.26 on.

Where the machine has an older GStreamer, `dev.py fresh analytics` runs this file on Debian 13.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from ctypes import CDLL, Structure, byref, c_char_p, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import gi
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes import Region, metadata
from samebytes.metadata import Classification, Detection, InferenceResult, ObjectId
from samebytes_gstreamer._abi.analytics import GstAnalyticsMtd, GstTensor, GstTensorMeta
from samebytes_gstreamer._abi.gi import Gst, GstVideo
from samebytes_gstreamer._abi.gstreamer import GstMemory
from samebytes_gstreamer._abi.libraries import glib, gst
from samebytes_gstreamer._metadata.analytics import labels
from samebytes_gstreamer._metadata.analytics.functions import analytics, tensor_functions
from samebytes_gstreamer._metadata.analytics.reading import MOST_RESULTS

gi.require_version("GstAnalytics", "1.0")
from gi.repository import GLib, GstAnalytics  # noqa: E402  # after its version

PAGE = Path(__file__).parents[3] / "docs/how-to/replace-gvapython.md"
BOX = (20, 30, 40, 50)
SOURCE = "videotestsrc pattern=black num-buffers=2 ! video/x-raw,format=GRAY8,width=160,height=120"


def registered(name: str, function: Callable[[Any], None]) -> str:
    """A registered element that lets a function see each frame."""

    @el.inplace(takes=el.Image(memory="cpu"))
    def element(frame: Any) -> None:
        function(frame)

    return sbg.register(element, name=name)


def frames_of(*parts: str) -> list[Any]:
    with sbg.GStreamerSource(" ! ".join([SOURCE, *parts])) as source:
        return list(source)


def gray() -> Any:
    return sb.frame(np.zeros((120, 160), np.uint8), format="GRAY8")


def buffer_with(*regions: Region) -> Any:
    frame = gray()
    frame.regions.extend(regions)
    return frame.map("gstreamer").native


def plain(buffer: Any) -> tuple[int, int]:
    """Return the number of results of GstAnalytics, and that of old metas."""
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    new = 0 if meta is None else GstAnalytics.relation_get_length(meta)
    api = GstVideo.video_region_of_interest_meta_api_get_type()
    return new, int(buffer.get_n_meta(api))


def resident() -> int:
    """Memory of this process, in KiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def read(buffer: Any) -> Any:
    return sb.frame(buffer)


def native(*detections: tuple[Any, ...]) -> tuple[Any, Any]:
    """A buffer with detections as GStreamer's elements write them, and its meta."""
    buffer = gray().map("gstreamer").native
    meta = GstAnalytics.buffer_add_analytics_relation_meta(buffer)
    for label, *values in detections:
        assert meta.add_od_mtd(GLib.quark_from_string(label), *values)[0]
    return buffer, meta


def detect(frame: Any) -> None:
    region = Region(*BOX, "person", 0.9)
    metadata.add(region, Classification("red", 0.75))
    metadata.add(region, ObjectId(11))
    frame.regions.append(region)


def test_what_both_sides_know_makes_the_way_there_and_back() -> None:
    frame = gray()
    detect(frame)
    metadata.add(frame, Classification("indoor", 0.25))
    buffer = frame.map("gstreamer").native
    assert plain(buffer) == (4, 0)
    again = read(buffer)
    [region] = again.regions
    assert (region.box, region.label, region.confidence) == (BOX, "person", 0.9)
    assert metadata.find(region, Classification) == Classification("red", 0.75)
    assert metadata.find(region, ObjectId) == ObjectId(11)
    assert metadata.all_of(again, Classification) == [Classification("indoor", 0.25)]


def test_what_only_old_metas_can_say_is_not_lost() -> None:
    region = Region(*BOX, "person", 0.9, {"label_id": 3, "id": 9, "parent_id": 2})
    metadata.add(region, Classification("red", 0.5, 4, "color"))
    metadata.add(region, InferenceResult(np.arange(3, dtype=np.float32), "cats"))
    buffer = buffer_with(region)
    [found] = read(buffer).regions
    assert {key: found.metadata[key] for key in ("label_id", "id", "parent_id")} == {
        "label_id": 3, "id": 9, "parent_id": 2,
    }  # fmt: skip
    entries = list(metadata.entries_of(found))
    assert entries[0] == Classification("red", 0.5, 4, "color")
    assert len(entries) == 2


@pytest.mark.parametrize(
    ("way", "there"), [("analytics", (1, 0)), ("regions", (0, 1)), ("both", (1, 1))]
)
def test_the_program_chooses_the_metas(way: Any, there: tuple[int, int]) -> None:
    sbg.write_regions_as(way)
    try:
        buffer = buffer_with(Region(*BOX, "person", 0.5))
    finally:
        sbg.write_regions_as("analytics")
    assert plain(buffer) == there
    assert [region.box for region in read(buffer).regions] == [BOX]


def test_relations_say_who_is_whose_part() -> None:
    buffer, meta = native(("car", 0, 0, 50, 40, 0.5), ("wheel", 5, 30, 8, 8, 0.5))
    meta.set_relation(GstAnalytics.RelTypes.IS_PART_OF, 1, 0)
    car, wheel = read(buffer).regions
    assert "parent_id" not in car.metadata
    assert wheel.metadata["parent_id"] == car.metadata["id"]
    again = buffer_with(car, wheel)
    assert plain(again) == (2, 0)
    assert [r.metadata for r in read(again).regions] == [car.metadata, wheel.metadata]


@pytest.mark.parametrize("given", [(10, 20, 30, 8, 0.5), (10.2, 19.8, 30.4, 7.6, 0.5)])
def test_turned_boxes_stay_turned(given: tuple[float, ...]) -> None:
    """On a buffer they are of whole pixels."""
    box = (10, 20, 30, 8, 0.5)
    region = Region(10, 15, 30, 18, "ship", 0.5, {"oriented_box": given})
    buffer = buffer_with(region)
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    assert meta.get_od_mtd(0)[1].get_oriented_location() == (True, *box, 0.5)
    [found] = read(buffer).regions
    assert found.metadata["oriented_box"] == box
    assert found.box == meta.get_od_mtd(0)[1].get_location()[1:5]


def test_each_old_meta_is_one_new_detection_at_most() -> None:
    buffer, _ = native(("car", *BOX, 0.5), ("car", *BOX, 0.5))
    GstVideo.buffer_add_video_region_of_interest_meta(buffer, "car", 21, 30, 40, 50)
    structure = Gst.Structure.from_string("detection,confidence=(double)0.5;")[0]
    api = GstVideo.video_region_of_interest_meta_api_get_type()
    GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 0).add_param(structure)
    assert buffer.get_n_meta(api) == 1
    assert len(read(buffer).regions) == 2


class Foreign(Structure):
    """GstAnalyticsMtdImpl, of a type that another library has registered."""

    _fields_ = [("name", c_char_p), ("functions", c_void_p * 24)]


FOREIGN = Foreign(b"tripwire-mtd")


def add_unknown(buffer: Any) -> None:
    add = CDLL("libgstanalytics-1.0.so.0").gst_analytics_relation_meta_add_mtd
    add.restype, add.argtypes = c_void_p, (c_void_p, c_void_p, c_size_t, c_void_p)
    meta = analytics().gst_buffer_get_analytics_relation_meta(hash(buffer))
    assert add(meta, byref(FOREIGN), 16, byref(GstAnalyticsMtd()))


def test_unknown_types_are_named_and_passed_on() -> None:
    buffer, _ = native(("car", *BOX, 0.5))
    add_unknown(buffer)
    frame = read(buffer)
    assert frame.metadata["gstreamer"]["unknown_analytics"] == ["tripwire-mtd"]
    assert plain(frame.map("gstreamer").native) == (2, 0)
    seen: list[Any] = []

    def look(frame: Any) -> None:
        frame.regions.append(Region(1, 2, 3, 4, "dog", 0.5))
        seen.append(frame.metadata["gstreamer"]["unknown_analytics"])

    line = f"{registered('sb_an_past', look)} ! {registered('sb_an_further', look)} ! fakesink"
    with sbg.GStreamerSink(line) as sink:
        sink.write(frame)
    assert seen == [["tripwire-mtd"]] * 2


def test_a_native_element_draws_what_ours_found() -> None:
    frames = frames_of(
        registered("sb_an_detect", detect), "videoconvert", "objectdetectionoverlay",
        "video/x-raw,format=RGB",
    )  # fmt: skip
    picture = np.asarray(frames[0].map("cpu").planes[0].host_array()).reshape(120, 160, 3)
    x, y, width, height = BOX
    bright = picture.max(-1)  # 1.26 draws in white, 1.28 in a colour for each label
    for row in (y, y + height - 1):
        assert (bright[row, x + 4 : x + width - 4] > 200).all()
    for column in (x, x + width - 1):
        assert (bright[y + 4 : y + height - 4, column] > 200).all()
    assert (bright[y + 20 : y + 28, x + 4 : x + width - 4] < 50).all()  # below it is text, on 1.28


@pytest.mark.parametrize(
    ("native_part", "box"),
    [
        ("videoscale ! video/x-raw,width=80,height=60", (10, 15, 20, 25)),
        ("identity", BOX),
        ("queue", BOX),
        ("tee", BOX),
    ],
)
def test_the_next_of_ours_sees_boxes_where_native_elements_moved_them(
    native_part: str, box: tuple[int, ...]
) -> None:
    seen: list[Any] = []
    frames_of(
        registered("sb_an_first", detect), native_part,
        registered("sb_an_second", lambda frame: seen.append(list(frame.regions))),
    )  # fmt: skip
    assert [[region.box for region in regions] for regions in seen] == [[box]] * 2
    assert all(metadata.find(r[0], ObjectId) == ObjectId(11) for r in seen)


def test_no_box_keeps_old_coordinates_behind_a_crop() -> None:
    seen: list[Any] = []
    frames_of(
        registered("sb_an_uncut", detect), "videocrop left=10 top=20",
        registered("sb_an_cut", lambda frame: seen.append([r.box for r in frame.regions])),
    )  # fmt: skip
    moved = (BOX[0] - 10, BOX[1] - 20, *BOX[2:])
    assert seen in ([[], []], [[moved], [moved]])  # 1.26 drops them, 1.28 moves them


def test_the_second_of_ours_changes_what_the_first_said() -> None:
    def change(frame: Any) -> None:
        frame.regions[0].label = "bus"
        del frame.regions[0].metadata[metadata.KEY]
        frame.regions.append(Region(1, 2, 3, 4, "dog", 0.5))

    frames = frames_of(registered("sb_an_one", detect), registered("sb_an_two", change))
    for frame in frames:
        assert [(r.label, r.box) for r in frame.regions] == [("bus", BOX), ("dog", (1, 2, 3, 4))]
        assert metadata.find(frame.regions[0], ObjectId) is None


def test_what_others_wrote_wrong_is_read_without_harm() -> None:
    most = 2**31 - 1
    buffer, meta = native(
        ("out", -5, 500, 10, 10, 0.5), ("huge", most, most, most, most, 2.5),
        ("none", 0, 0, -4, 5, 0.5),
    )  # fmt: skip
    for one, other in ((0, 0), (0, 1), (1, 0)):
        meta.set_relation(GstAnalytics.RelTypes.IS_PART_OF, one, other)
    frame = read(buffer)
    assert [r.box for r in frame.regions] == [(-5, 500, 10, 10), (most,) * 4]
    assert len(metadata.all_of(frame, Detection)) == 2
    assert [r.box for r in read(frame.map("cpu").map("gstreamer").native).regions]


def test_labels_are_bytes() -> None:
    library, buffer = analytics(), gray().map("gstreamer").native
    meta = library.gst_buffer_add_analytics_relation_meta(hash(buffer))
    quark = glib.g_quark_from_string(b"caf\xe9")
    mtd = GstAnalyticsMtd()
    library.gst_analytics_relation_meta_add_od_mtd(meta, quark, *BOX, 0.5, byref(mtd))
    [region] = read(buffer).regions
    assert labels.bytes_of(region.label) == b"caf\xe9"
    again = read(buffer_with(region))
    assert labels.bytes_of(again.regions[0].label) == b"caf\xe9"
    assert read(buffer_with(Region(*BOX, "a\0b", 0.5))).regions[0].label == "a"


def test_thousands_of_results_are_bounded() -> None:
    many = [Region(n % 160, n // 160 * 4, 1, 1, "dot", n / 4096) for n in range(MOST_RESULTS + 10)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        buffer = buffer_with(*many)
    assert plain(buffer) == (MOST_RESULTS, 10)
    assert len(read(buffer).regions) == len(many)
    _, meta = found = native()
    for _ in range(3000):
        meta.add_one_cls_mtd(0.5, 0)
    meta.set_relation(GstAnalytics.RelTypes.RELATE_TO, 2999, 0)
    assert read(found[0]).regions == []


def test_memory_stays_flat_over_ten_thousand_buffers() -> None:
    frame = gray()
    detect(frame)
    mask = np.ones(BOX[:1:-1], np.uint8)
    metadata.add(frame.regions[0], InferenceResult(mask, format="mask"))
    metadata.add(frame, InferenceResult(np.zeros(8, np.float32), name="scores"))

    def go_round(count: int) -> None:
        for number in range(count):
            frame.regions[0].x = number % 100
            assert read(frame.map("gstreamer").native).regions[0].x == number % 100
        gc.collect()

    go_round(500)
    before = resident()
    go_round(10_000)
    assert resident() - before < 4096


def test_labels_from_data_do_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST_LABELS", len(labels._quarks) + 3)
    monkeypatch.setattr(labels, "_warned", [])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = [labels.quark_of(f"new label {n}") for n in range(10)]
    assert [quark != 0 for quark in found] == [True] * 3 + [False] * 7
    assert len(warned) == 1


# What ssdobjectdetector reads, by its names of 1.26, which takes no others beside, and of 1.28;
# the numbers are what it makes of them in a picture of 160 x 120.
SSD = {
    ("NumDetections", "generic-variant-1-out-count"): [1],
    ("Boxes", "ssd-mobilenet-v1-variant-1-out-boxes"): [[[0.25, 0.125, 0.75, 0.5]]],
    ("Scores", "ssd-mobilenet-v1-variant-1-out-scores"): [[0.9]],
    ("Classes", "ssd-mobilenet-v1-variant-1-out-classes"): [[0]],
}


def infer(frame: Any) -> None:
    newer = Gst.ElementFactory.find("ssdtensordec") is not None
    for (old, new), numbers in SSD.items():
        name = new if newer else f"Gst.Model.ObjectDetector.{old}"
        array = np.array(numbers, np.float32)
        metadata.add(frame, InferenceResult(array, model_name="ssd", name=name))


def test_a_native_decoder_reads_our_tensors_and_we_its_detections() -> None:
    seen: list[Any] = []
    frames_of(
        registered("sb_an_infer", infer), "ssdobjectdetector",
        registered("sb_an_decoded", lambda frame: seen.append([r.box for r in frame.regions])),
    )  # fmt: skip
    assert seen == [[(20, 30, 60, 60)]] * 2


def test_tensors_lie_on_the_same_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    frame = gray()
    metadata.add(frame, InferenceResult(array, "cats", name="scores"))
    buffer = frame.map("gstreamer").native
    tensor = GstAnalytics.buffer_get_tensor_meta(buffer).get(0)
    assert (list(tensor.get_dims()), tensor.data.get_size()) == ([2, 3], 24)
    array[1, 2] = 77
    assert np.frombuffer(tensor.data.extract_dup(0, 24), np.float32)[5] == 77
    [result] = metadata.all_of(read(buffer), InferenceResult)
    assert (result.name, result.model_name) == ("scores", "cats")


def with_tensor(data: Any) -> Any:
    """A buffer with a tensor of int16, 2 x 3, as GStreamer's elements write it."""
    buffer = gray().map("gstreamer").native
    tensor = GstAnalytics.Tensor.new_simple(
        GLib.quark_from_string("theirs"), GstAnalytics.TensorDataType.INT16, data,
        GstAnalytics.TensorDimOrder.ROW_MAJOR, [2, 3],
    )  # fmt: skip
    GstAnalytics.buffer_add_tensor_meta(buffer).set([tensor])
    return buffer


def test_their_tensors_are_ours_without_a_copy() -> None:
    buffer = with_tensor(Gst.Buffer.new_wrapped(np.arange(6, dtype=np.int16).tobytes()))
    sb.reset_stats()
    [result] = metadata.all_of(read(buffer), InferenceResult)
    assert result.name == "theirs"
    assert result.array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not sb.stats().copies
    del buffer
    gc.collect()
    assert result.array[1, 2] == 5


def test_a_tensor_whose_size_lies_is_left_out() -> None:
    buffer = with_tensor(Gst.Buffer.new_wrapped(bytes(12)))
    pointer = tensor_functions().gst_buffer_get_tensor_meta(hash(buffer))
    head = GstTensor.from_address(GstTensorMeta.from_address(pointer).tensors[0])
    memory = GstMemory.from_address(gst.gst_buffer_peek_memory(head.data, 0))
    memory.size = 4
    assert metadata.all_of(read(buffer), InferenceResult) == []
    memory.size = 12


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """It mixes elements of GStreamer and ours; the page is part of the checkout."""
    [block] = [b for b in PAGE.read_text().split("```python")[1:] if "objectdetectionoverlay" in b]
    exec(compile(block.partition("```")[0], str(PAGE), "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.splitlines() == ["ball 0.9 255"] * 3
