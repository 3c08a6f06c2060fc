# SPDX-License-Identifier: Apache-2.0
"""One detection that is in an old meta and in a new one, as one region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from samebytes import Region
from samebytes.metadata import KEY, Classification, Entry, InferenceResult

__all__ = ["merged_entries", "merged_regions"]

_CLOSE = 1e-6
# Old ones that are compared with a new one: with the same label, nearly at the same pixel.
_MOST_NEAR = 64


def merged_regions(new: Sequence[Region], old: Sequence[Region]) -> list[Region]:
    """The regions of both, those that are the same detection once.

    They are if label, confidence (within 1e-6) and box (within a pixel on each side) are; an old
    one may have no confidence, since elements that scale or convert a picture drop it. The new
    one's box counts, its relations too, and what only the old one says stays.

    Args:
        new: of the relation meta; their ids are their numbers in it.
        old: of GstVideoRegionOfInterestMeta, without an id where nobody gave them any.
    """
    pairs = _pairs(new, old)
    parents = [region.metadata.pop("parent_id", None) for region in new]
    ids = {}
    for index, region in enumerate(new):
        number = region.metadata.get("id")
        if index in pairs:
            _take(region, old[pairs[index]])
        ids[number] = region.metadata.get("id")
    for region, parent in zip(new, parents, strict=True):
        if parent is not None:
            region.metadata["parent_id"] = ids.get(parent, parent)
    used = set(pairs.values())
    return [*new, *(region for index, region in enumerate(old) if index not in used)]


def _pairs(new: Sequence[Region], old: Sequence[Region]) -> dict[int, int]:
    """The old detection that a new one is, by their indices: the nearest, and each once.

    Those at the very same place come first, so that none of them is taken by a neighbour.
    """
    at: dict[tuple[Any, ...], list[int]] = {}
    for index, region in enumerate(old):
        at.setdefault((region.label, region.x, region.y), []).append(index)
    pairs: dict[int, int] = {}
    for exact in (True, False):
        for index, region in enumerate(new):
            if index in pairs:
                continue
            around = (0,) if exact else (0, -1, 1)
            keys = [(region.label, region.x + x, region.y + y) for x in around for y in around]
            near = ((key, other) for key in keys for other in at.get(key, ()))
            fitting = [
                pair
                for pair in islice(near, _MOST_NEAR)
                if _same(region, old[pair[1]], exact=exact)
            ]
            if fitting:
                key, pairs[index] = min(fitting, key=lambda pair: _distance(region, old[pair[1]]))
                at[key].remove(pairs[index])
    return pairs


def _distance(new: Region, old: Region) -> int:
    return sum(abs(a - b) for a, b in zip(new.box, old.box, strict=True))


def _same(new: Region, old: Region, *, exact: bool) -> bool:
    if exact:
        return new.box == old.box and _close(new.confidence, old.confidence)
    sides = zip(new.box, old.box, strict=True)
    sure = old.confidence is None or _close(new.confidence, old.confidence)
    return sure and all(abs(a - b) <= 1 for a, b in sides)


def _close(one: float | None, other: float | None) -> bool:
    # An object detection has a confidence in any case: 0 where there is none.
    return abs((one or 0.0) - (other or 0.0)) <= _CLOSE


def _take(new: Region, old: Region) -> None:
    if old.confidence is not None or not new.confidence:
        new.confidence = old.confidence
    own: list[Entry] = new.metadata.pop(KEY, [])
    new.metadata.update({key: value for key, value in old.metadata.items() if key != KEY})
    if entries := merged_entries(old.metadata.get(KEY, ()), own):
        new.metadata[KEY] = entries


def merged_entries(entries: Iterable[Entry], new: Iterable[Entry]) -> list[Entry]:
    """Entries, and those of a relation meta that none of them says already."""
    found = list(entries)
    left = list(found)
    for entry in new:
        said = next((other for other in left if _says(other, entry)), None)
        if said is None:
            found.append(entry)
            continue
        left.remove(said)
        if isinstance(said, Classification) and isinstance(entry, Classification):
            # Structures have no bytes that are not UTF-8.
            place = next(n for n, other in enumerate(found) if other is said)
            found[place] = replace(said, label=entry.label)
    return found


def _says(entry: Entry, new: Entry) -> bool:
    if isinstance(entry, Classification) and isinstance(new, Classification):
        same = entry.label in (new.label, new.label.encode(errors="replace").decode())
        return same and _close(entry.confidence, new.confidence)
    if isinstance(entry, InferenceResult) and isinstance(new, InferenceResult):
        if entry.format == new.format == "keypoints":
            # Points of the old meta may lack the confidence.
            return (_shape(entry) or ())[:1] == (_shape(new) or ())[:1]
        return (entry.name or entry.layer_name) == new.name and _shape(entry) == _shape(new)
    return entry == new


def _shape(result: InferenceResult) -> tuple[int, ...] | None:
    return None if result.tensor is None else result.tensor.shape
