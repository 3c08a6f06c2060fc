# SPDX-License-Identifier: Apache-2.0
"""One detection that is in an old meta and in a new one, as one region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from samebytes import Region
from samebytes.metadata import KEY, Classification, Entry, InferenceResult

__all__ = ["merged_entries", "merged_regions"]

_CLOSE = 1e-6


def merged_regions(new: Sequence[Region], old: Sequence[Region]) -> list[Region]:
    """The regions of both, those that are the same detection once.

    They are if label, confidence (within 1e-6) and box (within a pixel on each side) are. The new
    one's box counts, and what only the old one says stays.

    Args:
        new: of the relation meta.
        old: of GstVideoRegionOfInterestMeta.
    """
    by_label: dict[str, list[Region]] = {}
    for region in old:
        by_label.setdefault(region.label, []).append(region)
    found, used = [], set()
    for region in new:
        candidates = by_label.get(region.label, [])
        same = next((o for o in candidates if id(o) not in used and _same(region, o)), None)
        if same is not None:
            used.add(id(same))
            _take(region, same)
        found.append(region)
    return [*found, *(region for region in old if id(region) not in used)]


def _same(new: Region, old: Region) -> bool:
    sides = zip(new.box, old.box, strict=True)
    return all(abs(a - b) <= 1 for a, b in sides) and _close(new.confidence, old.confidence)


def _close(one: float | None, other: float | None) -> bool:
    # An object detection has a confidence in any case: 0 where there is none.
    return abs((one or 0.0) - (other or 0.0)) <= _CLOSE


def _take(new: Region, old: Region) -> None:
    new.confidence = old.confidence
    own: list[Entry] = new.metadata.pop(KEY, [])
    own_parent = new.metadata.get("parent_id")
    theirs: dict[str, Any] = old.metadata
    new.metadata.update({key: value for key, value in theirs.items() if key != KEY})
    if own_parent is not None and "parent_id" not in theirs:
        new.metadata["parent_id"] = own_parent
    if entries := merged_entries(theirs.get(KEY, ()), own):
        new.metadata[KEY] = entries


def merged_entries(entries: Iterable[Entry], new: Iterable[Entry]) -> list[Entry]:
    """Entries, and those of a relation meta that none of them says already."""
    found = list(entries)
    left = list(found)
    for entry in new:
        said = next((other for other in left if _says(other, entry)), None)
        if said is None:
            found.append(entry)
        else:
            left.remove(said)
    return found


def _says(entry: Entry, new: Entry) -> bool:
    if isinstance(entry, Classification) and isinstance(new, Classification):
        return entry.label == new.label and _close(entry.confidence, new.confidence)
    if isinstance(entry, InferenceResult) and isinstance(new, InferenceResult):
        if entry.format == new.format == "keypoints":
            # Those of the old meta may lack the confidence.
            return (_shape(entry) or ())[:1] == (_shape(new) or ())[:1]
        return (entry.name or entry.layer_name) == new.name and _shape(entry) == _shape(new)
    return entry == new


def _shape(result: InferenceResult) -> tuple[int, ...] | None:
    return None if result.tensor is None else result.tensor.shape
