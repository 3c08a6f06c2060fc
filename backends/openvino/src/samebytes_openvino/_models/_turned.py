# SPDX-License-Identifier: Apache-2.0
"""Boxes that are turned, as YOLO's detectors of aerial pictures give them (OBB)."""

from __future__ import annotations

import numpy as np

from ._found import Array

__all__ = ["around", "sides_of", "turned_suppressed"]


def sides_of(boxes: Array, angles: Array) -> Array:
    """Middle, middle of the right side and middle of the lower side, [n, 3, 2].

    Args:
        boxes: centre and size, [n, 4], in pixels.
        angles: by how much each is turned clockwise, in radians.
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

    As Ultralytics has it: each box is taken for a normal distribution, and the overlap of two is
    one less their Hellinger distance (Llerena and others, arXiv 2106.06072). A box goes when it
    overlaps a better one of its kind, whether or not that one stays.
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
