# SPDX-License-Identifier: Apache-2.0
"""The inputs that samples/toy_inputs.py makes, for the tests of the samples."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino
from openvino import opset13 as ops

__all__ = ["FRAMES", "HEIGHT", "WIDTH", "make_model", "make_video", "make_yolo", "place"]

_made = runpy.run_path(str(Path(__file__).parents[2] / "samples" / "toy_inputs.py"))
WIDTH: int = _made["WIDTH"]
HEIGHT: int = _made["HEIGHT"]
FRAMES: int = _made["FRAMES"]
place: Callable[[int], tuple[int, int, int, int]] = _made["place"]
make_video: Callable[[Path], None] = _made["make_video"]
make_model: Callable[[Path], None] = _made["make_model"]

YOLO = """\
description: Ultralytics YOLO11n model
task: detect
imgsz: [640, 640]
names:
  0: person
  1: bicycle
end2end: false
"""


def make_yolo(path: Path) -> None:
    """Write what Ultralytics' export leaves; it finds a person in the middle of each picture."""
    image = ops.parameter([1, 3, 640, 640], np.float32, name="images")
    rows = np.zeros((1, 6, 84), np.float32)
    rows[0, :5, 0] = 320, 320, 160, 240, 0.875
    nothing = ops.multiply(ops.reduce_mean(image, [1, 2, 3]), np.float32(0))
    path.parent.mkdir()
    model = openvino.Model([ops.result(ops.add(ops.constant(rows), nothing))], [image])
    openvino.save_model(model, path)
    (path.parent / "metadata.yaml").write_text(YOLO)
