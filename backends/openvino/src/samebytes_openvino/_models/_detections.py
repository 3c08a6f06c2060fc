# SPDX-License-Identifier: Apache-2.0
"""The objects that a detector found in the model's image, and the frame's regions for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import openvino
from openvino import Type
from openvino import opset13 as ops

from samebytes import Frame, Region
from samebytes.metadata import AffineTransform, InferenceResult, add
from samebytes.plugins import Lock

from .._core import default_core

__all__ = [
    "Array",
    "Box",
    "Found",
    "around",
    "corners",
    "regions_of_found",
    "sides_of",
    "suppressed",
    "turned_suppressed",
]

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Found:
    """The objects found: every array has one row for each.

    Attributes:
        boxes: float32 [n, 4]: left, top, right and bottom as fractions of the model's image.
        scores: float32 [n].
        labels: [n], the numbers of the classes.
        points: float32 [n, points, 2 or 3]: x and y as fractions of the model's image, and the
            confidence of each point; None if the model finds no points.
        masks: float32 [n, rows, columns] over all of the model's image, above 0 where the object
            is; None if the model gives no masks.
        turned: float32 [n, 3, 2], for models of turned rectangles: the middle of each, the middle
            of its right side and that of its lower side, as fractions of the model's image; None
            for other models.
    """

    boxes: Array
    scores: Array
    labels: Array
    points: Array | None = None
    masks: Array | None = None
    turned: Array | None = None

    def __getitem__(self, which: Any) -> Found:
        """The objects of the chosen rows."""
        points = None if self.points is None else self.points[which]
        masks = None if self.masks is None else self.masks[which]
        turned = None if self.turned is None else self.turned[which]
        boxes, scores, labels = self.boxes[which], self.scores[which], self.labels[which]
        return Found(boxes, scores, labels, points, masks, turned)

    def __len__(self) -> int:
        return len(self.scores)

    def finite(self) -> Found:
        """The objects without NaN or infinity in place, score, class or points."""
        arrays = (self.boxes, self.scores, self.labels, self.points, self.turned)
        fits = np.ones(len(self), bool)
        for array in arrays:
            if array is not None:
                fits &= np.isfinite(array).all(tuple(range(1, array.ndim)))
        return self[fits]


def corners(centres: Array) -> Array:
    """Left, top, right, bottom of boxes [n, 4] given as centre x, centre y, width, height."""
    half = centres[:, 2:] / 2
    return np.concatenate([centres[:, :2] - half, centres[:, :2] + half], 1)


def sides_of(boxes: Array, angles: Array) -> Array:
    """The middles of rectangles, of their right sides and of their lower sides, [n, 3, 2].

    Args:
        boxes: centre and size, [n, 4], in pixels.
        angles: the angle by which each is turned clockwise, in radians.
    """
    middle, half = boxes[:, :2], boxes[:, 2:] / 2
    cosine, sine = np.cos(angles), np.sin(angles)
    right = middle + np.stack([cosine, sine], 1) * half[:, :1]
    lower = middle + np.stack([-sine, cosine], 1) * half[:, 1:]
    return np.stack([middle, right, lower], 1)


def around(sides: Array) -> Array:
    """Left, top, right and bottom around rectangles, [n, 4]."""
    middle = sides[:, 0]
    reach = np.abs(sides[:, 1] - middle) + np.abs(sides[:, 2] - middle)
    return np.concatenate([middle - reach, middle + reach], 1)


def turned_suppressed(
    boxes: Array, angles: Array, scores: Array, kinds: Array, iou: float, most: int
) -> Array:
    """The numbers of the boxes that stay, the best first.

    As in Ultralytics, each box stands for a normal distribution, and the overlap of two is one
    minus their Hellinger distance (Llerena and others, arXiv 2106.06072). A box is left out if it
    overlaps a better one of its kind, even if that one is left out too.
    """
    order = np.argsort(-scores, kind="stable")
    if not len(order):
        return order
    middle, kinds = boxes[order, :2].astype(float), kinds[order]
    wide, high = (boxes[order, n].astype(float) ** 2 / 12 for n in (2, 3))
    cosine, sine = np.cos(angles[order].astype(float)), np.sin(angles[order].astype(float))
    xx = wide * cosine**2 + high * sine**2
    yy = wide * sine**2 + high * cosine**2
    xy = (wide - high) * cosine * sine
    own = np.maximum(xx * yy - xy**2, 0)
    a, b, c = (one[:, None] + one for one in (xx, yy, xy))
    x, y = (middle[:, None, n] - middle[None, :, n] for n in (0, 1))
    both = a * b - c**2
    tiny = 1e-7
    apart = ((a * y**2 + b * x**2) / 4 - c * x * y / 2) / (both + tiny)
    apart += np.log(both / (4 * np.sqrt(own[:, None] * own) + tiny) + tiny) / 2
    overlap = 1 - np.sqrt(1 - np.exp(-apart.clip(tiny, 100)) + tiny)
    better = np.triu((overlap >= iou) & (kinds[:, None] == kinds), 1)
    stay: Array = order[~better.any(0)][:most]
    return stay


_lock = Lock()


def suppressed(
    boxes: Array, scores: Array, iou: float, least: float, most: int
) -> tuple[Array, Array]:
    """The boxes that stay when overlapping ones are left out.

    Args:
        boxes: float32 [n, 4]: left, top, right, bottom.
        scores: float32 [classes, n]. Boxes of one class suppress each other.
        iou: the overlap above which the weaker of two boxes is left out.
        least: the score that a box must exceed.
        most: the most boxes of one class that stay.

    Returns:
        The numbers of boxes and of their classes, the best score first.
    """
    if not scores.size:
        none = np.zeros(0, np.int64)
        return none, none
    with _lock:  # all calls share one request, whose memory is read below
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


Box = tuple[int, int, int, int]
"""x, y, width and height in pixels."""

_PERSON = (
    "nose", "eye_l", "eye_r", "ear_l", "ear_r", "shoulder_l", "shoulder_r", "elbow_l", "elbow_r",
    "wrist_l", "wrist_r", "hip_l", "hip_r", "knee_l", "knee_r", "ankle_l", "ankle_r",
)  # fmt: skip
"""The points of a person in COCO; every model with 17 points is taken to have these."""


def regions_of_found(
    found: Found, frame: Frame[Any], transform: AffineTransform, labels: Sequence[str], seen: Box
) -> list[Region]:
    """Regions, the best first, cut to the part of the frame that the model saw.

    An object gets no region if less than half a pixel of it is left, such as one that a detector
    finds in the padding of a letterbox, or if its numbers are not finite.

    Args:
        transform: from the model's image to the frame.
        labels: the names of classes by their numbers.
        seen: the part of the frame that the model saw.
    """
    found = found.finite()
    size = np.array((frame.width, frame.height), float)
    ends = np.stack(
        [_mapped(found.boxes[:, :2], transform), _mapped(found.boxes[:, 2:], transform)]
    )
    sides = None
    if found.turned is not None:
        places = _mapped(found.turned.reshape(-1, 2), transform).reshape(-1, 3, 2)
        sides = places * size
        ends = np.stack(np.split(around(places), 2, 1))
    first = np.array(seen[:2], float)
    last = first + seen[2:]
    low, high = (np.clip(end * size, first, last) for end in (ends.min(0), ends.max(0)))
    regions = []
    outside = (np.round(low) >= np.round(high)).any(1)
    for number in np.flatnonzero(~outside).tolist():
        (left, top), (right, bottom) = low[number].tolist(), high[number].tolist()
        x, y = round(left), round(top)
        label = int(found.labels[number])
        region = Region(
            x, y, round(right) - x, round(bottom) - y,
            labels[label] if 0 <= label < len(labels) else str(label),
            float(found.scores[number]),
            {"label_id": label, "exact_box": (left, top, right - left, bottom - top)},
        )  # fmt: skip
        if sides is not None:
            region.metadata["oriented_box"] = _oriented(sides[number])
        if found.points is not None:
            points = _mapped(found.points[number, :, :2], transform) * size
            within = (points - (left, top)) / np.maximum((right - left, bottom - top), 1e-9)
            sure = found.points[number, :, 2:]
            array = np.concatenate([within, sure], 1).astype(np.float32)
            names = _PERSON if len(points) == len(_PERSON) else ()
            add(region, InferenceResult(array, format="keypoints", point_names=names))
        if found.masks is not None and region.width and region.height:
            mask = _mask(found.masks[number], region, frame, transform)
            add(region, InferenceResult(mask, format="mask", layout="HW"))
        regions.append(region)
    return regions


def _oriented(sides: Array) -> tuple[float, float, float, float, float]:
    """x, y, width and height before the turn, and the angle in radians clockwise."""
    middle, right, lower = sides.tolist()
    width, height = 2 * math.dist(middle, right), 2 * math.dist(middle, lower)
    angle = math.atan2(right[1] - middle[1], right[0] - middle[0])
    return middle[0] - width / 2, middle[1] - height / 2, width, height, angle


def _mapped(points: Array, transform: AffineTransform) -> Array:
    a, b, c, d, e, f = transform.matrix
    x, y = points[:, 0].astype(float), points[:, 1].astype(float)
    return np.stack([a * x + b * y + c, d * x + e * y + f], 1)


def _mask(whole: Array, region: Region, frame: Frame[Any], transform: AffineTransform) -> Array:
    """1 for each pixel of a region that shows the object, else 0, interpolated bilinearly."""
    across, down = np.meshgrid(
        (region.x + 0.5 + np.arange(region.width)) / frame.width,
        (region.y + 0.5 + np.arange(region.height)) / frame.height,
    )
    places = _mapped(np.stack([across.ravel(), down.ravel()], 1), transform.inverse())
    rows, columns = whole.shape
    x, y = places[:, 0] * columns - 0.5, places[:, 1] * rows - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    x, y = x - left, y - top
    above, below = top.clip(0, rows - 1), (top + 1).clip(0, rows - 1)
    before, after = left.clip(0, columns - 1), (left + 1).clip(0, columns - 1)
    upper = whole[above, before] * (1 - x) + whole[above, after] * x
    lower = whole[below, before] * (1 - x) + whole[below, after] * x
    inside: Array = (upper * (1 - y) + lower * y) > 0
    return inside.reshape(region.height, region.width).astype(np.uint8)
