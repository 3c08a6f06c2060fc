# SPDX-License-Identifier: Apache-2.0
"""Models whose outputs are known numbers, whatever the picture, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes import Frame
from samebytes.testing import missing_device
from samebytes_openvino import OpenVINOInfer

__all__ = [
    "CAT",
    "CAT_IN_FRAME",
    "DOG",
    "WEAKER",
    "YOLO",
    "Array",
    "answering",
    "end_rows",
    "found_by",
    "skip_without",
    "yolo_rows",
]

Array = np.ndarray[Any, Any]

YOLO = {
    "model_type": "YOLO",
    "labels": "cat dog",
    "resize_type": "fit_to_window_letterbox",
    "pad_value": "114",
    "reverse_input_channels": "YES",
    "scale_values": "255",
    "iou_threshold": "0.7",
}
# The frame is 128x96, the model's image 64x64: a letterbox of 64x48 at (0, 8), half as large.
CAT = (20.0, 20.0, 10.0, 8.0, 0, 0.9)
WEAKER = (21.0, 20.0, 10.0, 8.0, 0, 0.8)  # overlaps by 9/11
DOG = (21.0, 20.0, 10.0, 8.0, 1, 0.5)
CAT_IN_FRAME = (30.0, 16.0, 20.0, 16.0)


def answering(
    *answers: Array,
    size: tuple[int, int] = (64, 64),
    info: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> openvino.Model:
    """A model of images that gives these arrays."""
    image = ops.parameter([1, 3, size[1], size[0]], dtype, name="image")
    mean = ops.reduce_mean(ops.convert(image, np.float32), np.array([1, 2, 3]))
    nothing = ops.multiply(mean, ops.constant(np.float32(0)))  # one number for each of a batch
    results = []
    for answer in answers:
        each = ops.reshape(nothing, np.array([-1] + [1] * (answer.ndim - 1)), False)
        results.append(ops.result(ops.add(ops.constant(answer.astype(np.float32)), each)))
    model = openvino.Model(results, [image], "answering")
    for word, value in (info or {}).items():
        model.set_rt_info(value, ["model_info", word])
    return model


def yolo_rows(classes: int, *boxes: tuple[float, ...], cells: int = 84) -> Array:
    """[1, 4 + classes, cells]: each box is centre, size, class and score; the other cells empty."""
    rows = np.zeros((1, 4 + classes, cells), np.float32)
    for number, (*place, label, score) in enumerate(boxes):
        rows[0, :4, 3 * number] = place
        rows[0, 4 + int(label), 3 * number] = score
    return rows


def found_by(
    model: openvino.Model | Path, frame: Frame[Any] | None = None, **parameters: Any
) -> Frame[Any]:
    """A frame that went through openvino.infer."""
    if frame is None:
        frame = sb.context("cpu").allocate_frame("NV12", 128, 96)
    on_npu = parameters.get("device") == "NPU"
    config = {} if on_npu else {"INFERENCE_PRECISION_HINT": "f32"}
    infer = OpenVINOInfer(model, config=config, **parameters)
    with el.Pipeline([frame], infer).start(threads=0) as out:
        (came,) = out
        came.metadata["explained"] = infer.explain()
    return came


def end_rows(*rows: tuple[float, ...], count: int = 9, width: int = 6) -> Array:
    made = np.zeros((1, count, width), np.float32)
    for number, row in enumerate(rows):
        made[0, number, : len(row)] = row
    return made


def skip_without(device: str) -> None:
    if not any(name.startswith(device) for name in openvino.Core().available_devices):
        pytest.skip(missing_device(device))
