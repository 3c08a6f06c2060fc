# SPDX-License-Identifier: Apache-2.0
"""Outputs of detectors other than YOLO, and of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._found import Array, Found, corners
from ._suppression import suppressed
from ._yolo import Limits, grid

__all__ = ["CenterFace", "DetectionOutput", "PicoDet", "RtDetr", "Scores"]


@dataclass(frozen=True, slots=True)
class DetectionOutput:
    """An SSD with OpenVINO's or Caffe's DetectionOutput at its end: [1, 1, n, 7].

    Each row is the number of the image, class, score, and the corners in parts of the image. A
    number below 0 ends the list.
    """

    limits: Limits

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        rows = outputs[0].reshape(-1, 7)
        ends = np.flatnonzero(rows[:, 0] < 0)
        rows = rows[: ends[0]] if len(ends) else rows
        rows = rows[rows[:, 2] > self.limits.confidence]
        return Found(rows[:, 3:], rows[:, 2], rows[:, 1].astype(int))


@dataclass(frozen=True, slots=True)
class RtDetr:
    """RT-DETR of Ultralytics: centre and size in parts of the image.

    [1, n, 6] with score and class, or, of older exporters, [1, n, 4 + classes] with the scores of
    all classes.
    """

    limits: Limits
    chosen: bool

    def __call__(self, outputs: Sequence[Array]) -> Found:
        """The objects that were found."""
        rows = outputs[0][0]
        if self.chosen:
            scores, labels = rows[:, 4], rows[:, 5].astype(int)
        else:
            scores, labels = rows[:, 4:].max(1), rows[:, 4:].argmax(1)
        which = np.flatnonzero(scores > self.limits.confidence)
        which = which[np.argsort(-scores[which], kind="stable")]
        return Found(corners(rows[which, :4]), scores[which], labels[which])


@dataclass(frozen=True, slots=True)
class PicoDet:
    """PicoDet of PaddleDetection without its own post-processing.

    For each stride an output [1, cells, classes] of scores and one [1, cells, 4 * (n + 1)] of
    distances from the middle of the cell to the sides: how likely each is 0 to n cells.

    Attributes:
        pairs: for each stride the numbers of these two outputs.
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
            # As the paper on generalised focal loss has it: the mean of a distribution.
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
    """CenterFace: for each cell of 4 pixels how likely a face has its middle there.

    The outputs are that, the logarithms of height and width, where in the cell the middle is, and
    five points in parts of the box, y before x.

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
        softmax: its numbers become probabilities by it.
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
