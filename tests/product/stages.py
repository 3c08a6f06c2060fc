# SPDX-License-Identifier: Apache-2.0
"""The second stage: a classifier of what was found, as an element; and the same one run by hand."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes.metadata import Classification, find
from samebytes_openvino import OpenVINOInfer

from .material import Planes
from .models import Box, rgb_of

__all__ = ["REGIONS", "lights_by_hand", "lights_of", "stage_for"]

REGIONS = {
    "none": "nobody looks at them",
    "stretch": '`openvino.infer(regions=)` classifies what was found, `fit="stretch"`',
    "letterbox": 'the same, `fit="letterbox"`',
}
_SIDE = 16


def _classifier() -> openvino.Model:
    """Says how bright an image is, from 0 to 1, and how dark."""
    image = ops.parameter([1, 3, _SIDE, _SIDE], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([1, 2, 3]))
    light = ops.reshape(ops.divide(mean, ops.constant(np.float32(255))), np.array([1, 1]), False)
    dark = ops.subtract(ops.constant(np.float32(1)), light)
    shares = ops.log(ops.concat([light, dark], 1))  # the element makes shares of logarithms
    model = openvino.Model([ops.result(shares)], [image], "lightness")
    for word, value in {"model_type": "Classification", "labels": "light dark"}.items():
        model.set_rt_info(value, ["model_info", word])
    return model


def stage_for(name: str) -> list[el.Element]:
    """The element, if there is one.

    Args:
        name: of REGIONS.
    """
    if name == "none":
        return []
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    return [
        OpenVINOInfer(
            _classifier(), regions="bright", fit=name, pad=0, scale=1, color="RGB", config=exact
        )
    ]


def lights_of(frame: sb.Frame) -> list[float]:
    """The lightness of each region of a frame, as the second stage has found it.

    Args:
        frame: the frame.
    """
    found = [find(region, Classification) for region in frame.regions]
    return [
        (one.confidence or 0) if one.label == "light" else 1 - (one.confidence or 0)
        for one in found
        if one is not None
    ]


def lights_by_hand(name: str, planes: Planes, boxes: list[Box], *, full_range: bool) -> list[float]:
    """The same of a picture: converted, cut, resized and padded by hand.

    Args:
        name: of REGIONS.
        planes: of I420 or NV12.
        boxes: what was found.
        full_range: of the planes' numbers.
    """
    if name == "none":
        return []
    image = rgb_of(planes, full_range=full_range)
    return [_light(image[y : y + h, x : x + w], name) for x, y, w, h in boxes]


def _light(part: np.ndarray[Any, Any], name: str) -> float:
    height, width = part.shape[:2]
    scale = min(_SIDE / width, _SIDE / height)
    inner = (round(width * scale), round(height * scale))
    small = cv2.resize(part, (_SIDE, _SIDE) if name == "stretch" else inner)
    return float(small.sum() / (255 * 3 * _SIDE**2))
