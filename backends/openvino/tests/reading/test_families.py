# SPDX-License-Identifier: Apache-2.0
"""openvino.infer without postprocess=: outputs of known families become regions of the frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
from samebytes.errors import ParameterError
from samebytes.metadata import Classification, Detection, InferenceResult, all_of, find

from .detectors import (
    CAT,
    CAT_IN_FRAME,
    DOG,
    WEAKER,
    YOLO,
    Array,
    answering,
    end_rows,
    found_by,
    skip_without,
    yolo_rows,
)


def boxes_of(frame: sb.Frame[Any]) -> list[tuple[str, float, tuple[float, ...]]]:
    return [
        (r.label, round(r.confidence or 0, 5), tuple(np.round(r.metadata["exact_box"], 3)))
        for r in frame.regions
    ]


def v5_rows(*boxes: tuple[float, ...], cells: int) -> Array:
    rows = np.zeros((1, cells, 7), np.float32)
    for number, (*place, label, score) in enumerate(boxes):
        rows[0, number, :4], rows[0, number, 4], rows[0, number, 5 + int(label)] = place, 0.9, score
    return rows


def test_yolo() -> None:
    frame = found_by(answering(yolo_rows(2, CAT, WEAKER, DOG), info=YOLO))
    assert boxes_of(frame) == [
        ("cat", 0.9, CAT_IN_FRAME),
        ("dog", 0.5, (32.0, 16.0, 20.0, 16.0)),
    ]
    assert [r.metadata["label_id"] for r in frame.regions] == [0, 1]
    assert frame.regions[0].box == (30, 16, 20, 16)


def test_classes_may_suppress_each_other() -> None:
    frame = found_by(answering(yolo_rows(2, CAT, DOG), info=YOLO), agnostic=True)
    assert [r.label for r in frame.regions] == ["cat"]


def test_arguments_count_more_than_the_model() -> None:
    model = answering(yolo_rows(2, CAT, WEAKER, DOG), info=YOLO)
    frame = found_by(model, iou=0.9, confidence=0.6, labels=("tiger", "wolf"), fit="stretch")
    assert boxes_of(frame) == [
        ("tiger", 0.9, (30.0, 24.0, 20.0, 12.0)),
        ("tiger", 0.8, (32.0, 24.0, 20.0, 12.0)),
    ]
    assert "confidence: 0.6 (confidence=)" in frame.metadata["explained"]
    assert "labels: 2, tiger, wolf (labels=)" in frame.metadata["explained"]
    assert "pad: 114 (rt_info model_info.pad_value)" in frame.metadata["explained"]


def test_boxes_keep_their_fractions() -> None:
    frame = found_by(answering(yolo_rows(2, (20.1, 20.2, 10.3, 8.4, 0, 0.9)), info=YOLO))
    (found,) = all_of(frame, Detection)
    sides = found.x_min * 128, found.y_min * 96, found.x_max * 128, found.y_max * 96
    np.testing.assert_allclose(sides, (29.9, 16.0, 50.5, 32.8), atol=1e-4)


def test_what_lies_outside_of_the_picture_is_cut_off() -> None:
    frame = found_by(answering(yolo_rows(2, (2.0, 10.0, 20.0, 20.0, 1, 0.9)), info=YOLO))
    assert boxes_of(frame) == [("dog", 0.9, (0.0, 0.0, 24.0, 24.0))]


def test_end_to_end() -> None:
    """Corners, score and class; suppression was in the model."""
    rows = end_rows((15, 16, 25, 24, 0.9, 0), (16, 16, 26, 24, 0.8, 0), (0, 8, 2, 9, 0.1, 1))
    frame = found_by(answering(rows, info=YOLO))
    assert boxes_of(frame) == [("cat", 0.9, CAT_IN_FRAME), ("cat", 0.8, (32.0, 16.0, 20.0, 16.0))]
    assert "family: yolo-end2end" in frame.metadata["explained"]


def test_v5_and_x_are_told_apart_by_their_cells() -> None:
    cells = 64 + 16 + 4
    frame = found_by(answering(v5_rows(CAT, WEAKER, cells=3 * cells), info=YOLO))
    assert boxes_of(frame) == [("cat", 0.81, CAT_IN_FRAME)]
    # The second cell of the first grid, of 8 pixels: (1 + 1.5) * 8 = 20.
    x = (1.5, 2.5, np.log(10 / 8), np.log(8 / 8), 0, 0.9)
    rows = v5_rows((0,) * 6, x, cells=cells)
    rows[0, 0] = 0
    frame = found_by(answering(rows, info=YOLO))
    assert boxes_of(frame) == [("cat", 0.81, CAT_IN_FRAME)]
    assert "family: yolox" in frame.metadata["explained"]


def test_what_may_be_two_families_is_refused_with_both() -> None:
    info = {**YOLO, "labels": "cat"}
    rows = end_rows((15, 16, 25, 24, 0.9, 0), count=3 * 84)
    with pytest.raises(ParameterError, match="'yolo-end2end' or 'yolov5': pass family=") as caught:
        found_by(answering(rows, info=info))
    assert caught.value.parameter == "family"
    frame = found_by(answering(rows, info=info), family="yolo-end2end")
    assert boxes_of(frame) == [("cat", 0.9, CAT_IN_FRAME)]


def test_outputs_that_are_of_no_family_are_refused() -> None:
    with pytest.raises(ParameterError, match="none of the families"):
        found_by(answering(np.zeros((1, 9, 84)), info=YOLO))
    with pytest.raises(ParameterError, match="are not those of family"):
        found_by(answering(np.zeros((1, 4, 84))), family="yolo")
    with pytest.raises(ParameterError, match="'family' must be"):
        found_by(answering(np.zeros((1, 4, 84))), family="yolo9000")


def test_key_points() -> None:
    rows = np.concatenate([yolo_rows(1, CAT), np.zeros((1, 6, 84))], 1)
    rows[0, 5:, 0] = 15, 16, 0.7, 20, 20, 0.6
    frame = found_by(
        answering(rows, info={**YOLO, "labels": "cat"}), family="yolo", keypoints=(2, 3)
    )
    result = find(frame.regions[0], InferenceResult)
    assert result is not None
    assert result.format == "keypoints"
    np.testing.assert_allclose(result.array, [(0, 0, 0.7), (0.5, 0.5, 0.6)], atol=1e-5)
    assert boxes_of(frame) == [("cat", 0.9, CAT_IN_FRAME)]


def test_masks() -> None:
    """The left half of the model's image, where it is within the box."""
    rows = np.concatenate([yolo_rows(2, CAT), np.zeros((1, 1, 84))], 1)
    rows[0, 6, 0] = 2.0
    prototype = np.full((1, 1, 16, 16), -1.0)
    prototype[..., :5] = 1.0
    frame = found_by(answering(rows, prototype, info=YOLO), family="yolo")
    result = find(frame.regions[0], InferenceResult)
    assert result is not None
    assert result.format == "mask"
    assert result.array.shape == (16, 20)
    # Five of sixteen columns are 40 pixels of the frame; the box begins at 30.
    assert (result.array[:, :10] == 1).all()
    assert (result.array[:, 10:] == 0).all()


