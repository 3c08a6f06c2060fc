# SPDX-License-Identifier: Apache-2.0
"""Masks and key points of a region that was cut or turned: both are relative to its box."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import SamebytesError
from ._entries import InferenceResult
from ._entry import Entry

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Box", "Moved", "entries_of_cut", "is_straight"]

Box = tuple[int, int, int, int]
"""x, y, width and height in pixels."""
Moved = Callable[[float, float], tuple[float, float]]
"""The place in the new picture of a point of the old one, both in pixels."""

# The part of an element of a mask below which a difference is a rounding error.
_NEARLY = 1e-6


def entries_of_cut(entries: Iterable[Entry], old: Box, new: Box, moved: Moved) -> list[Entry]:
    """The entries of a region whose box has other edges in the new picture.

    Key points are computed again. A mask is cut to the part that is left, over the same bytes, if
    the picture was not turned and the cut is between its elements. Other masks are left out, and so
    are those that the CPU cannot read in place.

    Args:
        entries: the entries of the region.
        old: its box in the old picture.
        new: its box in the new picture.
        moved: the transform of points of the old picture to the new one.
    """
    found: list[Entry] = []
    for entry in entries:
        kept: Entry | None = entry
        if isinstance(entry, InferenceResult) and entry.tensor is not None:
            if entry.format == "mask":
                kept = _mask(entry, old, new, moved)
            elif entry.format == "keypoints":
                kept = _points(entry, old, new, moved)
        if kept is not None:
            found.append(kept)
    return found


def is_straight(moved: Moved) -> bool:
    """True if a picture was only moved and scaled."""
    x, y = moved(0, 0)
    across, down = moved(1, 0), moved(0, 1)
    scaled = across[0] > x and down[1] > y
    return scaled and abs(across[1] - y) < _NEARLY and abs(down[0] - x) < _NEARLY


def _array(entry: InferenceResult, dimensions: int) -> np.ndarray[Any, Any] | None:
    try:
        array = entry.array
    except SamebytesError:
        return None
    return array if array.ndim == dimensions and array.size else None


def _mask(entry: InferenceResult, old: Box, new: Box, moved: Moved) -> InferenceResult | None:
    array = _array(entry, 2)
    if array is None or not is_straight(moved):
        return None
    x, y, width, height = old
    left, top = moved(x, y)
    right, bottom = moved(x + width, y + height)
    rows, columns = array.shape
    across = _between(left, right, new[0], new[0] + new[2], columns)
    down = _between(top, bottom, new[1], new[1] + new[3], rows)
    return _with(entry, array[down, across]) if across and down else None


def _between(first: float, last: float, start: int, stop: int, count: int) -> slice | None:
    """The elements from `start` to `stop` of `count` that lie from `first` to `last`."""
    if last <= first:
        return None
    each = (last - first) / count
    ends = ((start - first) / each, (stop - first) / each)
    numbers = [round(end) for end in ends]
    exact = all(abs(end - number) < _NEARLY for end, number in zip(ends, numbers, strict=True))
    inside = 0 <= numbers[0] < numbers[1] <= count
    return slice(*numbers) if exact and inside else None


def _points(entry: InferenceResult, old: Box, new: Box, moved: Moved) -> InferenceResult | None:
    array = _array(entry, 2)
    if array is None or array.shape[1] < 2 or array.dtype.kind != "f" or not (new[2] and new[3]):
        return None
    made = array.copy()
    for number, (x, y) in enumerate(array[:, :2].tolist()):
        across, down = moved(old[0] + x * old[2], old[1] + y * old[3])
        made[number, :2] = (across - new[0]) / new[2], (down - new[1]) / new[3]
    return _with(entry, made)


def _with(entry: InferenceResult, array: np.ndarray[Any, Any]) -> InferenceResult:
    return InferenceResult(
        array, entry.model_name, entry.layer_name, entry.name, entry.format, entry.layout,
        entry.point_names, entry.point_connections,
    )  # fmt: skip
