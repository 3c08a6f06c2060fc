# SPDX-License-Identifier: Apache-2.0
"""YOLO's outputs: boxes with a score for each class, and what some say besides of each box.

Of all but the last, boxes are in pixels of the model's image.

    "yolo"          [1, 4 + classes + more, n]   centre, size; v8, 11, v5u, and 26 as exported
    "yolo-end2end"  [1, n, 6 + more]             corners, score, class; suppression is in the model
    "yolov5"        [1, n, 5 + classes]          centre, size, score of the box, scores of classes
    "yolox"         [1, n, 5 + classes]          the same in units of a grid, sizes as logarithms

"More" are the coordinates of key points, or factors of the masks in a second output, or, with
"-obb" behind the name, the angle of a turned box, whose centre and size are given by all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._found import Array, Found, around, corners, sides_of, suppressed, turned_suppressed

__all__ = ["Limits", "Yolo", "grid"]

_MOST = 300
"""Boxes of a picture, as Ultralytics has it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that decide which boxes count.

    Attributes:
        confidence: the score that a box must exceed.
        iou: the overlap from which the weaker box of a class is left out.
        agnostic: whether boxes of other classes count for that as well.
    """

    confidence: float
    iou: float
    agnostic: bool = False


@dataclass(frozen=True, slots=True)
class Yolo:
    """Reads the outputs of one model.

    Attributes:
        family: see above.
        size: (width, height) of the model's image.
        classes: how many there are.
        points: (number, 2 or 3) of key points; None where there are none.
        strides: of YOLOX's grids.
        turned: whether boxes are turned.
    """

    family: str
    size: tuple[int, int]
    classes: int
    limits: Limits
    points: tuple[int, int] | None = None
    strides: tuple[int, ...] = (8, 16, 32)
    turned: bool = False

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found.

        Args:
            outputs: the outputs of the model for one frame, float32.
        """
        rows = outputs[0][0]
        if self.family == "yolo-end2end":
            rows = rows[rows[:, 4] > self.limits.confidence][:_MOST]
            boxes, scores, labels = rows[:, :4], rows[:, 4], rows[:, 5].astype(int)
            more = rows[:, 6:]
        else:
            boxes, scores, labels, more = self._suppressed(rows)
        sides = None
        if self.turned:
            sides = sides_of(boxes, more[:, 0])
            boxes, sides = around(sides), sides / np.array(self.size, np.float32)
        found = Found(boxes / np.array(self.size * 2, np.float32), scores, labels, turned=sides)
        if self.points is not None:
            points = more.reshape(len(more), *self.points).copy()
            points[..., :2] /= self.size
            found.points = points
        elif len(outputs) > 1:
            found.masks = np.tensordot(more, outputs[1][0], 1)
        return found

    def _suppressed(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        if self.family == "yolo":
            rows = rows.T
            scores, rest = rows[:, 4 : 4 + self.classes], rows[:, 4 + self.classes :]
        else:
            scores, rest = rows[:, 5:], rows[:, :0]
            scores = scores * rows[:, 4:5]
        best = scores.max(1)
        likely = np.flatnonzero(best > self.limits.confidence)
        scores, best, rest = scores[likely], best[likely], rest[likely]
        places = self._on_grid(rows, likely) if self.family == "yolox" else rows[likely, :4]
        # A box has one class, its best; suppression looks at each class by itself.
        labels = scores.argmax(1)
        kinds = np.zeros_like(labels) if self.limits.agnostic else labels
        if self.turned:
            angles, limit = rest[:, 0], self.limits.iou
            stay = turned_suppressed(places, angles, best, kinds, limit, _MOST)
            return places[stay], best[stay], labels[stay], rest[stay]
        boxes = corners(places)
        known, kinds = np.unique(kinds, return_inverse=True)
        each = np.zeros((len(known), len(likely)), np.float32)
        each[kinds, np.arange(len(likely))] = best
        least = self.limits.confidence
        stay, _ = suppressed(boxes, each, self.limits.iou, max(least, 0.0), _MOST)
        stay = stay[:_MOST]
        return boxes[stay], best[stay], labels[stay], rest[stay]

    def _on_grid(self, rows: Array, which: Array) -> Array:
        cells, steps = grid(self.size, self.strides)
        places = rows[which, :4].copy()
        places[:, :2] = (places[:, :2] + cells[which]) * steps[which]
        places[:, 2:] = np.exp(places[:, 2:]) * steps[which]
        return places


def grid(size: tuple[int, int], strides: Sequence[int]) -> tuple[Array, Array]:
    """Column and row of each cell of the grids, one after another, and the pixels of a cell."""
    cells, steps = [], []
    for stride in strides:
        columns, rows = (-(-length // stride) for length in size)
        across, down = np.meshgrid(np.arange(columns), np.arange(rows))
        cells.append(np.stack([across.ravel(), down.ravel()], 1))
        steps.append(np.full((columns * rows, 1), stride))
    return np.concatenate(cells).astype(np.float32), np.concatenate(steps).astype(np.float32)
