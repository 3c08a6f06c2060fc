# SPDX-License-Identifier: Apache-2.0
"""Compare openvino.infer with Ultralytics' predictor, on models with random weights.

    python3 -m tests.predictors [--device CPU,GPU,NPU] [MODEL ...]

Ultralytics runs on the CPU, openvino.infer on each of the devices. `python3 -m
samebytes_softdevices run --gpu --npu -- python3 -m tests.predictors --device CPU,GPU,NPU` has
software ones. Where boxes differ on a device, the line ends with how far OpenVINO alone is from its
own CPU there.

It needs `pip install ultralytics`, whose licence is AGPL-3.0: in an environment of its own. Nothing
is downloaded: the models are made of Ultralytics' descriptions, their normalisation is fitted to
some pictures so that they find things, and Ultralytics exports them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openvino

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
from samebytes.metadata import Classification, InferenceResult, find
from samebytes_openvino import OpenVINOInfer

Array = np.ndarray[Any, Any]
MODELS = ("yolov5n", "yolov8n", "yolo11n", "yolo26n", "yolo26n-end2end", "yolov8n-pose",
          "yolov8n-seg", "yolov8n-obb", "yolo26n-obb-end2end", "yolov8n-cls",
          "rtdetr-l")  # fmt: skip
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
SIZE = (320, 224)
PICTURE = (853, 480)
# Ultralytics cuts padding off masks by whole pixels of theirs, which are twelve of the picture.
UNPADDED = (640, 448)
DIFFERENT = "DIFFERENT"


def size_of(name: str) -> tuple[int, int]:
    """(width, height) of a model's image."""
    return {"rtdetr-l": (320, 320), "yolov8n-cls": (224, 224)}.get(name, SIZE)


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
    size = size_of(name)
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


def predictor(name: str, made: Path) -> Any:
    """Ultralytics' own user of a model."""
    ultralytics: Any = import_module("ultralytics")
    kind = ultralytics.RTDETR if name.startswith("rtdetr") else ultralytics.YOLO
    return kind(str(made))


def predicted(name: str, made: Path, pixels: Array) -> tuple[Any, float]:
    """The objects that Ultralytics finds, and the confidence at which it finds some 60 of them."""
    model, size = predictor(name, made), [*reversed(size_of(name))]
    confidence = 1e-4
    for _ in range(2):
        found = model.predict(
            pixels, conf=confidence, imgsz=size, verbose=False, device="cpu", max_det=300,
            retina_masks=True,
        )[0]  # fmt: skip
        scores = np.sort((found.boxes if found.obb is None else found.obb).conf.numpy())
        if len(scores) <= 100:
            break
        confidence = float(scores[-60] + scores[-61]) / 2  # between two
    return found, confidence


def compared(name: str, devices: Sequence[str]) -> Iterator[str]:
    """Yield the differences: "yolov8n on CPU: 60 objects, 0.001 pixels, 0.00001: the same"."""
    size = SIZE if name.endswith("-cls") else UNPADDED if name.endswith("-seg") else PICTURE
    pixels = picture(np.random.default_rng(0), *size)
    with tempfile.TemporaryDirectory() as folder:
        made = exported(name, Path(folder))
        if name.endswith("-cls"):
            found, confidence = most_likely(name, made, pixels), None
        else:
            found, confidence = predicted(name, made, pixels)
        for device in devices:
            frame = inferred(made, pixels, confidence, device)
            said = _class_apart(found, frame) if confidence is None else _apart(found, frame, size)
            if said.endswith(DIFFERENT) and device != "CPU":
                said += f"; {alone(made, device)} in OpenVINO's outputs alone"
            yield f"{name} on {device}: {said}"


def _apart(found: Any, frame: sb.Frame[Any], size: tuple[int, int]) -> str:
    """Objects, and how far they are apart: in pixels, in the score, in masks."""
    rows = corners_of(found, size)
    boxes = np.array([outline(region) for region in frame.regions]).reshape(-1, rows.shape[1] - 2)
    if len(rows) != len(boxes):
        return f"{len(boxes)} objects, and Ultralytics finds {len(rows)}: {DIFFERENT}"
    pixels_off = score_off = 0.0
    both = either = 0
    for number, (*box, score, label) in enumerate(rows.tolist()):
        fits = [n for n, r in enumerate(frame.regions) if r.metadata["label_id"] == int(label)]
        if not fits:
            return f"no object of class {label:g}: {DIFFERENT}"
        away = distances(boxes[fits], np.array(box))
        scores = np.array([frame.regions[n].confidence for n in fits])
        near = int((away + 1000 * np.abs(scores - score)).argmin())
        pixels_off = max(pixels_off, float(away[near]))
        score_off = max(score_off, abs(float(scores[near]) - score))
        region = frame.regions[fits[near]]
        if found.keypoints is not None:
            ours = points_of(region, size)
            theirs = found.keypoints.data[number].numpy()[:, :2]
            pixels_off = max(pixels_off, float(np.abs(ours - theirs).max()))
        if found.masks is not None:
            of_both, of_either = overlap_of(region, found.masks.data[number].numpy() > 0)
            both, either = both + of_both, either + of_either
    overlap = both / either if either else 1.0
    fine = len(rows) >= 3 and pixels_off < 1 and score_off < 1e-3 and overlap > 0.99
    masks = "" if found.masks is None else f", {overlap:.4f} of {either} pixels of masks"
    verdict = "the same" if fine else DIFFERENT
    return f"{len(rows)} objects, {pixels_off:.4f} pixels, {score_off:.6f}{masks}: {verdict}"


