# SPDX-License-Identifier: Apache-2.0
"""gvametaconvert's JSON, there and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import samebytes as sb
from samebytes import Frame, FrameMeta, ImageInfo, Region, metadata
from samebytes.errors import MetadataError, NotHostVisibleError
from samebytes.metadata import (
    Classification,
    Detection,
    Entry,
    InferenceResult,
    ObjectId,
    SourceIdentifier,
    Timestamp,
    from_json,
    to_dict,
    to_json,
)

IMAGE = ImageInfo.of("NV12", 640, 480)


@pytest.fixture
def frame() -> Frame:
    return sb.context("cpu").allocate_frame("NV12", 640, 480)


def test_the_form(frame: Frame) -> None:
    """Each field that the form has and that we know, at its place."""
    frame.meta.pts, frame.meta.time_base = 1, Fraction(1, 25)
    metadata.add(frame, SourceIdentifier(uri="file.mp4"))
    frame.metadata["tags"] = {"site": 4}
    region = metadata.add(frame, Detection(0.1, 0.2, 0.3, 0.6, "car", 0.5, 2, 7, 1))
    metadata.add(region, ObjectId(12))
    region.metadata["extra_params"] = {"lane": 3}
    prob = InferenceResult(np.array([[1, 2]], np.uint8), "cars", "prob", "t", "labels", "NC")
    metadata.add(region, Classification("red", 0.25, 1, "color", prob))
    metadata.add(region, InferenceResult(np.zeros(2, np.float32), "points", point_names=["a", "b"],
                                         point_connections=["a", "b"]))  # fmt: skip
    metadata.add(frame, Classification("day"))
    metadata.add(frame, InferenceResult(np.array(3), model_name="scene"))
    object_ = {
        "x": 64, "y": 96, "w": 128, "h": 192, "region_id": 7, "parent_id": 1, "id": 12,
        "roi_type": "car",
        "detection": {
            "bounding_box": {"x_min": 0.1, "x_max": 0.3, "y_min": 0.2, "y_max": 0.6},
            "confidence": 0.5, "label_id": 2, "label": "car",
        },
        "extra_params": {"lane": 3},
        "color": {"label": "red", "confidence": 0.25, "label_id": 1, "model": {"name": "cars"}},
    }  # fmt: skip
    whole = {"x": 0, "y": 0, "w": 640, "h": 480, "classification": {"label": "day"}}
    expected = {
        "resolution": {"width": 640, "height": 480},
        "source": "file.mp4",
        "stream_id": 0,
        "timestamp": 40_000_000,
        "tags": {"site": 4},
        "objects": [object_, whole],
    }
    assert to_dict(frame) == expected
    assert json.loads(to_json(frame)) == expected
    object_["tensors"] = [
        {
            "name": "t", "model_name": "cars", "layer_name": "prob", "format": "labels",
            "layout": "NC", "precision": "U8", "dims": [1, 2], "data": [1, 2], "label": "red",
            "confidence": 0.25, "label_id": 1, "attribute_name": "color",
        },
        {
            "model_name": "points", "precision": "FP32", "dims": [2], "data": [0.0, 0.0],
            "point_names": ["a", "b"], "point_connections": ["a", "b"],
        },
    ]  # fmt: skip
    expected["tensors"] = [{"model_name": "scene", "precision": "I64", "dims": [], "data": [3]}]
    assert to_dict(frame, add_tensor_data=True) == expected
    assert "\n" not in to_json(frame, add_tensor_data=True)


def test_frames_without_results(frame: Frame) -> None:
    frame.meta.pts, frame.meta.time_base = 1, Fraction(1, 25)
    assert to_dict(frame) == {}
    assert to_json(frame) == ""
    assert to_dict(frame, add_empty_results=True) == {
        "resolution": {"width": 640, "height": 480}, "timestamp": 40_000_000,
    }  # fmt: skip
    metadata.add(frame, InferenceResult(np.zeros(1)))
    assert to_dict(frame) == {}  # without its tensor nothing of it can be said
    assert to_dict(frame, add_tensor_data=True)["tensors"]


def test_a_region_without_a_parent(frame: Frame) -> None:
    metadata.add(frame, Detection(0, 0, 1, 1, id=-1, parent_id=-1))  # as GStreamer has them
    (document,) = to_dict(frame)["objects"]
    assert document["region_id"] == -1
    assert "parent_id" not in document


def test_a_tensor_stays_with_its_classification(frame: Frame) -> None:
    """The name shows whose tensor it is if other classifications say the same."""
    metadata.add(frame, Classification("same", attribute="a"))
    metadata.add(frame, Classification("same", result=InferenceResult(np.zeros(1), name="b")))
    metadata.add(frame, Classification("same", None, None, "c", InferenceResult(np.ones(1))))
    again = FrameMeta(IMAGE)
    from_json(to_json(frame, add_tensor_data=True), again)
    first, second, third = metadata.all_of(again, Classification)
    assert (first.attribute, first.result) == ("a", None)
    assert second.result is not None
    assert (second.attribute, second.result.name, second.result.array[0]) == ("", "b", 0)
    assert third.result is not None
    assert (third.attribute, third.result.array[0]) == ("c", 1)


def test_numbers_that_json_lacks(frame: Frame) -> None:
    values = np.array([np.nan, np.inf, 1], np.float32)
    metadata.add(frame, InferenceResult(values))
    line = to_json(frame, add_tensor_data=True)
    assert '"data":[null,null,1.0]' in line
    again = FrameMeta(IMAGE)
    from_json(line, again)
    assert np.isnan(metadata.all_of(again, InferenceResult)[0].array[:2]).all()


names = st.text(st.characters(codec="utf-8"), max_size=6)
labels = names.filter(bool)
ids = st.none() | st.integers(-5, 2**40)
confidences = st.none() | st.floats(allow_nan=False, allow_infinity=False)
tensors = st.sampled_from(
    [None, np.array(5, np.int64), np.arange(6, dtype=np.uint8).reshape(2, 3),
     np.array([[0.5, -1e30]], np.float32), np.array([True, False]), np.zeros((0, 4), np.float16)]
)  # fmt: skip


@st.composite
def results(draw: st.DrawFn) -> InferenceResult:
    points = draw(st.lists(names, max_size=3))
    return InferenceResult(
        draw(tensors), draw(names), draw(names), draw(names), draw(names), draw(names), points,
        points + points,
    )  # fmt: skip


@st.composite
def classifications(draw: st.DrawFn) -> list[Classification]:
    """Of names of their own, that no member of an object has; some say the same."""
    made = []
    for name in draw(st.lists(labels.map(lambda n: "a" + n), max_size=3, unique=True)):
        result = draw(st.none() | results())
        attribute = name
        if result is not None:
            way = draw(st.sampled_from(["attribute", "tensor", "both"]))
            result = replace(result, name=name if way != "attribute" else result.name)
            attribute = "" if way == "tensor" else name
        label = draw(st.just("same") | labels)
        made.append(Classification(label, draw(confidences), draw(ids), attribute, result))
    if draw(st.booleans()):
        made.append(Classification("same"))
    return made


@st.composite
def metas(draw: st.DrawFn) -> FrameMeta:
    meta = FrameMeta(IMAGE)
    if draw(st.booleans()):
        metadata.add(meta, Timestamp(draw(st.integers(-(2**62), 2**62))))
    uri = draw(names)
    if uri:
        metadata.add(meta, SourceIdentifier(uri=uri))
    for _ in range(draw(st.integers(0, 2))):
        x, y = draw(st.integers(-700, 700)), draw(st.integers(-700, 700))
        width, height = draw(st.integers(0, 700)), draw(st.integers(0, 700))
        region = Region(x, y, width, height, draw(names), draw(confidences))
        for key in ("id", "parent_id", "label_id"):
            number = draw(ids)
            if number is not None and (number >= 0 or key != "parent_id"):
                region.metadata[key] = number
        for entry in [*draw(classifications()), *draw(st.lists(results(), max_size=2))]:
            metadata.add(region, entry)
        if draw(st.booleans()):
            metadata.add(region, ObjectId(draw(st.integers(0, 9))))
        meta.regions.append(region)
    for entry in [*draw(classifications()), *draw(st.lists(results(), max_size=2))]:
        metadata.add(meta, entry)
    return meta


def plain(holder: Any) -> list[Any]:
    """The entries as lists of plain values, a tensor by its type and elements."""
    entries = [e for e in metadata.all_of(holder, Entry) if not isinstance(e, Detection)]
    return sorted(
        [str(metadata.to_plain(e, lambda t: [str(t.dtype), t.shape, t.native.tolist()]))
         if not isinstance(e, Timestamp) else str(e) for e in entries]
    )  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(metas())
@pytest.mark.together
def test_there_and_back(meta: FrameMeta) -> None:
    line = to_json(meta, add_tensor_data=True, add_empty_results=True)
    again = FrameMeta(IMAGE)
    from_json(line, again)
    assert len(again.regions) == len(meta.regions)
    assert metadata.all_of(again, Detection) == metadata.all_of(meta, Detection)
    for holder, other in [(meta, again), *zip(meta.regions, again.regions, strict=True)]:
        assert plain(other) == plain(holder)
    assert to_json(again, add_tensor_data=True, add_empty_results=True) == line


@settings(deadline=None)
@given(metas())
def test_what_is_written_without_tensors(meta: FrameMeta) -> None:
    document = to_dict(meta)
    again = FrameMeta(IMAGE)
    from_json(document, again)
    if document:
        assert metadata.all_of(again, Detection) == metadata.all_of(meta, Detection)
        assert to_dict(again) == document
    assert "tensors" not in document
    assert all("tensors" not in each for each in document.get("objects", []))


def test_a_line_of_gvametaconvert() -> None:
    """With members that are not known here, and tensors as it writes them."""
    line = json.dumps({
        "objects": [{
            "detection": {"bounding_box": {"x_max": 0.5, "x_min": 0.25, "y_max": 1, "y_min": 0},
                          "confidence": 0.9, "label": "vehicle", "label_id": 2},
            "h": 480, "w": 160, "x": 160, "y": 0, "region_id": 3, "roi_type": "vehicle", "id": 5,
            "age": {"confidence": 0.8, "model": {"name": "of no class"}},
            "color": {"confidence": 0.8, "label": "white", "label_id": 0,
                      "model": {"name": "attributes"}},
            "tensors": [
                {"confidence": 0.9, "label_id": 2, "layer_name": "out", "model_name": "detector",
                 "name": "detection", "precision": "UNSPECIFIED", "layout": "ANY"},
                {"confidence": 0.8, "label": "white", "label_id": 0, "layer_name": "color",
                 "model_name": "attributes", "name": "c", "precision": "FP32", "dims": [1, 2],
                 "data": [0.8, 0.2], "dims_order": "x"},
            ],
        }],
        "resolution": {"height": 480, "width": 640},
        "source": "file:///x.mp4", "timestamp": 5, "system_timestamp": "2026",
        "rtp": {"sender_ntp_unix_timestamp_ns": 3},
    })  # fmt: skip
    meta = FrameMeta(IMAGE)
    from_json(line.encode(), meta)
    found = metadata.find(meta, Detection)
    assert found == Detection(0.25, 0, 0.5, 1, "vehicle", 0.9, 2, 3)
    assert found is not None
    color, tracked = (metadata.find(found.region, kind) for kind in (Classification, ObjectId))
    assert tracked == ObjectId(5)
    assert isinstance(color, Classification)
    assert (color.label, color.attribute) == ("white", "color")
    assert color.result is not None
    assert color.result.array.tolist() == pytest.approx(np.array([[0.8, 0.2]]))
    assert [r.layer_name for r in metadata.all_of(found.region, InferenceResult)] == ["out"]
    assert metadata.find(meta, Timestamp) == Timestamp(5)
    assert metadata.find(meta, SourceIdentifier) == SourceIdentifier(uri="file:///x.mp4")


def test_what_the_frame_has_stays(frame: Frame) -> None:
    metadata.add(frame, SourceIdentifier(2, 3, uri="old"))
    metadata.add(frame, Timestamp(1, 2, 3))
    frame.regions.append(Region(0, 0, 1, 1))
    from_json(
        {"source": "new", "timestamp": 9, "objects": [{"x": 1, "y": 1, "w": 2, "h": 2}]}, frame
    )
    assert metadata.all_of(frame, SourceIdentifier) == [SourceIdentifier(2, 3, uri="new")]
    from_json({"stream_id": 5}, frame)
    assert metadata.all_of(frame, SourceIdentifier) == [SourceIdentifier(2, 5, uri="new")]
    assert metadata.find(frame, Timestamp) == Timestamp(9, 2, 3)
    assert [r.box for r in frame.regions] == [(0, 0, 1, 1), (1, 1, 2, 2)]


BOX = {"x": 0, "y": 0, "w": 4, "h": 4}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ("", "document"),
        ("{", "document"),
        ("[" * 100_000, "document"),
        (b"\xff", "document"),
        ("[]", "document"),
        (None, "document"),
        ({"resolution": {"width": 1, "height": 480}}, "resolution"),
        ({"resolution": {"width": 640}}, "resolution.height"),
        ({"source": 4}, "source"),
        ({"timestamp": "now"}, "timestamp"),
        ({"stream_id": -1}, "stream_id"),
        ({"stream_id": "one"}, "stream_id"),
        ({"timestamp": 1 << 64}, "timestamp"),
        ({"tags": []}, "tags"),
        ({"objects": {}}, "objects"),
        ({"objects": [3]}, "objects[0]"),
        ({"objects": [BOX, {"x": 1, "y": 2, "w": 3}]}, "objects[1].h"),
        ({"objects": [{**BOX, "w": -1}]}, "objects[0].w"),
        ({"objects": [{**BOX, "x": 1.5}]}, "objects[0].x"),
        ({"objects": [{**BOX, "detection": 4}]}, "objects[0].detection"),
        ({"objects": [{**BOX, "roi_type": 4}]}, "objects[0].detection.label"),
        ({"objects": [{**BOX, "detection": {"confidence": "1"}}]},
         "objects[0].detection.confidence"),
        ({"objects": [{**BOX, "region_id": "1"}]}, "objects[0].region_id"),
        ({"objects": [{**BOX, "id": -1}]}, "objects[0].id (ObjectId.id)"),
        ({"objects": [{**BOX, "color": {"label_id": "a"}}]},
         "objects[0].color (Classification.label_id)"),
        ({"objects": [{**BOX, "color": {"label": 3}}]}, "objects[0].color (Classification.label)"),
        ({"objects": [{**BOX, "color": {"label": "a", "model": 3}}]}, "objects[0].color.model"),
        ({"objects": [{**BOX, "tensors": 4}]}, "objects[0].tensors"),
        ({"tensors": [4]}, "tensors[0]"),
        ({"tensors": [{"name": 4}]}, "tensors[0].name"),
        ({"tensors": [{"point_names": "abc"}]}, "tensors[0].point_names"),
        ({"tensors": [{"point_connections": ["a"]}]},
         "tensors[0] (InferenceResult.point_connections)"),
        ({"tensors": [{"data": [1]}]}, "tensors[0].precision"),
        ({"tensors": [{"data": [1], "precision": "FP33"}]}, "tensors[0].precision"),
        ({"tensors": [{"data": [1], "precision": []}]}, "tensors[0].precision"),
        ({"tensors": [{"data": [1], "precision": "U8"}]}, "tensors[0].dims"),
        ({"tensors": [{"data": [1], "precision": "U8", "dims": [2]}]}, "tensors[0].data"),
        ({"tensors": [{"data": [], "precision": "U8", "dims": [0, 1 << 62, 1 << 62]}]},
         "tensors[0].dims"),
        ({"tensors": [{"data": [1], "precision": "U8", "dims": [1] * 17}]}, "tensors[0].dims"),
        ({"tensors": [{"data": [1], "precision": "U8", "dims": [-1]}]}, "tensors[0].dims[0]"),
        ({"tensors": [{"data": [256], "precision": "U8", "dims": [1]}]}, "tensors[0].data[0]"),
        ({"tensors": [{"data": [1.5], "precision": "I32", "dims": []}]}, "tensors[0].data[0]"),
        ({"tensors": [{"data": [None], "precision": "I32", "dims": []}]}, "tensors[0].data[0]"),
        ({"tensors": [{"data": [1], "precision": "BOOL", "dims": []}]}, "tensors[0].data"),
        ({"tensors": [{"data": ["a"], "precision": "FP32", "dims": []}]}, "tensors[0].data[0]"),
        ({"tensors": [{"data": [10**400], "precision": "FP32", "dims": []}]}, "tensors[0].data[0]"),
    ],
)  # fmt: skip
def test_what_is_no_such_document(frame: Frame, document: Any, field: str) -> None:
    frame.regions.append(Region(0, 0, 1, 1))
    with pytest.raises(MetadataError) as caught:
        from_json(document, frame)
    assert caught.value.field == field
    assert len(str(caught.value)) < 500
    assert (frame.metadata, len(frame.regions), frame.pts) == ({}, 1, None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["x", "w", "objects", "tensors", "detection", "label", "data", "dims",
                         "precision", "id", "model", "name", "color"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(["objects", "tensors", "timestamp", "tags", "resolution"]),
                       json_values | st.lists(json_values.map(
                           lambda v: {**BOX, **v} if isinstance(v, dict) else v))))  # fmt: skip
@pytest.mark.together
def test_any_document(document: dict[str, Any]) -> None:
    meta = FrameMeta(IMAGE)
    try:
        from_json(document, meta)
    except MetadataError:
        assert (meta.metadata, meta.regions, meta.pts) == ({}, [], None)
    else:
        metadata.all_of(meta, Entry)


def test_what_cannot_be_written(frame: Frame) -> None:
    region = metadata.add(frame, Detection(0, 0, 1, 1))
    metadata.add(region, Classification("a", attribute="color"))
    metadata.add(region, Classification("b", attribute="color"))
    with pytest.raises(MetadataError, match="'color' is in the object already"):
        to_dict(frame)
    region.metadata.clear()
    metadata.add(region, Classification("a", attribute="detection"))
    with pytest.raises(MetadataError, match="'detection' is in the object already"):
        to_dict(frame)
    region.metadata.clear()
    region.metadata["extra_params"] = {1: object()}
    assert to_dict(frame)["objects"][0]["extra_params"] is region.metadata["extra_params"]
    with pytest.raises(MetadataError, match=r"extra_params.*cannot be JSON"):
        to_json(frame)
    frame.regions.clear()
    metadata.add(frame, InferenceResult(sb.context("cpu").allocate((2,), "bfloat16")))
    with pytest.raises(MetadataError, match="bfloat16, which JSON has no precision for"):
        to_dict(frame, add_tensor_data=True)


def test_tensors_that_the_cpu_cannot_read(frame: Frame) -> None:
    class Far(sb.Tensor):
        __slots__ = ()

    tensor = Far.borrowed(object(), frame.context, info=sb.TensorInfo("uint8", (1,)))
    metadata.add(frame, InferenceResult(tensor))
    assert to_dict(frame) == {}
    with pytest.raises(NotHostVisibleError):
        to_dict(frame, add_tensor_data=True)


def test_floats_beyond_their_type() -> None:
    meta = FrameMeta(IMAGE)
    from_json({"tensors": [{"data": [1e300], "precision": "FP16", "dims": [1]}]}, meta)
    assert math.isinf(metadata.all_of(meta, InferenceResult)[0].array[0])