def test_explain_says_when_nothing_says_the_family() -> None:
    frame = found_by(answering(yolo_rows(2, CAT)))
    assert not frame.regions
    assert "family: none (nothing says one: " in frame.metadata["explained"]


def test_an_ssd_is_known_by_its_operation() -> None:
    image = ops.parameter([1, 3, 64, 64], np.float32, name="image")
    zero = ops.multiply(ops.reduce_mean(image, np.array([0, 1, 2, 3])), ops.constant(np.float32(0)))
    priors = np.array([[[0.25, 0.25, 0.5, 0.5, 0.6, 0.6, 0.9, 0.9], [0.1] * 4 + [0.2] * 4]])
    node = ops.detection_output(
        ops.add(ops.constant(np.zeros((1, 8), np.float32)), zero),
        ops.add(ops.constant(np.array([[0.1, 0.9, 0.7, 0.3]], np.float32)), zero),
        ops.constant(priors.astype(np.float32)),
        {"background_label_id": 0, "top_k": 10, "variance_encoded_in_target": False,
         "keep_top_k": [10], "code_type": "caffe.PriorBoxParameter.CORNER", "share_location": True,
         "nms_threshold": 0.5, "confidence_threshold": 0.1, "clip_after_nms": False,
         "clip_before_nms": False, "decrease_label_id": False, "normalized": True,
         "num_classes": 2},
    )  # fmt: skip
    model = openvino.Model([ops.result(node)], [image], "ssd")
    frame = found_by(model, labels=("background", "car"))
    assert boxes_of(frame) == [("car", 0.9, (32.0, 24.0, 32.0, 24.0))]
    assert "family: ssd (its operation DetectionOutput)" in frame.metadata["explained"]
    assert [r.label for r in found_by(model, confidence=0.2).regions] == ["1", "1"]
    raw = found_by(model, family="none")
    assert raw.metadata["explained"].startswith("family: none (family=)")
    assert not raw.regions
    assert [t.shape for t in raw.metadata["inference"].values()] == [(1, 1, 10, 7)]


