# SPDX-License-Identifier: Apache-2.0
"""Compare openvino.infer with Ultralytics' predictor, on models with random weights.

    python3 -m tests.predictors [MODEL ...]

It needs `pip install ultralytics`, whose licence is AGPL-3.0: in an environment of its own. Nothing
is downloaded: the models are made of Ultralytics' descriptions, their normalisation is fitted to
some pictures so that they find things, and Ultralytics exports them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openvino

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
from samebytes.metadata import InferenceResult, find
from samebytes_openvino import OpenVINOInfer

Array = np.ndarray[Any, Any]
MODELS = ("yolov5n", "yolov8n", "yolo11n", "yolo26n", "yolo26n-end2end", "yolov8n-pose",
          "yolov8n-seg", "rtdetr-l")  # fmt: skip
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
SIZE = (320, 224)


def picture(random: np.random.Generator, width: int, height: int) -> Array:
    """Colours that change slowly, and rectangles before them."""
    made = cv2.resize(random.integers(0, 256, (24, 32, 3), np.uint8), (width, height))
    for _ in range(30):
        x, y = (int(random.integers(0, most)) for most in (width, height))
        w, h = (int(random.integers(5, most // 3)) for most in (width, height))
        color = [int(c) for c in random.integers(0, 256, 3)]
        cv2.rectangle(made, (x, y), (x + w, y + h), color, -1)
    return np.asarray(made, np.uint8)


def exported(name: str, folder: Path) -> Path:
    """The folder of a model that Ultralytics made and exported."""
    import torch

    ultralytics: Any = import_module("ultralytics")
    os.chdir(folder)
    torch.manual_seed(0)
    kind = ultralytics.RTDETR if name.startswith("rtdetr") else ultralytics.YOLO
    model: Any = kind(name.removesuffix("-end2end") + ".yaml")
    size = (320, 320) if name.startswith("rtdetr") else SIZE
    random = np.random.default_rng(1)
    for layer in model.model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = 0.5
            layer.train()
    with torch.no_grad():
        for _ in range(12):
            pictures = np.stack([picture(random, *size) for _ in range(4)])
            model.model(torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255)
    model.model.eval()
    options = {"end2end": True} if name.endswith("-end2end") else {}
    return Path(model.export(format="openvino", imgsz=[size[1], size[0]], **options)).absolute()


def predicted(name: str, made: Path, pixels: Array) -> tuple[Any, float]:
    """What Ultralytics finds, and the confidence at which it finds some 60 things."""
    ultralytics: Any = import_module("ultralytics")
    kind = ultralytics.RTDETR if name.startswith("rtdetr") else ultralytics.YOLO
    model: Any = kind(str(made))
    size = 320 if name.startswith("rtdetr") else [SIZE[1], SIZE[0]]
    confidence = 1e-4
    for _ in range(2):
        found = model.predict(
            pixels, conf=confidence, imgsz=size, verbose=False, device="cpu", max_det=300
        )[0]
        scores = np.sort(found.boxes.conf.numpy())
        if len(scores) <= 100:
            break
        confidence = float(scores[-60] + scores[-61]) / 2  # between two
    return found, confidence


def compared(name: str) -> str:
    """How far apart both are: "yolov8n: 60 objects, 0.001 pixels, 0.00001 of the score"."""
    pixels = picture(np.random.default_rng(0), 853, 480)
    with tempfile.TemporaryDirectory() as folder:
        made = exported(name, Path(folder))
        found, confidence = predicted(name, made, pixels)
        path = next(made.glob("*.xml"))
        infer = OpenVINOInfer(
            path, confidence=confidence, resize=samebytes_opencv.resize, config=EXACT
        )
        frame = sb.frame(pixels, format="BGR")
        el.Pipeline([frame], infer).run(threads=0)
    rows = found.boxes.data.numpy()
    rows[:, :4] = rows[:, :4].clip(0, (853, 480, 853, 480))  # those of RT-DETR reach beyond
    boxes = np.array([region.metadata["exact_box"] for region in frame.regions]).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    if len(rows) != len(boxes):
        return f"{name}: {len(boxes)} objects, and Ultralytics finds {len(rows)}: DIFFERENT"
    pixels_off = score_off = 0.0
    for number, (*box, score, label) in enumerate(rows.tolist()):
        fits = [n for n, r in enumerate(frame.regions) if r.metadata["label_id"] == int(label)]
        if not fits:
            return f"{name}: no object of class {label:g}: DIFFERENT"
        away = np.abs(boxes[fits] - box).max(1)
        scores = np.array([frame.regions[n].confidence for n in fits])
        near = int((away + 1000 * np.abs(scores - score)).argmin())
        pixels_off = max(pixels_off, float(away[near]))
        score_off = max(score_off, abs(float(scores[near]) - score))
        region = frame.regions[fits[near]]
        if found.keypoints is not None:
            points = found.keypoints.data[number].numpy()
            result = find(region, InferenceResult)
            assert result is not None
            x, y, width, height = region.metadata["exact_box"]
            ours = result.array[:, :2] * (width, height) + (x, y)
            ours = ours.clip(0, (853, 480))  # Ultralytics puts those outside on the edge
            pixels_off = max(pixels_off, float(np.abs(ours - points[:, :2]).max()))
    fine = len(rows) >= 3 and pixels_off < 1 and score_off < 1e-3
    verdict = "the same" if fine else "DIFFERENT"
    return f"{name}: {len(rows)} objects, {pixels_off:.4f} pixels, {score_off:.6f}: {verdict}"


def without_network() -> None:
    """Ultralytics neither looks for updates nor installs anything, and computes in 32 bits."""
    os.environ |= {"YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "False"}
    compile_model: Any = openvino.Core.compile_model

    def exactly(
        core: Any, model: Any, device_name: str = "CPU", config: Any = None, **rest: Any
    ) -> Any:
        device = "CPU" if device_name == "AUTO" else device_name
        return compile_model(core, model, device, {**(config or {}), **EXACT}, **rest)

    openvino.Core.compile_model = exactly


def main(names: list[str]) -> int:
    """Compare each model, and say so.

    Args:
        names: of models; all by default.
    """
    without_network()
    lines = [compared(name) for name in names or MODELS]
    sys.stdout.write("\n".join([*lines, ""]))
    return int(any(line.endswith("DIFFERENT") for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
