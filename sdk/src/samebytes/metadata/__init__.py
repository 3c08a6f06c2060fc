# SPDX-License-Identifier: Apache-2.0
"""Typed metadata of frames: detections, the origin of a picture, the times at which it is shown.

    from samebytes import metadata
    from samebytes.metadata import Classification, Detection

    region = metadata.add(frame, Detection(0.1, 0.2, 0.3, 0.5, "car", 0.9))
    metadata.add(region, Classification("red", attribute="color"))
    for found in metadata.all_of(frame, Detection):
        print(found.label, metadata.find(found.region, Classification))
    line = metadata.to_json(frame)

Entries lie in the frame's own `metadata` and `regions`, so that all its mappings share them.
docs/reference/metadata.md describes what becomes of them when frames are mapped, cut and batched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes._lazy import lazy_exports

if TYPE_CHECKING:
    from ._affine import AffineTransform
    from ._entries import (
        Classification,
        InferenceResult,
        LayerInfo,
        ModelInfo,
        ObjectId,
        SourceIdentifier,
    )
    from ._entry import Entry
    from ._json import to_dict, to_json
    from ._json_reading import from_json
    from ._lookup import KEY, add, all_of, change, entries_of, find, remove
    from ._plain import from_plain, to_plain
    from ._rules import meta_of_batch, meta_of_part, meta_of_warped
    from ._upright import upright_size, upright_transform
    from ._views import Detection, Timestamp

__all__ = [
    "KEY",
    "AffineTransform",
    "Classification",
    "Detection",
    "Entry",
    "InferenceResult",
    "LayerInfo",
    "ModelInfo",
    "ObjectId",
    "SourceIdentifier",
    "Timestamp",
    "add",
    "all_of",
    "change",
    "entries_of",
    "find",
    "from_json",
    "from_plain",
    "meta_of_batch",
    "meta_of_part",
    "meta_of_warped",
    "remove",
    "to_dict",
    "to_json",
    "to_plain",
    "upright_size",
    "upright_transform",
]

_HOME = {
    "AffineTransform": "._affine",
    "Classification": "._entries",
    "Detection": "._views",
    "Entry": "._entry",
    "InferenceResult": "._entries",
    "KEY": "._lookup",
    "LayerInfo": "._entries",
    "ModelInfo": "._entries",
    "ObjectId": "._entries",
    "SourceIdentifier": "._entries",
    "Timestamp": "._views",
    "add": "._lookup",
    "all_of": "._lookup",
    "change": "._lookup",
    "entries_of": "._lookup",
    "find": "._lookup",
    "from_json": "._json_reading",
    "from_plain": "._plain",
    "meta_of_batch": "._rules",
    "meta_of_part": "._rules",
    "meta_of_warped": "._rules",
    "remove": "._lookup",
    "to_dict": "._json",
    "to_json": "._json",
    "to_plain": "._plain",
    "upright_size": "._upright",
    "upright_transform": "._upright",
}

# Models use one or two of these, and making the classes of all takes longer than a frame.
if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
