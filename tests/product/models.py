# SPDX-License-Identifier: Apache-2.0
"""The models that look at the frames, as elements; and the same one run by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
import openvino

import samebytes as sb
import samebytes.elements as el
import samebytes_opencv
from samebytes_openvino import OpenVINOInfer

from .material import Planes, make_model

__all__ = ["MARK", "MODELS", "Box", "Model", "boxes_by_hand", "element_for", "rgb_of"]

Box = tuple[int, int, int, int]
MARK: Box = (10, 14, 40, 30)


@dataclass(frozen=True)
class Model:
    """One of the models.

    Attributes:
        device: where it runs; "" for none, where a box is added without looking.
        parameters: of the element.
    """

    device: str
    parameters: dict[str, Any] = field(default_factory=dict)


MODELS = {
    "none": Model(""),
    "CPU": Model("CPU"),
    "GPU": Model("GPU"),
    "NPU": Model("NPU"),
    "batch": Model("CPU", {"batch": 4}),
    "resize": Model("CPU", {"resize": samebytes_opencv.resize}),
}


def _regions(frame: sb.Frame, outputs: Any) -> list[sb.Region]:
    box = _box(outputs[0].host_array().reshape(4).tolist(), frame.width, frame.height)
    return [sb.Region(*box, "bright", 0.5)]


def _box(edges: list[float], width: int, height: int) -> Box:
    left, right = (round(edge * width) for edge in edges[0::2])
    top, bottom = (round(edge * height) for edge in edges[1::2])
    return left, top, right - left, bottom - top


@el.inplace(takes=el.Image())
def mark(frame: Any) -> None:
    """Adds a box without looking."""
    frame.regions.append(sb.Region(*MARK, "bright", 0.5))


def element_for(name: str, width: int, height: int, *, copy: bool) -> el.Element:
    """The element.

    Args:
        name: of the model.
        width, height: of the frames.
        copy: what its device cannot use in place.
    """
    model = MODELS[name]
    if not model.device:
        marks: el.Element = mark()
        return marks
    network = make_model(width // 2, height // 2)
    return OpenVINOInfer(network, model.device, postprocess=_regions, copy=copy, **model.parameters)


def boxes_by_hand(pictures: list[Planes], *, full_range: bool) -> list[Box]:
    """The box that the model finds in each picture: converted, resized and inferred by hand.

    Args:
        pictures: the planes of I420 or NV12.
        full_range: of its numbers.
    """
    height, width = pictures[0][0].shape
    size = (width // 2, height // 2)
    compiled = openvino.Core().compile_model(
        make_model(*size), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    found = []
    for planes in pictures:
        image = cv2.resize(rgb_of(planes, full_range=full_range), size)
        edges = compiled(image.transpose(2, 0, 1)[None])[0]
        found.append(_box(edges.reshape(4).tolist(), width, height))
    return found


def rgb_of(planes: Planes, *, full_range: bool) -> np.ndarray[Any, np.dtype[np.float32]]:
    """By the equations of BT.601, with chroma repeated.

    Args:
        planes: of I420 or NV12.
        full_range: of its numbers.
    """
    luma, *chroma = (plane.astype(np.float64) for plane in planes)
    if len(chroma) == 1:
        chroma = [chroma[0][..., 0], chroma[0][..., 1]]
    u, v = (plane.repeat(2, 0).repeat(2, 1) - 128 for plane in chroma)
    y = luma / 255 if full_range else (luma - 16) / 219
    steps = 255 if full_range else 224
    kr, kb = 0.299, 0.114
    red, blue = y + 2 * (1 - kr) * v / steps, y + 2 * (1 - kb) * u / steps
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    rgb = np.stack((red, green, blue), -1) * 255
    return np.clip(rgb, 0, 255).astype(np.float32)