def test_the_list_of_an_ssd_ends_at_a_number_below_zero() -> None:
    rows = np.zeros((1, 1, 4, 7))
    rows[0, 0, 0] = 0, 1, 0.9, 0.25, 0.25, 0.5, 0.5
    rows[0, 0, 1] = -1, 0, 0, 0, 0, 0, 0
    rows[0, 0, 2] = 0, 1, 0.9, 0, 0, 1, 1
    frame = found_by(answering(rows), family="ssd")
    assert boxes_of(frame) == [("1", 0.9, (32.0, 24.0, 32.0, 24.0))]


@pytest.mark.parametrize("chosen", [True, False])
def test_rtdetr(chosen: bool) -> None:
    rows = np.zeros((1, 30, 6 if chosen else 7), np.float32)
    rows[0, 4, :4] = rows[0, 7, :4] = 0.375, 0.375, 0.25, 0.25
    if chosen:
        rows[0, 4, 4:], rows[0, 7, 4:] = (0.6, 1), (0.8, 2)
    else:
        rows[0, 4, 5], rows[0, 7, 6] = 0.6, 0.8
    frame = found_by(answering(rows), family="rtdetr", labels=("a", "b", "c"))
    box = (32.0, 24.0, 32.0, 24.0)
    assert boxes_of(frame) == [("c", 0.8, box), ("b", 0.6, box)]


