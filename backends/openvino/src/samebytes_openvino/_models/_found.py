# SPDX-License-Identifier: Apache-2.0
"""The objects that a detector found in the model's image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Array", "Found", "corners"]

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Found:
    """One row for each object.

    Attributes:
        boxes: float32 [n, 4]: left, top, right and bottom in parts of the model's image.
        scores: float32 [n].
        labels: int [n], the numbers of the classes.
        points: float32 [n, points, 2 or 3]: x and y in parts of the model's image, and how sure
            the model is of each; None where it finds none.
        masks: float32 [n, rows, columns] over all of the model's image, above 0 where the object
            is; None where there are none.
        turned: float32 [n, 3, 2]: of a rectangle that is turned its middle, that of its right side
            and that of its lower side, in parts of the model's image; None where none are.
    """

    boxes: Array
    scores: Array
    labels: Array
    points: Array | None = None
    masks: Array | None = None
    turned: Array | None = None

    def __getitem__(self, which: Any) -> Found:
        """Some of them."""
        points = None if self.points is None else self.points[which]
        masks = None if self.masks is None else self.masks[which]
        turned = None if self.turned is None else self.turned[which]
        boxes, scores, labels = self.boxes[which], self.scores[which], self.labels[which]
        return Found(boxes, scores, labels, points, masks, turned)

    def __len__(self) -> int:
        return len(self.scores)


def corners(centres: Array) -> Array:
    """Left, top, right, bottom of boxes [n, 4] that are centre x, centre y, width, height."""
    half = centres[:, 2:] / 2
    return np.concatenate([centres[:, :2] - half, centres[:, :2] + half], 1)
