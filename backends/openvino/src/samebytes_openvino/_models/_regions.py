# SPDX-License-Identifier: Apache-2.0
"""From what was found in the model's image to regions of the frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from samebytes import Frame, Region
from samebytes.metadata import AffineTransform, InferenceResult, add

from ._found import Array, Found, around

__all__ = ["Box", "regions_of_found"]

Box = tuple[int, int, int, int]
"""x, y, width and height in pixels."""

_PERSON = (
    "nose", "eye_l", "eye_r", "ear_l", "ear_r", "shoulder_l", "shoulder_r", "elbow_l", "elbow_r",
    "wrist_l", "wrist_r", "hip_l", "hip_r", "knee_l", "knee_r", "ankle_l", "ankle_r",
)  # fmt: skip
"""The points of a person, as COCO has them: those of every model with 17."""


def regions_of_found(
    found: Found, frame: Frame[Any], transform: AffineTransform, labels: Sequence[str], seen: Box
) -> list[Region]:
    """Regions, the best first; what lies outside of what the model saw is cut off.

    Args:
        transform: from the model's image to the frame.
        labels: the names of classes by their numbers.
        seen: the part of the frame that the model saw.
    """
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
    for number in range(len(found)):
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
    """x, y, width and height before it is turned, and by how much, in radians clockwise."""
    middle, right, lower = sides.tolist()
    width, height = 2 * math.dist(middle, right), 2 * math.dist(middle, lower)
    angle = math.atan2(right[1] - middle[1], right[0] - middle[0])
    return middle[0] - width / 2, middle[1] - height / 2, width, height, angle


def _mapped(points: Array, transform: AffineTransform) -> Array:
    a, b, c, d, e, f = transform.matrix
    x, y = points[:, 0].astype(float), points[:, 1].astype(float)
    return np.stack([a * x + b * y + c, d * x + e * y + f], 1)


def _mask(whole: Array, region: Region, frame: Frame[Any], transform: AffineTransform) -> Array:
    """1 for each pixel of a region that shows the object, else 0: between four of the mask."""
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
