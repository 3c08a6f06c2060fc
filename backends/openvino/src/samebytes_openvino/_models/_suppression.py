# SPDX-License-Identifier: Apache-2.0
"""Of boxes that overlap, the best one: OpenVINO's own NonMaxSuppression, on the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import openvino
from openvino import Type
from openvino import opset13 as ops

from samebytes.plugins import Lock

from .._remote._core import default_core
from ._found import Array

__all__ = ["suppressed"]

_lock = Lock()


def suppressed(
    boxes: Array, scores: Array, iou: float, least: float, most: int
) -> tuple[Array, Array]:
    """The boxes that stay when overlapping ones are left out.

    Args:
        boxes: float32 [n, 4]: left, top, right, bottom.
        scores: float32 [classes, n]. Boxes of one class suppress each other.
        iou: the overlap from which the weaker of two boxes is left out.
        least: the score that a box must exceed.
        most: the number of boxes of a class that stay at most.

    Returns:
        The numbers of boxes and of their classes, the best score first.
    """
    if not scores.size:
        none = np.zeros(0, np.int64)
        return none, none
    with _lock:  # one request, whose memory is read below
        request = _request()
        request.infer([
            np.ascontiguousarray(boxes[None], np.float32),
            np.ascontiguousarray(scores[None], np.float32),
            np.array(most, np.int64),
            np.array(iou, np.float32),
            np.array(least, np.float32),
        ])  # fmt: skip
        count = int(request.get_output_tensor(1).data.reshape(-1)[0])
        chosen = request.get_output_tensor(0).data[:count].astype(np.int64)
    classes, numbers = chosen[:, 1], chosen[:, 2]
    best = np.argsort(-scores[classes, numbers], kind="stable")
    return numbers[best], classes[best]


@lru_cache(maxsize=1)
def _request() -> Any:
    parameters = [
        ops.parameter([1, -1, 4], Type.f32),
        ops.parameter([1, -1, -1], Type.f32),
        ops.parameter([], Type.i64),
        ops.parameter([], Type.f32),
        ops.parameter([], Type.f32),
    ]
    node = ops.non_max_suppression(
        *parameters, box_encoding="corner", sort_result_descending=False, output_type="i64"
    )
    results = [ops.result(node.output(0)), ops.result(node.output(2))]
    model = openvino.Model(results, parameters, "suppression")
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    return default_core().compile_model(model, "CPU", exact).create_infer_request()
