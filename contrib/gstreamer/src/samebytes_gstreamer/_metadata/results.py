# SPDX-License-Identifier: Apache-2.0
"""Typed entries as the fields of structures and back, by DL Streamer's names for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, TypeGuard

import numpy as np

from samebytes import Region
from samebytes.errors import MetadataError, SamebytesError
from samebytes.metadata import Classification, Entry, InferenceResult, ObjectId
from samebytes.plugins import data_address

__all__ = ["detected", "entries_in", "entry_of", "is_carried", "merged", "with_detection"]

_Fields = dict[str, Any]

_DETECTION = "detection"
_OBJECT_ID = "object_id"
_CLASSIFICATION = "classification"
_TENSOR = "tensor"
# A structure always has a name; these names are not those of tensors.
_NO_NAMES = ("meta", "unnamed", _CLASSIFICATION, _TENSOR)
# DL Streamer keeps the numbers that OpenVINO's InferenceEngine::Precision had.
_PRECISIONS = {
    "float32": 10,
    "float16": 11,
    "float64": 13,
    "int16": 30,
    "uint8": 40,
    "bool": 41,
    "int8": 50,
    "uint16": 60,
    "int32": 70,
    "int64": 72,
    "uint64": 73,
    "uint32": 74,
}
_DTYPES = {number: name for name, number in _PRECISIONS.items()}
# Likewise for InferenceEngine::Layout; other layouts are written as text.
_LAYOUTS = {"NCHW": 1, "NHWC": 2, "NC": 193}
_LAYOUT_NAMES = {number: name for name, number in _LAYOUTS.items()}
_OF_DETECTIONS = {"confidence", "label_id", "label"}
_TEXTS = ("model_name", "layer_name", "format")
_LISTS = ("point_names", "point_connections")


def is_carried(entry: object) -> bool:
    """True if buffers can carry entries of this one's class."""
    return type(entry) in (Classification, InferenceResult, ObjectId)