def alone(made: Path, device: str) -> str:
    """The largest difference of a model's outputs on a device to those on the CPU.

    Each column is sorted before, since objects of nearly one score may change places.
    """
    core = openvino.Core()
    model = core.read_model(next(made.glob("*.xml")))
    width, height = model.inputs[0].shape[:1:-1]
    pixels = picture(np.random.default_rng(0), width, height).transpose(2, 0, 1)[None]
    there, here = (
        core.compile_model(model, name, {} if name == "NPU" else EXACT)(pixels / np.float32(255))
        for name in (device, "CPU")
    )
    sorted_ = [
        [np.sort(found[n], -2) for n in range(len(model.outputs))] for found in (there, here)
    ]
    apart = [np.abs(one - other).max() for one, other in zip(*sorted_, strict=True)]
    return ", ".join(f"{number:.4g}" for number in apart)


def inferred(made: Path, pixels: Array, confidence: float | None, device: str) -> sb.Frame[Any]:
    """The frame that openvino.infer has looked at."""
    path = next(made.glob("*.xml"))
    infer = OpenVINOInfer(
        path, device, confidence=confidence, resize=samebytes_opencv.resize,
        config={} if device == "NPU" else EXACT,  # an NPU refuses 32 bits
    )  # fmt: skip
    frame = sb.frame(pixels, format="BGR")
    el.Pipeline([frame], infer).run(threads=0)
    return frame


def corners_of(found: Any, size: tuple[int, int]) -> Array:
    """Corners, score and class of what Ultralytics has found, one row for each."""
    if found.obb is None:
        rows: Array = found.boxes.data.numpy()
        rows[:, :4] = rows[:, :4].clip(0, size * 2)  # those of RT-DETR reach beyond
        return rows
    boxes = found.obb.data.numpy()
    corners = [turned(*box) for box in boxes[:, :5].tolist()]
    return np.concatenate([np.array(corners).reshape(-1, 8), boxes[:, 5:]], 1)


def outline(region: sb.Region) -> Array:
    """The same of a region, as far as both cut it to the picture."""
    if "oriented_box" in region.metadata:
        x, y, width, height, angle = region.metadata["oriented_box"]
        return turned(x + width / 2, y + height / 2, width, height, angle)
    x, y, width, height = region.metadata["exact_box"]
    return np.array([x, y, x + width, y + height])


def turned(x: float, y: float, width: float, height: float, angle: float) -> Array:
    """The four corners."""
    right = np.array([np.cos(angle), np.sin(angle)]) * width / 2
    lower = np.array([-np.sin(angle), np.cos(angle)]) * height / 2
    corners = np.array([-right - lower, right - lower, right + lower, lower - right])
    return np.array(corners + np.array([x, y])).reshape(-1)


def distances(boxes: Array, box: Array) -> Array:
    """The distance of each from a box, whichever of that box's corners comes first."""
    starts = [np.roll(box, 2 * n) for n in range(4 if len(box) == 8 else 1)]
    found: Array = np.min([np.abs(boxes - start).max(1) for start in starts], 0)
    return found


def points_of(region: sb.Region, size: tuple[int, int]) -> Array:
    """Key points in pixels; Ultralytics puts those outside of the picture on its edge."""
    result = find(region, InferenceResult)
    assert result is not None
    x, y, width, height = region.metadata["exact_box"]
    found: Array = (result.array[:, :2] * (width, height) + (x, y)).clip(0, size)
    return found


def overlap_of(region: sb.Region, theirs: Array) -> tuple[int, int]:
    """The number of pixels in both masks, and in either: inside the box, not on its edge."""
    result = find(region, InferenceResult)
    if result is None or min(region.width, region.height) < 3:
        return 0, 0
    x, y, width, height = region.box
    ours = result.array[1:-1, 1:-1] > 0
    theirs = theirs[y + 1 : y + height - 1, x + 1 : x + width - 1]
    return int(np.count_nonzero(ours & theirs)), int(np.count_nonzero(ours | theirs))


def most_likely(name: str, made: Path, pixels: Array) -> Any:
    """The classes that Ultralytics finds in a picture that it has not to scale, but to cut."""
    size = size_of(name)[0]
    return predictor(name, made).predict(pixels, imgsz=size, verbose=False, device="cpu")[0].probs


def _class_apart(found: Any, frame: sb.Frame[Any]) -> str:
    """The most likely class, and how far its scores are apart."""
    ours = find(frame, Classification)
    assert ours is not None
    off = abs((ours.confidence or 0) - float(found.top1conf))
    fine = ours.label_id == found.top1 and off < 1e-3
    return f"class {ours.label_id}, {off:.6f}: {'the same' if fine else DIFFERENT}"


def without_network() -> None:
    """Ultralytics neither looks for updates nor installs anything, and computes in 32 bits."""
    os.environ |= {"YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "False"}
    compile_model: Any = openvino.Core.compile_model

    def exactly(
        core: Any, model: Any, device_name: str = "CPU", config: Any = None, **rest: Any
    ) -> Any:
        if device_name not in ("AUTO", "CPU"):  # openvino.infer's, which says it where it can be
            return compile_model(core, model, device_name, config, **rest)
        return compile_model(core, model, "CPU", {**(config or {}), **EXACT}, **rest)

    openvino.Core.compile_model = exactly


def main(arguments: list[str]) -> int:
    """Compare each model, and say so.

    Args:
        arguments: the devices, and names of models; all by default.
    """
    parser = argparse.ArgumentParser(prog="python3 -m tests.predictors")
    parser.add_argument("--device", default="CPU", help="CPU, GPU and NPU, with commas between")
    parser.add_argument("model", nargs="*", default=MODELS)
    asked = parser.parse_args(arguments)
    without_network()
    different = False
    for name in asked.model:
        for line in compared(name, asked.device.split(",")):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            different |= DIFFERENT in line
    return int(different)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
