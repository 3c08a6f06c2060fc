# SPDX-License-Identifier: Apache-2.0
"""Reading the outputs of detectors, of YOLO and other families, and of classifiers.

YOLO's outputs are boxes with a score for each class, and in some models with more facts about each
box. In all forms but the last, boxes are in pixels of the model's image.

    "yolo"          [1, 4 + classes + more, n]   centre, size; v8, 11, v5u, and 26 as exported
    "yolo-end2end"  [1, n, 6 + more]             corners, score, class; suppression is in the model
    "yolov5"        [1, n, 5 + classes]          centre, size, score of the box, scores of classes
    "yolox"         [1, n, 5 + classes]          the same in units of a grid, sizes as logarithms

"more" stands for the coordinates of key points, or for factors of the masks in a second output. In
families with "-obb" it is the angle of a turned box, which each then gives by centre and size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._detections import Array, Found, around, corners, sides_of, suppressed, turned_suppressed

__all__ = [
    "BlazeFace",
    "CenterFace",
    "DetectionOutput",
    "Limits",
    "PicoDet",
    "RtDetr",
    "Scores",
    "Yolo",
    "anchors_of",
    "grid",
]


_MOST = 300
"""Most boxes of a picture, as in Ultralytics."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that decide which boxes count.

    Attributes:
        confidence: the score that a box must exceed.
        iou: the overlap from which the weaker box of a class is left out.
        agnostic: True if boxes of other classes also count for that.
    """

    confidence: float
    iou: float
    agnostic: bool = False


@dataclass(frozen=True, slots=True)
class Yolo:
    """Reads the outputs of a YOLO model.

    Attributes:
        family: one of the names above, without "-obb".
        size: (width, height) of the model's image.
        classes: the number of classes.
        points: (number of key points, 2 or 3 values each), or None for a model without them.
        strides: the strides of YOLOX's grids.
        turned: True if the boxes are turned.
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
            boxes, scores, labels = rows[:, :4], rows[:, 4], rows[:, 5]
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
        # A box has one class, its best. Suppression compares boxes of one class only.
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
    """The column and row of each cell of all grids in turn, and the size of each cell in pixels."""
    cells, steps = [], []
    for stride in strides:
        columns, rows = (-(-length // stride) for length in size)
        across, down = np.meshgrid(np.arange(columns), np.arange(rows))
        cells.append(np.stack([across.ravel(), down.ravel()], 1))
        steps.append(np.full((columns * rows, 1), stride))
    return np.concatenate(cells).astype(np.float32), np.concatenate(steps).astype(np.float32)


@dataclass(frozen=True, slots=True)
class DetectionOutput:
    """An SSD with OpenVINO's or Caffe's DetectionOutput at its end: [1, 1, n, 7].

    Each row holds the number of the image, the class, the score, and the corners as fractions of
    the image. A negative image number ends the list.
    """

    limits: Limits

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        rows = outputs[0].reshape(-1, 7)
        ends = np.flatnonzero(rows[:, 0] < 0)
        rows = rows[: ends[0]] if len(ends) else rows
        rows = rows[rows[:, 2] > self.limits.confidence]
        return Found(rows[:, 3:], rows[:, 2], rows[:, 1])


@dataclass(frozen=True, slots=True)
class RtDetr:
    """RT-DETR of Ultralytics: centre and size as fractions of the image.

    The output is [1, n, 6] with score and class, or, from older exporters, [1, n, 4 + classes] with
    the scores of all classes.

    Attributes:
        chosen: True for rows with score and class.
    """

    limits: Limits
    chosen: bool

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        rows = outputs[0][0]
        if self.chosen:
            scores, labels = rows[:, 4], rows[:, 5]
        else:
            scores, labels = rows[:, 4:].max(1), rows[:, 4:].argmax(1)
        which = np.flatnonzero(scores > self.limits.confidence)
        which = which[np.argsort(-scores[which], kind="stable")]
        return Found(corners(rows[which, :4]), scores[which], labels[which])


@dataclass(frozen=True, slots=True)
class PicoDet:
    """PicoDet of PaddleDetection without its own post-processing.

    For each stride there is an output [1, cells, classes] of scores, and one
    [1, cells, 4 * (n + 1)] of distances from the middle of the cell to the four sides: for each
    side the likelihoods of 0 to n cells.

    Attributes:
        pairs: each stride with the numbers of these two outputs.
    """

    limits: Limits
    size: tuple[int, int]
    pairs: tuple[tuple[int, int, int], ...]

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        boxes, scores = [], []
        for stride, of_scores, of_sides in self.pairs:
            each, sides = outputs[of_scores][0], outputs[of_sides][0]
            likely = np.flatnonzero(each.max(1) > self.limits.confidence)
            cells, _ = grid(self.size, (stride,))
            middle = (cells[likely] + 0.5) * stride
            # A distance is the mean of its distribution (the paper on generalised focal loss).
            parts = sides[likely].reshape(len(likely), 4, sides.shape[1] // 4)
            parts = np.exp(parts - parts.max(2, keepdims=True))
            parts /= parts.sum(2, keepdims=True)
            away = parts @ np.arange(parts.shape[2], dtype=np.float32) * stride
            boxes.append(np.concatenate([middle - away[:, :2], middle + away[:, 2:]], 1))
            scores.append(each[likely])
        corner, score = np.concatenate(boxes), np.concatenate(scores).T
        stay, labels = suppressed(corner, score, self.limits.iou, self.limits.confidence, 100)
        found = score[labels, stay]
        return Found(corner[stay] / np.array(self.size * 2, np.float32), found, labels)


@dataclass(frozen=True, slots=True)
class CenterFace:
    """CenterFace: for each cell of 4 pixels, the likelihood that a face has its middle there.

    The four outputs are that likelihood, the logarithms of height and width, the position of the
    middle in the cell, and five points as fractions of the box, y before x.

    Attributes:
        order: the numbers of these four outputs.
    """

    limits: Limits
    size: tuple[int, int]
    order: tuple[int, int, int, int]

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        heat, scale, offset, marks = (outputs[number][0] for number in self.order)
        rows, columns = np.nonzero(heat[0] > self.limits.confidence)
        scores = heat[0, rows, columns]
        extent = np.exp(scale[:, rows, columns])[::-1].T * 4
        cells = np.stack([columns, rows], 1)
        middle = (cells + offset[::-1, rows, columns].T + 0.5) * 4
        size = np.array(self.size, np.float32)
        first = np.clip(middle - extent / 2, 0, size)
        boxes = np.concatenate([first, np.minimum(first + extent, size)], 1)
        found = marks[:, rows, columns].T.reshape(len(rows), 5, 2)[..., ::-1]
        points = (found * extent[:, None] + first[:, None]) / size
        stay, _ = suppressed(boxes, scores[None], self.limits.iou, self.limits.confidence, 300)
        labels = np.zeros(len(stay), int)
        parts = (boxes[stay] / np.tile(size, 2)).astype(np.float32)
        return Found(parts, scores[stay], labels, points[stay].astype(np.float32))


@dataclass(frozen=True, slots=True)
class Scores:
    """A classifier: [1, classes].

    Attributes:
        softmax: True if softmax has still to turn its numbers into probabilities.
    """

    softmax: bool

    def __call__(self, outputs: Sequence[Array]) -> Array:
        """The score of each class, after softmax if that is set."""
        scores = outputs[0].reshape(-1)
        if self.softmax:
            scores = np.exp(scores - scores.max())
            scores = scores / scores.sum()
        made: Array = scores
        return made


# (pixels of a cell, anchors in its middle) of each grid; models for nearby and for distant faces.
_GRIDS = (((8, 2), (16, 6)), ((16, 2), (32, 6)), ((4, 1),))
_EDGE = 80.0
"""Beyond it, the exponential of a float32 overflows; the score is 0 or 1 there anyway."""


def anchors_of(shapes: Sequence[tuple[int, ...]], size: tuple[int, int]) -> Array | None:
    """The middles of BlazeFace's anchors as fractions of the image, [n, 2]; None for other models.

    Args:
        shapes: the shapes of the outputs.
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
    """BlazeFace: [1, n, 16] of middle, size and six points in pixels, and [1, n, 1] of scores.

    The middle and the points are relative to the anchor.

    Attributes:
        limits: boxes that overlap by more than its `iou` are merged: see `_merged`.
        anchors: as `anchors_of` gives them.
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
    """Merge each best box with those that overlap it into their mean, weighted by the scores."""
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
