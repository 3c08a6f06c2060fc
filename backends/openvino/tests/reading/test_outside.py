# SPDX-License-Identifier: Apache-2.0
"""Objects that a model finds outside of the picture, for each family: there is no region of them.

The upper 8 of the 64 rows that most models see belong to the padding of a letterbox.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import Region
from samebytes.metadata import AffineTransform, Detection, InferenceResult, all_of, find
from samebytes_openvino import OpenVINOInfer
from samebytes_openvino._models._reading import read_model_file

from .detectors import Array, answering, found_by, yolo_rows

YOLO = {"model_type": "YOLO", "labels": "cat dog", "resize_type": "fit_to_window_letterbox"}
CAT = (20.0, 20.0, 10.0, 8.0, 0, 0.9)
PADDING = (20.0, 3.0, 6.0, 4.0, 1, 0.95)


def filled(shape: tuple[int, ...], *rows: tuple[float, ...], empty: float = 0) -> Array:
    """Outputs whose first rows are these."""
    made = np.full(shape, empty, np.float32)
    for number, row in enumerate(rows):
        made.reshape(-1, shape[-1])[number, : len(row)] = row
    return made


def turned() -> Array:
    angles = np.full((1, 1, 84), 0.2)
    return np.concatenate([yolo_rows(2, PADDING, CAT), angles], 1)


def of_centerface() -> openvino.Model:
    """Faces of 8 by 8 pixels: one in the padding, and one below it."""
    heat, scale, offset, marks = (np.zeros((1, n, 16, 16)) for n in (1, 2, 2, 10))
    heat[0, 0, 5, 4], heat[0, 0, 0, 9] = 0.9, 0.95
    scale[...] = np.log(2)
    return answering(heat, scale, offset, marks)


def of_blazeface() -> openvino.Model:
    """Faces of 8 by 4 pixels with their middles in rows 4 and 30."""
    places, scores = np.zeros((1, 224, 16)), np.full((1, 224, 1), -100.0)
    for number, row in enumerate((4, 30), 2 * (8 + 2)):  # both anchors are at (20, 12)
        places[0, number, :4], scores[0, number] = (0, row - 12, 8, 4), 5
    return answering(places, scores)


def of_picodet() -> openvino.Model:
    """Boxes of 8 by 8 pixels, which are the first and the fourth cell of a column."""
    cells = [(64 // stride) ** 2 for stride in (8, 16, 32, 64)]
    answers = [np.zeros((1, n, width), np.float32) for width in (3, 32) for n in cells]
    for cell in (2, 2 + 8 * 3):
        answers[0][0, cell, 1] = 0.9
        answers[4][0, cell].reshape(4, 8)[:, 2:] = -100  # as likely 0 as 1 cell away
    return answering(*answers)


CASES: dict[str, tuple[openvino.Model, dict[str, Any]]] = {
    "yolo": (answering(yolo_rows(2, PADDING, CAT), info=YOLO), {}),
    "yolo-end2end": (
        answering(
            filled((1, 9, 6), (17, 1, 23, 5, 0.95, 1), (15, 16, 25, 24, 0.9, 0)), info=YOLO
        ),
        {},
    ),
    "yolov5": (
        answering(
            filled((1, 252, 7), (20, 3, 6, 4, 1, 0.95), (20, 20, 10, 8, 1, 0.9)), info=YOLO
        ),
        {},
    ),
    "yolox": (
        answering(
            filled((1, 84, 7), (2, 0, 0, -1, 1, 0.95), (2, 3, 0, 0, 1, 0.9)), info=YOLO
        ),
        {},
    ),
    "yolo-obb": (answering(turned(), info=YOLO), {"family": "yolo-obb"}),
    "ssd": (
        answering(
            filled((1, 1, 9, 7), (0, 1, 0.9, 0.2, -0.5, 0.3, -0.1), (0, 1, 0.8, 0.2, 0.2, 0.3, 0.3),
                   empty=-1)
        ),
        {"family": "ssd"},
    ),
    "rtdetr": (
        answering(filled((1, 30, 6), (1.2, 0.5, 0.2, 0.2, 0.9, 1), (0.5, 0.5, 0.2, 0.2, 0.8, 1))),
        {"family": "rtdetr"},
    ),
    "centerface": (of_centerface(), {"fit": "letterbox"}),
    "blazeface": (of_blazeface(), {}),
    "picodet": (of_picodet(), {"fit": "letterbox"}),
}  # fmt: skip


@pytest.mark.parametrize("family", CASES)
def test_what_lies_outside_as_a_whole_gets_no_region(family: str) -> None:
    model, parameters = CASES[family]
    frame = found_by(model, **parameters)
    assert f"family: {family}" in frame.metadata["explained"]
    (region,) = frame.regions
    assert region.width > 1
    assert region.height > 1
    assert len(all_of(frame, Detection)) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("family", CASES)
def test_what_is_not_finite_gets_no_region(family: str, value: float) -> None:
    """As of a model of float16 whose numbers grow too large."""
    model, parameters = CASES[family]
    frame = sb.context("cpu").allocate_frame("NV12", 64, 64)
    reading = read_model_file(model, None, parameters, (64, 64))
    assert reading is not None
    for number, result in enumerate(model.results):
        shape = result.output(0).shape
        for axis, length in enumerate(shape):
            for index in range(length if 1 < length <= 16 else 0):
                answers = [
                    other.input_value(0).get_node().input_value(0).get_node().data.copy()
                    for other in model.results
                ]
                np.moveaxis(answers[number], axis, 0)[index] = value
                outputs = [sb.tensor(answer).map("openvino") for answer in answers]
                reading.add_to(frame, outputs, AffineTransform())
    for region in frame.regions:
        assert region.confidence is not None
        assert math.isfinite(region.confidence)
        assert np.isfinite(region.metadata["exact_box"]).all()
        assert region.metadata["label_id"] in (0, 1)


def test_what_reaches_into_infinity_gets_no_region() -> None:
    rows = filled((1, 9, 6), (15, 16, math.inf, 24, 0.95, 1), (15, 16, 25, 24, 0.9, 0))
    (region,) = found_by(answering(rows, info=YOLO)).regions
    assert region.label == "cat"


def test_what_is_less_than_half_a_pixel_gets_no_region() -> None:
    sliver = (20.0, 6.0, 6.0, 4.1, 1, 0.95)  # of which 0.05 lie below the padding
    (region,) = found_by(answering(yolo_rows(2, sliver, CAT), info=YOLO)).regions
    assert region.label == "cat"


def test_points_and_masks_are_those_of_the_object_that_is_left() -> None:
    rows = np.concatenate([yolo_rows(1, (*PADDING[:4], 0, 0.95), CAT), np.zeros((1, 6, 84))], 1)
    rows[0, 5:, 0], rows[0, 5:, 3] = (17, 1, 0.1, 23, 5, 0.2), (15, 16, 0.7, 20, 20, 0.6)
    model = answering(rows, info={**YOLO, "labels": "cat"})
    (region,) = found_by(model, family="yolo", keypoints=(2, 3)).regions
    points = find(region, InferenceResult)
    assert points is not None
    np.testing.assert_allclose(points.array, [(0, 0, 0.7), (0.5, 0.5, 0.6)], atol=1e-5)
    rows = np.concatenate([yolo_rows(2, PADDING, CAT), np.zeros((1, 1, 84))], 1)
    rows[0, 6, 0], rows[0, 6, 3] = -1, 1
    (region,) = found_by(answering(rows, np.ones((1, 1, 16, 16)), info=YOLO), family="yolo").regions
    mask = find(region, InferenceResult)
    assert mask is not None
    assert mask.array.all()


def test_what_lies_outside_of_the_region_that_was_looked_at_gets_no_region() -> None:
    frame = sb.context("cpu").allocate_frame("NV12", 128, 96)
    frame.regions.append(Region(16, 16, 64, 48, "crossing"))
    infer = OpenVINOInfer(CASES["yolo"][0], regions="crossing")
    with el.Pipeline([frame], infer).start(threads=0) as out:
        (came,) = out
    assert [region.label for region in came.regions] == ["crossing", "cat"]
    x, y, width, height = came.regions[1].box
    assert 16 <= x < x + width <= 80
    assert 16 <= y < y + height <= 64
