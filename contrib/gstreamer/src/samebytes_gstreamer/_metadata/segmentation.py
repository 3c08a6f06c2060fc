# SPDX-License-Identifier: Apache-2.0
"""Segmentation: a picture of numbers, each of which stands for the thing shown at its place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar

import samebytes as sb
from samebytes import Tensor
from samebytes.errors import MetadataError
from samebytes.metadata import Entry

__all__ = ["Segmentation"]

_DTYPES = ("uint8", "uint16")
_MOST_ID = 2**32 - 1


@dataclass(frozen=True, slots=True, init=False)
class Segmentation(Entry):
    """A mask for several things at once, as GstAnalyticsSegmentationMtd has it.

    It describes the picture that it was made for: parts of it and turned pictures do not get it.
    The mask of one object is an `InferenceResult` of its region, with `format="mask"`.

    Args:
        mask: uint8 or uint16 [rows, columns], of any size: each element is one of the numbers in
            `ids`, or another number for nothing. A samebytes Tensor, or an array that shares its
            bytes, which becomes one; nothing is copied.
        ids: the numbers, in the order of `labels`.
        labels: the label of each number, or an empty sequence.
        box: x_min, y_min, x_max and y_max of the area that the mask covers, in fractions of the
            picture.
        instances: True if each number is one object, False if it is all objects of a class.
            GStreamer has no function that reads it: in segmentations that were read, it is False.

    Two are equal if all of these are equal; masks are equal if they are the same object.

    Raises:
        MetadataError: an invalid value.
        UnsupportedObjectError, LayoutError: the mask is not a tensor.
    """

    about_the_whole: ClassVar[bool] = True

    mask: Tensor
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    box: tuple[float, float, float, float]
    instances: bool

    # Written out, since it takes more types than the fields have.
    def __init__(
        self,
        mask: Any,
        ids: Sequence[int],
        labels: Sequence[str] = (),
        box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0),
        *,
        instances: bool = False,
    ) -> None:
        tensor = mask if isinstance(mask, Tensor) else sb.tensor(mask)
        info = tensor.info
        if str(info.dtype) not in _DTYPES or len(info.shape) != 2 or 0 in info.shape:
            raise MetadataError(
                "Segmentation.mask", f"must be uint8 or uint16 [rows, columns], not {info}"
            )
        numbers = tuple(index(n) for n in ids)
        if not all(0 <= n <= _MOST_ID for n in numbers):
            raise MetadataError("Segmentation.ids", "must be numbers from 0 to 2**32 - 1")
        names = tuple(labels)
        if names and len(names) != len(numbers):
            raise MetadataError(
                "Segmentation.labels", f"has {len(names)} names for {len(numbers)} ids"
            )
        if not all(isinstance(name, str) for name in names):
            raise MetadataError("Segmentation.labels", "must be texts")
        sides = tuple(float(n) for n in box)
        if len(sides) != 4 or not all(map(math.isfinite, sides)):
            raise MetadataError("Segmentation.box", f"must be four finite numbers, not {box!r}")
        values = (tensor, numbers, names, sides, bool(instances))
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)
