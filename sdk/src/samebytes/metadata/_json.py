# SPDX-License-Identifier: Apache-2.0
"""A frame's metadata as JSON, in the form of DL Streamer's gvametaconvert."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from .._core.memory.meta import FrameMeta
from .._region import Region
from .._secrets import without_secrets
from ..errors import MetadataError
from ..formats import ImageInfo
from ._entries import Classification, InferenceResult, ObjectId, SourceIdentifier
from ._lookup import all_of, find
from ._views import Detection, Timestamp, meta_of

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["OBJECT_KEYS", "PRECISIONS", "UNNAMED", "to_dict", "to_json"]

PRECISIONS: Final = {
    "bool": "BOOL",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
}
"""The names that this form has for element types."""

OBJECT_KEYS: Final = frozenset(
    ("x", "y", "w", "h", "region_id", "parent_id", "id", "roi_type", "detection", "extra_params",
     "tensors")
)  # fmt: skip
"""The names that no attribute may have, since these are the members of every object."""


UNNAMED: Final = "classification"
"""The name for a classification that has neither an attribute nor the name of a tensor."""


def to_json(
    frame: Frame | FrameMeta, *, add_tensor_data: bool = False, add_empty_results: bool = False
) -> str:
    """One line of JSON, without the line break, or "" for a frame without results.

    Arguments and errors are those of `to_dict`.

    Args:
        frame: the frame, or its FrameMeta.
        add_tensor_data: write the numbers in the tensors of results, too.
        add_empty_results: write a line for a frame without results, too.

    Raises:
        MetadataError: two classifications of one object have the same name.
    """
    document = to_dict(frame, add_tensor_data=add_tensor_data, add_empty_results=add_empty_results)
    if not document:
        return ""
    try:
        return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:  # tags and extra_params are the user's
        raise MetadataError("tags or extra_params", f"cannot be JSON: {error}") from None


def to_dict(
    frame: Frame | FrameMeta, *, add_tensor_data: bool = False, add_empty_results: bool = False
) -> dict[str, Any]:
    """The document that gvametaconvert writes for such a frame, without values that are not known.

    Args:
        frame: a picture, or its FrameMeta.
        add_tensor_data: write the tensors of inference results too. Numbers that JSON lacks (NaN,
            infinities) are written as null.
        add_empty_results: return a document for a frame without regions and results, too.

    Returns:
        A document of Python's plain types; an empty one for a frame without results.

    Raises:
        MetadataError: an entry of the frame is invalid, two classifications of one object have the
            same name, or a tensor has elements of a type that the form lacks.
        NotHostVisibleError: a tensor that the CPU cannot read in place.
    """
    meta = meta_of(frame)
    objects = [_of_region(each, add_tensor_data) for each in all_of(meta, Detection)] \
        if isinstance(meta.info, ImageInfo) else []  # fmt: skip
    classified = all_of(meta, Classification)
    if classified:
        objects.append(_of_whole(meta, classified, add_tensor_data))
    results = all_of(meta, InferenceResult) if add_tensor_data else []
    if not (objects or results or add_empty_results):
        return {}
    document: dict[str, Any] = {}
    if isinstance(meta.info, ImageInfo):
        document["resolution"] = {"width": meta.info.width, "height": meta.info.height}
    source = find(meta, SourceIdentifier)
    if source is not None:
        if source.uri:
            document["source"] = source.uri
        document["stream_id"] = source.stream_id
    times = Timestamp.of(meta)
    if times is not None and times.pts is not None:
        document["timestamp"] = times.pts
    if (tags := meta.metadata.get("tags")) is not None:
        document["tags"] = without_secrets(tags)
    if objects:
        document["objects"] = objects
    if results:
        document["tensors"] = [_of_tensor(result, f"tensors[{i}]") for i, result in
                               enumerate(results)]  # fmt: skip
    return document


def _of_region(found: Detection, with_tensors: bool) -> dict[str, Any]:
    region = found.region
    # In GStreamer -1 is the parent of a region that has none.
    parent = None if found.parent_id is None or found.parent_id < 0 else found.parent_id
    numbers = (("region_id", found.id), ("parent_id", parent))
    detection: dict[str, Any] = {
        "bounding_box": {
            "x_min": found.x_min, "x_max": found.x_max, "y_min": found.y_min, "y_max": found.y_max,
        }
    }  # fmt: skip
    detection |= _known(confidence=found.confidence, label_id=found.label_id)
    if found.label:
        detection["label"] = found.label
    x, y, width, height = (int(n) for n in region.box)
    document: dict[str, Any] = {"x": x, "y": y, "w": width, "h": height}
    document |= {key: number for key, number in numbers if number is not None}
    if (tracked := find(region, ObjectId)) is not None:
        document["id"] = tracked.id
    if found.label:
        document["roi_type"] = found.label
    document["detection"] = detection
    if (extra := region.metadata.get("extra_params")) is not None:
        document["extra_params"] = extra
    return document | _of_results(region, all_of(region, Classification), with_tensors)


def _of_whole(
    meta: FrameMeta, classified: list[Classification], with_tensors: bool
) -> dict[str, Any]:
    """The object that stands for the whole frame; its other results are the frame's own."""
    if not isinstance(meta.info, ImageInfo):
        raise MetadataError(
            "frame", "is not an image: only images can have classifications in this form"
        )
    box = {"x": 0, "y": 0, "w": meta.info.width, "h": meta.info.height}
    tracked = find(meta, ObjectId)
    known = {} if tracked is None else {"id": tracked.id}
    return box | known | _of_results(None, classified, with_tensors)


def _of_results(
    region: Region | None, classified: list[Classification], with_tensors: bool
) -> dict[str, Any]:
    document: dict[str, Any] = {}
    tensors = []
    for each in classified:
        name = each.attribute or (each.result.name if each.result else "") or UNNAMED
        if name in document or name in OBJECT_KEYS:
            raise MetadataError(
                "Classification.attribute",
                f"{name!r} is in the object already: give this classification another attribute",
            )
        document[name] = _of_class(each)
        if with_tensors and each.result is not None:
            tensor = _of_tensor(each.result, f"{name}.result") | _label_of(each)
            tensors.append(tensor | {"attribute_name": each.attribute})
    if with_tensors and region is not None:
        results = all_of(region, InferenceResult)
        tensors += [_of_tensor(result, "tensors") for result in results]
    return document | ({"tensors": tensors} if tensors else {})


def _of_class(each: Classification) -> dict[str, Any]:
    model = {} if each.result is None else _known(name=each.result.model_name or None)
    return _label_of(each) | ({"model": model} if model else {})


def _label_of(each: Classification) -> dict[str, Any]:
    return _known(label=each.label or None, confidence=each.confidence, label_id=each.label_id)


def _of_tensor(result: InferenceResult, name: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key in ("name", "model_name", "layer_name", "format", "layout"):
        if value := getattr(result, key):
            document[key] = value
    for key in ("point_names", "point_connections"):
        if value := getattr(result, key):
            document[key] = list(value)
    if result.tensor is None:
        return document
    element = str(result.tensor.dtype)
    if element not in PRECISIONS:
        raise MetadataError(
            name,
            f"has elements of {element}, which JSON has no precision for: convert them to "
            f"one of {', '.join(PRECISIONS)}",
        )
    values = result.array.reshape(-1).tolist()
    if element.startswith("float"):
        values = [value if math.isfinite(value) else None for value in values]
    return document | {
        "precision": PRECISIONS[element],
        "dims": list(result.tensor.shape),
        "data": values,
    }


def _known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