def entries_in(params: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The entries in structures, each a dict of its fields and its "name"."""
    found = (entry_of(fields) for fields in params)
    return [entry for entry in found if entry is not None]


def detected(params: Sequence[Mapping[str, Any]]) -> tuple[float | None, int | None]:
    """The confidence and label_id of a region, from its structures."""
    own = [fields for fields in params if entry_of(fields) is None]
    confidences = [f["confidence"] for f in own if isinstance(f.get("confidence"), float)]
    detections = [f for f in own if _is_detection(f)]
    numbers = [f["label_id"] for f in detections if type(f.get("label_id")) is int]
    return (confidences or [None])[0], (numbers or [None])[0]


def label_in(params: Sequence[Mapping[str, Any]]) -> str:
    """The label of a region whose meta has no room for it, from its structures."""
    labels = [fields.get("label") for fields in params if _is_detection(fields)]
    return next((label for label in labels if isinstance(label, str)), "")


def with_detection(
    params: Sequence[_Fields], region: Region, *, label: bool = False
) -> list[_Fields]:
    """Structures with the confidence and label_id of the region in place of their own.

    Args:
        label: True to put its label there, too.
    """
    confidence = None if region.confidence is None else float(region.confidence)
    label_id = _number(region.metadata.get("label_id"))
    text = region.label if label or label_in(params) else ""
    if detected(params) == (confidence, label_id) and label_in(params) == text:
        return list(params)
    changed = []
    for fields in params:
        if entry_of(fields) is None:
            gone = _OF_DETECTIONS if _is_detection(fields) else {"confidence"}
            changed.append({key: value for key, value in fields.items() if key not in gone})
        else:
            changed.append(fields)
    detection = next((fields for fields in changed if _is_detection(fields)), None)
    if detection is None:
        detection = {"name": _DETECTION}
        changed.append(detection)
    detection.update(_known(confidence=confidence, label_id=label_id, label=text or None))
    return changed


def _is_detection(fields: Mapping[str, Any]) -> bool:
    return fields.get("name") == _DETECTION


def _number(value: Any) -> int | None:
    try:
        return index(value)
    except TypeError:
        return None


def entry_of(fields: Mapping[str, Any]) -> Entry | None:
    """The entry in one structure; None if it has none, or an invalid one."""
    name = fields.get("name")
    try:
        if name == _OBJECT_ID:
            return ObjectId(fields.get("id", -1))
        if name == _DETECTION:
            return None  # that is the region itself
        result = _result(fields)
        if not fields.get("label") and "label_id" not in fields:
            return result
        return Classification(
            fields.get("label") or "", fields.get("confidence"), fields.get("label_id"),
            fields.get("attribute_name", ""), result,
        )  # fmt: skip
    except MetadataError:
        return None


def _result(fields: Mapping[str, Any]) -> InferenceResult | None:
    """The output of a model in a structure, if it has one; its tensor is over the same bytes."""
    name = fields.get("tensor_name")
    if name is None:
        name = fields.get("name", "")
        name = "" if name in _NO_NAMES else name
    values = {key: fields[key] for key in (*_TEXTS, *_LISTS) if fields.get(key)}
    layout = fields.get("dims_order") or _LAYOUT_NAMES.get(fields.get("layout", 0), "")
    array = _array(fields)
    if array is None and not values and not layout and "tensor_name" not in fields:
        return None
    return InferenceResult(array, name=name, layout=layout, **values)


def _array(fields: Mapping[str, Any]) -> np.ndarray[Any, Any] | None:
    data, dims, precision = (fields.get(key) for key in ("data_buffer", "dims", "precision"))
    if not _is_bytes(data) or not isinstance(precision, int) or precision not in _DTYPES:
        return None
    element = np.dtype(_DTYPES[precision])
    if not isinstance(dims, list) or not all(isinstance(n, int) and n >= 0 for n in dims):
        return None
    # Others may have written it: a shape that does not fit the bytes is not believed.
    if math.prod(dims) * element.itemsize != len(data) or not len(data):
        return None
    try:
        return np.frombuffer(data, element).reshape(dims)
    except ValueError:
        return None


def _is_bytes(data: Any) -> TypeGuard[bytes | np.ndarray[Any, Any]]:
    """True if structures can hold the data: bytes, or a one-dimensional array of uint8."""
    if isinstance(data, np.ndarray):
        return data.dtype == np.uint8 and data.ndim == 1
    return isinstance(data, bytes)


def merged(params: Sequence[_Fields], entries: Sequence[Entry]) -> list[_Fields]:
    """Structures with these entries, and with everything else in the structures before.

    The entries count: structures for another one, which was changed or removed, are left out. A
    structure for one of them is kept with all its fields.
    """
    wanted = [(entry, _fields_of(entry)) for entry in entries if is_carried(entry)]
    kept = []
    for fields in params:
        if entry_of(fields) is not None:
            same = next((n for n, (_, new) in enumerate(wanted) if _says(fields, new)), None)
            if same is None:
                continue
            del wanted[same]
        kept.append(fields)
    return kept + [fields for _, fields in wanted]


def _says(fields: Mapping[str, Any], new: _Fields) -> bool:
    entry = entry_of(fields)
    said = {} if entry is None else _fields_of(entry)
    return said.keys() == new.keys() and all(_same(said[key], new[key]) for key in new)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        # The entry that was read lies on the bytes of its structure.
        return data_address(one) == data_address(other) and one.nbytes == other.nbytes
    return type(one) is type(other) and bool(one == other)


def _fields_of(entry: Entry) -> _Fields:
    match entry:
        case ObjectId():
            return {"name": _OBJECT_ID, "id": entry.id}
        case Classification():
            own = _known(
                label=entry.label or None, label_id=entry.label_id, confidence=entry.confidence,
                attribute_name=entry.attribute or None,
            )  # fmt: skip
            named = {"name": _CLASSIFICATION} | own
            return named if entry.result is None else _result_fields(entry.result) | named
        case InferenceResult():
            return _result_fields(entry)
    raise AssertionError(entry)


def _result_fields(result: InferenceResult) -> _Fields:
    fields: _Fields = {"name": _TENSOR}
    for key in _TEXTS:
        if value := getattr(result, key):
            fields[key] = value
    for key in _LISTS:
        if value := getattr(result, key):
            fields[key] = list(value)
    if result.name or result.tensor is None:
        fields["tensor_name"] = result.name  # without a tensor, it says that there is a result
    if result.layout in _LAYOUTS:
        fields["layout"] = _LAYOUTS[result.layout]
    elif result.layout:
        fields["dims_order"] = result.layout
    array = _host_array(result)
    if array is not None:
        fields["precision"] = _PRECISIONS[str(array.dtype)]
        fields["dims"] = list(array.shape)
        fields["data_buffer"] = array.reshape(-1).view(np.uint8)
    return fields


def _host_array(result: InferenceResult) -> np.ndarray[Any, Any] | None:
    """The tensor, if the CPU reads it in place and in one piece: nothing is copied here."""
    if result.tensor is None:
        return None
    try:
        array = result.array
    except SamebytesError:
        return None
    usable = array.flags.c_contiguous and array.nbytes and str(array.dtype) in _PRECISIONS
    return array if usable else None


def _known(**values: Any) -> _Fields:
    return {key: value for key, value in values.items() if value is not None}
