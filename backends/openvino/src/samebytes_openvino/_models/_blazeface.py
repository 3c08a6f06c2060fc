# SPDX-License-Identifier: Apache-2.0
"""BlazeFace, MediaPipe's detector of faces: boxes around anchors, merged where they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._found import Array, Found
from ._yolo import Limits, grid

__all__ = ["BlazeFace", "anchors_of"]

# (pixels of a cell, anchors in its middle) of each grid, for nearby and for distant faces.
_GRIDS = (((8, 2), (16, 6)), ((16, 2), (32, 6)), ((4, 1),))
_EDGE = 80.0
"""Beyond it the exponential of a float32 overflows, and the score is 0 or 1."""


def anchors_of(shapes: Sequence[tuple[int, ...]], size: tuple[int, int]) -> Array | None:
    """The middles of the anchors in parts of the image, [n, 2]; None for other models.

    Args:
        shapes: of the outputs.
        size: (width, height) of the model's image.
    """
    if sorted(shape[2:] for shape in shapes if len(shape) == 3) != [(1,), (16,)]:
        return None
    if len(shapes) != 2 or shapes[0][1] != shapes[1][1]:
        return None
    for grids in _GRIDS:
        middles = [
            np.repeat((cells + 0.5) * steps / size, each, 0)
            for stride, each in grids
            for cells, steps in [grid(size, (stride,))]
        ]
        found: Array = np.concatenate(middles).astype(np.float32)
        if len(found) == shapes[0][1]:
            return found
    return None


@dataclass(frozen=True, slots=True)
class BlazeFace:
    """Two outputs: [1, n, 16] of middle, size and six points, in pixels, and [1, n, 1] of scores.

    Middle and points are counted from the anchor.

    Attributes:
        limits: `iou` is the overlap from which boxes become one, the mean by their scores.
        anchors: see `anchors_of`.
    """

    limits: Limits
    size: tuple[int, int]
    anchors: Array

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        places, raw = sorted((output[0] for output in outputs), key=lambda a: -a.shape[1])
        scores = 1 / (1 + np.exp(-raw[:, 0].clip(-_EDGE, _EDGE)))
        likely = np.flatnonzero(scores > self.limits.confidence)
        pairs = places[likely].reshape(len(likely), 8, 2) / np.array(self.size, np.float32)
        pairs[:, 0] += self.anchors[likely]
        pairs[:, 2:] += self.anchors[likely][:, None]
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] - pairs[:, 1] / 2, pairs[:, 0] + pairs[:, 1] / 2
        real = (pairs[:, 1] > pairs[:, 0]).all(1)
        rows, best = _merged(pairs[real], scores[likely][real], self.limits.iou)
        return Found(rows[:, :2].reshape(-1, 4), best, np.zeros(len(rows), int), rows[:, 2:])


def _merged(rows: Array, scores: Array, iou: float) -> tuple[Array, Array]:
    """Each best box with those that overlap it: their mean, weighed by their scores."""
    left = np.argsort(-scores, kind="stable")
    made, best = [], []
    while len(left):
        first, others = rows[left[0]], rows[left]
        begin = np.maximum(first[0], others[:, 0])
        extent = (np.minimum(first[1], others[:, 1]) - begin).clip(0)
        shared = extent.prod(1)
        areas = (others[:, 1] - others[:, 0]).prod(1)
        near = shared / (areas[0] + areas - shared) > iou
        near[0] = True
        weights = scores[left[near]]
        made.append((others[near] * weights[:, None, None]).sum(0) / weights.sum())
        best.append(scores[left[0]])
        left = left[~near]
    return (
        np.array(made, np.float32).reshape(-1, 8, 2),
        np.array(best, np.float32),
    )
