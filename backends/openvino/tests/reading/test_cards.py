# SPDX-License-Identifier: Apache-2.0
"""Facts in files: rt_info, the properties of an ONNX file, and metadata.yaml beside a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

from samebytes_openvino._models._families import card_of, flat_yaml

from .detectors import answering, found_by, yolo_rows

DOCUMENT = """\
description: 'Ultralytics YOLOv8n model, it''s ours'
stride: 32
task: detect
imgsz:
- 224
- 320
names:
  0: person
  1: 'traffic light'
  10: "a: b"
args:
  nms: null
  fraction: 0.5
kpt_shape: [17, 3]
end2end: false
empty:
# a comment
"""


def test_yaml() -> None:
    assert flat_yaml(DOCUMENT) == {
        "description": "Ultralytics YOLOv8n model, it's ours",
        "stride": 32,
        "task": "detect",
        "imgsz": [224, 320],
        "names": {0: "person", 1: "traffic light", 10: "a: b"},
        "args": {"nms": None, "fraction": 0.5},
        "kpt_shape": [17, 3],
        "end2end": False,
        "empty": None,
    }


@pytest.mark.parametrize("text", ["", "\n\n", "- a\n- b", "  a: 1", "::", "%YAML 1.1\n---\n", "{"])
def test_other_documents_say_nothing(text: str) -> None:
    assert not [value for value in flat_yaml(text).values() if value]


def test_a_file_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(DOCUMENT, encoding="utf-8")
    card = card_of(answering(np.zeros((1, 2))), tmp_path / "yolo.xml")
    assert card.facts == {
        "description": "Ultralytics YOLOv8n model, it's ours",
        "task": "detect",
        "size": (320, 224),
        "labels": ("person", "traffic light", "a: b"),
        "kpt_shape": (17, 3),
        "end2end": False,
    }
    assert set(card.places.values()) == {
        f"metadata.yaml {word}"
        for word in ("description", "task", "imgsz", "names", "kpt_shape", "end2end")
    }


def test_model_info() -> None:
    said = {
        "model_type": "ssd",
        "labels": "a b_c",
        "resize_type": "fit_to_window",
        "pad_value": "0",
        "mean_values": "123.675 116.28 103.53",
        "scale_values": "255.0",
        "reverse_input_channels": "NO",
        "confidence_threshold": "0.35",
        "iou_threshold": "unknown words",
    }
    card = card_of(answering(np.zeros((1, 2)), info=said), None)
    assert card.facts == {
        "model_type": "ssd",
        "labels": ("a", "b_c"),
        "fit": "letterbox top-left",
        "pad": 0.0,
        "mean": (123.675, 116.28, 103.53),
        "scale": 255.0,
        "color": "BGR",
        "confidence": 0.35,
    }
    inside = card_of(
        answering(np.zeros((1, 2)), info={**said, "embedded_processing": "True"}), None
    )
    assert {"mean", "scale", "color"}.isdisjoint(inside.facts)


def test_properties_of_an_onnx_file() -> None:
    model = answering(np.zeros((1, 2)))
    for word, value in {
        "task": "pose",
        "names": "{0: 'person'}",
        "kpt_shape": "[17, 3]",
        "args": "{'nms': True}",
        "imgsz": "[320, 320]",
    }.items():
        model.set_rt_info(value, ["framework", word])
    card = card_of(model, None)
    assert card.get("task") == "pose"
    assert card.get("kpt_shape") == (17, 3)
    assert card.get("nms") is True
    assert card.get("size") == (320, 320)
    assert card.places["task"] == "the ONNX file's properties task"


def test_the_first_place_counts(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text("names:\n  0: traffic light\n", encoding="utf-8")
    model = answering(np.zeros((1, 2)), info={"labels": "traffic_light"})
    card = card_of(model, tmp_path / "a.xml")
    assert card.get("labels") == ("traffic light",)


def test_a_model_of_any_size_has_that_of_its_file(tmp_path: Path) -> None:
    model: Any = answering(yolo_rows(3, (20, 20, 10, 10, 1, 0.9)))
    model.reshape([1, 3, -1, -1])
    path = tmp_path / "any.xml"
    openvino.save_model(model, path, compress_to_fp16=False)
    (tmp_path / "metadata.yaml").write_text(DOCUMENT, encoding="utf-8")
    frame = found_by(path, color="BGR")
    assert [r.label for r in frame.regions] == ["traffic light"]
    text = frame.metadata["explained"]
    assert "family: yolo (metadata.yaml task, and the shapes of its outputs)" in text
    assert "color: BGR (color=)" in text
    assert "fit: letterbox (as models of the family take it)" in text
    assert "of 320x224, around it 114" in text
