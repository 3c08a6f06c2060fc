# SPDX-License-Identifier: Apache-2.0
"""Labels of a model's file, beside the classes that its outputs have."""

from __future__ import annotations

import numpy as np
import openvino
import pytest

from samebytes.errors import ParameterError
from samebytes.metadata import Classification, all_of

from .detectors import (
    CAT,
    YOLO,
    answering,
    end_rows,
    found_by,
    skip_without,
    yolo_rows,
)

of_each_family = pytest.mark.parametrize(
    ("model", "family", "count"),
    [
        (answering(yolo_rows(3, CAT), info={**YOLO, "labels": "a b c"}), None, 3),
        (answering(np.zeros((1, 3 * 84, 8))), "yolov5", 3),
        (answering(np.zeros((1, 30, 7))), "rtdetr", 3),
        (answering(np.zeros((1, 5))), "classification", 5),
        (
            answering(*(np.zeros((1, n, w)) for w in (3, 32) for n in (64, 16, 4, 1))),
            None,
            3,
        ),
    ],
    ids=["yolo", "yolov5", "rtdetr", "classification", "picodet"],
)


@of_each_family
def test_another_number_of_labels_than_of_classes_is_refused(
    model: openvino.Model, family: str | None, count: int
) -> None:
    says = rf"2 labels \(labels=\) for outputs of {count} classes"
    with pytest.raises(ParameterError, match=says) as caught:
        found_by(model, family=family, labels=("a", "b"), confidence=1.0)
    assert caught.value.parameter == "labels"
    found_by(model, family=family, labels=(), confidence=1.0)
    found_by(model, family=family, labels=tuple("abcde"[:count]), confidence=1.0)


@of_each_family
@pytest.mark.parametrize("device", ["GPU", "NPU"])
def test_labels_are_counted_before_a_device_compiles_the_model(
    model: openvino.Model, family: str | None, count: int, device: str
) -> None:
    skip_without(device)
    with pytest.raises(ParameterError, match=rf"2 labels .*outputs of {count} classes"):
        found_by(model, family=family, labels=("a", "b"), device=device)


def test_labels_of_the_file_are_as_many_as_its_classes() -> None:
    """Of ImageNet's 1001 classes the first one is the background, and many lists leave it out."""
    scores = np.log(np.array([[0.1, 0.7, 0.2]]))
    model = answering(scores, info={"model_type": "Classification", "labels": "cat"})
    with pytest.raises(ParameterError, match=r"1 labels \(rt_info model_info\.labels\) for"):
        found_by(model)
    (found,) = all_of(found_by(model, labels=("none", "cat", "dog")), Classification)
    assert found.label == "cat"
    (found,) = all_of(found_by(model, labels=()), Classification)
    assert found.label == "1"


def test_model_api_has_other_first_where_a_label_is_missing() -> None:
    scores = np.log(np.array([[0.1, 0.7, 0.2]]))
    info = {"model_type": "Classification", "labels": "cat dog"}
    frame = found_by(answering(scores, info=info))
    assert [found.label for found in all_of(frame, Classification)] == ["cat"]
    more = found_by(answering(scores, info={**info, "labels": "cat dog bird cow"}))
    assert [found.label for found in all_of(more, Classification)] == ["dog"]
    assert 'labels: "other" first' in frame.metadata["explained"]
    with pytest.raises(ParameterError, match=r"2 labels \(labels=\) for outputs of 3 classes"):
        found_by(answering(scores), family="classification", labels=("cat", "dog"))


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1, 1)])
def test_labels_of_classifiers_of_any_shape(shape: tuple[int, ...]) -> None:
    scores = np.log(np.array([0.1, 0.7, 0.2])).reshape(shape)
    frame = found_by(answering(scores), family="classification", labels=tuple("abc"))
    assert [found.label for found in all_of(frame, Classification)] == ["b"]


def test_paddles_characters_are_lines() -> None:
    scores = np.log(np.array([[0.1, 0.7, 0.2]]))
    model = answering(scores)
    model.set_rt_info("text\ntitle\nfigure\n", ["framework", "character"])
    frame = found_by(model, family="classification")
    assert [found.label for found in all_of(frame, Classification)] == ["title"]


def test_classes_that_rows_number_may_have_any_labels() -> None:
    rows = end_rows((15, 16, 25, 24, 0.9, 2))
    frame = found_by(answering(rows), family="yolo-end2end", labels=("cat",))
    assert [r.label for r in frame.regions] == ["2"]