def test_picodet() -> None:
    """Cell (2, 1) of the grid of 8 pixels: its middle is (20, 12)."""
    cells = [(64 // stride) ** 2 for stride in (8, 16, 32, 64)]
    answers = [np.zeros((1, n, width), np.float32) for width in (3, 32) for n in cells]
    answers[0][0, 10] = 0.9, 0.1, 0.5
    answers[0][0, 11] = 0.8, 0, 0
    sides = np.full((4, 8), -100.0)
    for side, away in enumerate((1, 1, 2, 3)):  # 8, 8, 16 and 24 pixels
        sides[side, away] = 5
    answers[4][0, 10] = sides.reshape(-1)
    sides[0, 1], sides[0, 2], sides[2, 2], sides[2, 1] = -100, 5, -100, 5
    answers[4][0, 11] = sides.reshape(-1)
    model = answering(*answers)
    frame = found_by(model, labels=("text", "title", "figure"))
    box = (24.0, 6.0, 48.0, 48.0)
    assert boxes_of(frame) == [("text", 0.9, box), ("figure", 0.5, box)]
    assert "family: picodet (the shapes of its outputs" in frame.metadata["explained"]


def test_centerface() -> None:
    heat, scale, offset, marks = (np.zeros((1, n, 16, 16)) for n in (1, 2, 2, 10))
    heat[0, 0, 5, 4], heat[0, 0, 5, 5] = 0.9, 0.6
    scale[0, 0], scale[0, 1] = np.log(3), np.log(2)  # 12 rows, 8 columns
    offset[0, 0], offset[0, 1] = 0.25, 0.5  # a cell is 4 pixels
    marks[0, ::2], marks[0, 1::2] = 0.75, 0.25
    frame = found_by(answering(heat, scale, offset, marks), labels=("face",))
    # The middle: (4 + 0.5 + 0.5) * 4 = 20 and (5 + 0.25 + 0.5) * 4 = 23.
    assert boxes_of(frame) == [("face", 0.9, (32.0, 25.5, 16.0, 18.0))]
    result = find(frame.regions[0], InferenceResult)
    assert result is not None
    np.testing.assert_allclose(result.array, [(0.25, 0.75)] * 5, atol=1e-5)


def test_blazeface() -> None:
    """Two of the anchors of cell (2, 1) of 8 pixels, whose middle is (20, 12), overlap."""
    places, scores = np.zeros((1, 224, 16)), np.full((1, 224, 1), -100.0)
    number = 2 * (8 + 2)
    for which, raw, shift in ((number, np.log(9), 0), (number + 1, 0.0, 4), (0, 1.0, 0)):
        places[0, which, :4] = 4 + shift, 8, 16, 12
        places[0, which, 4:] = shift
        scores[0, which] = raw
    places[0, 0, 2] = -5  # of no size
    frame = found_by(answering(places, scores), confidence=0.4)
    # 0.9 of one at (16, 14) and 0.5 of one at (20, 14): the mean is 10/7 pixels further right.
    x = 16 + 4 * 0.5 / 1.4
    assert boxes_of(frame) == [("face", 0.9, (round(2 * x, 3), 12.0, 32.0, 24.0))]
    result = find(frame.regions[0], InferenceResult)
    assert result is not None
    point = 20 + 4 * 0.5 / 1.4, 12 + 4 * 0.5 / 1.4 - 8  # half of the image lies above the picture
    np.testing.assert_allclose(
        result.array, [((point[0] - x) / 16, (point[1] - 6) / 12)] * 6, atol=1e-5
    )
    assert "family: blazeface (the shapes of its two outputs)" in frame.metadata["explained"]
    assert "mean: 127.5" in frame.metadata["explained"]
    with pytest.raises(ParameterError, match="are not those of family"):
        found_by(answering(places, scores[:, :9]), family="blazeface")


def test_classification() -> None:
    scores = np.log(np.array([[0.1, 0.7, 0.2]]))
    model = answering(scores, info={"model_type": "Classification", "labels": "a b_c d"})
    frame = found_by(model)
    (found,) = all_of(frame, Classification)
    assert (found.label, found.label_id) == ("b_c", 1)
    assert found.confidence == pytest.approx(0.7, abs=1e-5)
    assert "by softmax" in frame.metadata["explained"]
    assert not all_of(found_by(model, confidence=0.8), Classification)


def test_a_model_of_any_batch_has_its_own_size() -> None:
    """Exporters leave the batch open, and not the size: that is not the frame's."""
    scores = answering(np.array([[0.1, 0.7, 0.2]]))
    named: dict[str, Any] = {"family": "classification", "labels": ["a", "b", "c"]}
    for model, given in ((answering(yolo_rows(2, CAT, DOG), info=YOLO), {}), (scores, named)):
        fixed = found_by(model, **given)
        model.reshape(openvino.PartialShape([-1, 3, 64, 64]))
        found = found_by(model, **given)
        assert found.metadata["explained"] == fixed.metadata["explained"]
        assert "64x" in found.metadata["explained"]
        assert boxes_of(found) == boxes_of(fixed)
        assert all_of(found, Classification) == all_of(fixed, Classification)
        assert found.regions or all_of(found, Classification)


def test_a_model_that_says_nothing_gives_its_tensors() -> None:
    frame = found_by(answering(yolo_rows(80, CAT)))
    assert not frame.regions
    assert [t.shape for t in frame.metadata["inference"].values()] == [(1, 84, 84)]


@pytest.mark.parametrize("family", ["ssd", "classification", "rtdetr", "yolo-end2end"])
def test_outputs_are_not_read_as_those_of_another_family(family: str) -> None:
    """84 * 80 numbers of a YOLO would make 960 rows of an SSD as well, and 6720 classes."""
    shape = (1, 1, 84, 80) if family == "rtdetr" else (1, 84, 80)
    if family == "yolo-end2end":
        shape = (1, 84, 5)
    with pytest.raises(ParameterError, match="are not those of family"):
        found_by(answering(np.zeros(shape)), family=family)


def test_another_task_is_refused_by_its_name(tmp_path: Any) -> None:
    path = tmp_path / "depth.xml"
    openvino.save_model(answering(np.zeros((1, 85, 84))), path)
    (tmp_path / "metadata.yaml").write_text("task: depth\nnames:\n  0: ship\n", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"metadata\.yaml task says 'depth'"):
        found_by(path)


def turned_rows(*boxes: tuple[float, ...]) -> Array:
    """[1, 4 + 2 + 1, 84]: the angle is the last one."""
    angles = np.zeros((1, 1, 84))
    angles[0, 0, : 3 * len(boxes) : 3] = [box[-1] for box in boxes]
    return np.concatenate([yolo_rows(2, *[box[:-1] for box in boxes]), angles], 1)


def test_turned_boxes(tmp_path: Any) -> None:
    """Half as large as in the frame; a cross is of two objects, and a slight turn is not."""
    quarter, eighth = np.pi / 2, np.pi / 4
    rows = turned_rows(
        (32.0, 32.0, 20.0, 4.0, 0, 0.9, eighth),
        (32.0, 32.0, 20.0, 4.0, 0, 0.8, eighth + 0.02),
        (32.0, 32.0, 20.0, 4.0, 0, 0.7, -eighth),
        (32.0, 33.0, 20.0, 4.0, 1, 0.6, eighth),
        (10.0, 40.0, 4.0, 6.0, 1, 0.5, quarter),
    )
    path = tmp_path / "turned.xml"
    openvino.save_model(answering(rows, info=YOLO), path, compress_to_fp16=False)
    words = "task: obb\nimgsz:\n- 64\n- 64\nnames:\n  0: ship\n  1: plane\n"
    (tmp_path / "metadata.yaml").write_text(words, encoding="utf-8")
    frame = found_by(path)
    assert "family: yolo-obb (metadata.yaml task" in frame.metadata["explained"]
    found = [(r.label, round(r.confidence or 0, 3)) for r in frame.regions]
    assert found == [("ship", 0.9), ("ship", 0.7), ("plane", 0.6), ("plane", 0.5)]
    first, second, _, last = frame.regions
    np.testing.assert_allclose(first.metadata["oriented_box"], (44, 44, 40, 8, eighth), atol=1e-4)
    np.testing.assert_allclose(second.metadata["oriented_box"], (44, 44, 40, 8, -eighth), atol=1e-4)
    reach = (20 + 4) * np.sqrt(0.5)
    np.testing.assert_allclose(
        first.metadata["exact_box"], (64 - reach, 48 - reach, 2 * reach, 2 * reach), atol=1e-4
    )
    # 4 across and 6 down, turned by a quarter: 12 across and 8 down in the frame.
    np.testing.assert_allclose(last.metadata["exact_box"], (14, 60, 12, 8), atol=1e-4)
    assert len(found_by(path, agnostic=True).regions) == 3
    assert len(found_by(path, iou=0.99).regions) == 5


def test_turned_boxes_end_to_end() -> None:
    rows = end_rows((32, 32, 20, 4, 0.9, 1, 0.5), (0, 0, 1, 1, 0.1, 0, 0), width=7)
    frame = found_by(answering(rows, info=YOLO), family="yolo-obb-end2end")
    (region,) = frame.regions
    assert (region.label, region.metadata["label_id"]) == ("dog", 1)
    np.testing.assert_allclose(region.metadata["oriented_box"], (44, 44, 40, 8, 0.5), atol=1e-4)
    with pytest.raises(ParameterError, match="are not those of family"):
        found_by(answering(rows[..., :6], info=YOLO), family="yolo-obb-end2end")


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_turned_boxes_of_turned_pictures(rotation: int) -> None:
    frame = sb.context("cpu").allocate_frame("NV12", 96, 96, metadata={"rotation": rotation})
    rows = turned_rows((32.0, 32.0, 20.0, 4.0, 0, 0.9, 0.5))
    (region,) = found_by(answering(rows, info=YOLO), frame, family="yolo-obb", upright=True).regions
    x, y, width, height, angle = region.metadata["oriented_box"]
    np.testing.assert_allclose((x, y, width, height), (33, 45, 30, 6), atol=1e-4)
    assert np.sin(angle - (0.5 - np.deg2rad(rotation))) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("options", [{"requests": 2}, {"batch": 2}, {"entries": True}])
def test_other_ways_to_run(options: dict[str, Any]) -> None:
    frame = found_by(answering(yolo_rows(2, CAT), info=YOLO), **options)
    assert boxes_of(frame) == [("cat", 0.9, CAT_IN_FRAME)]
    assert bool(all_of(frame, InferenceResult)) == ("entries" in options)


@pytest.mark.together
@pytest.mark.parametrize("device", ["GPU", "NPU"])
def test_on_devices(device: str) -> None:
    skip_without(device)
    masks = np.concatenate([yolo_rows(2, CAT), np.zeros((1, 1, 84))], 1)
    models = [
        answering(yolo_rows(2, CAT), info=YOLO),
        answering(masks, np.zeros((1, 1, 16, 16)), info=YOLO),
    ]
    for model, family in zip(models, (None, "yolo"), strict=True):
        frame = found_by(model, device=device, family=family)
        (region,) = frame.regions
        np.testing.assert_allclose(region.metadata["exact_box"], CAT_IN_FRAME, atol=0.05)
        assert region.confidence == pytest.approx(0.9, abs=1e-3)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_of_turned_pictures(rotation: int) -> None:
    """A box in the middle of the upright picture is in the middle of the frame."""
    frame = sb.context("cpu").allocate_frame("NV12", 96, 96, metadata={"rotation": rotation})
    model = answering(yolo_rows(2, (32.0, 32.0, 16.0, 8.0, 0, 0.9)), info=YOLO)
    (region,) = found_by(model, frame, upright=True).regions
    sideways = rotation in (90, 270)
    assert region.box == ((42, 36, 12, 24) if sideways else (36, 42, 24, 12))


def test_bytes_of_a_model_are_not_scaled() -> None:
    frame = found_by(answering(yolo_rows(2, CAT), info=YOLO, dtype=np.uint8))
    assert boxes_of(frame) == [("cat", 0.9, CAT_IN_FRAME)]
    assert "scale" not in frame.metadata["explained"]
