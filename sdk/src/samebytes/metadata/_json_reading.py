# SPDX-License-Identifier: Apache-2.0
"""From the JSON of gvametaconvert to the metadata of a frame."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.memory.meta import FrameMeta
from .._numbers import check_shape
from .._region import Region
from ..errors import LayoutError, MetadataError
from ..formats import ImageInfo
from ._checks import optional_real, optional_whole, real, shown, text, texts, whole
from ._entries import Classification, InferenceResult, ObjectId, SourceIdentifier
from ._entry import Entry
from ._json import OBJECT_KEYS, PRECISIONS, UNNAMED
from ._lookup import add, find, remove
from ._views import Timestamp, meta_of

if TYPE_CHECKING:
    from .._core.memory.frame import Frame

__all__ = ["from_json"]

_DTYPES = {precision: name for name, precision in PRECISIONS.items()}
_MAX_AXES = 16


def from_json(document: str | bytes | dict[str, Any], frame: Frame | FrameMeta) -> None:
    """Add to a frame the metadata in a line of gvametaconvert, or of `to_json()`.

    Nothing is added if an error is raised. Members that this module does not know are ignored: each
    release of gvametaconvert has more.

    Args:
        document: the line, or the dict that json.loads() makes of it.
        frame: the picture, or the FrameMeta of one: its regions and entries stay, and others are
            added. Time and source are set.

    Raises:
        MetadataError: it is no such document, or that of a picture of another size; `field` is the
            place, for instance "objects[2].x".
    """
    meta = meta_of(frame)
    if not isinstance(document, dict):
        try:
            document = json.loads(document)
        except (TypeError, ValueError, RecursionError) as error:
            raise MetadataError("document", f"is not valid JSON: {error}") from None
    whole_document = _object(document, "document")
    _check_size(whole_document, meta)
    source = whole_document.get("source")
    uri = "" if source is None else text(source, "source")
    identity: dict[str, Any] = {"uri": uri} if uri else {}
    if (stream := whole_document.get("stream_id")) is not None:
        identity["stream_id"] = whole(stream, "stream_id", 0)
    time = optional_whole(whole_document.get("timestamp"), "timestamp")
    tags = _object(whole_document.get("tags", {}), "tags")
    regions, entries = [], []
    for i, each in enumerate(_list(whole_document.get("objects", []), "objects")):
        name = f"objects[{i}]"
        found = _object(each, name)
        if _is_whole(found, meta):
            entries += _results(found, name)
        else:
            regions.append(_region(found, name))
    for i, each in enumerate(_list(whole_document.get("tensors", []), "tensors")):
        entries.append(_tensor(_object(each, f"tensors[{i}]"), f"tensors[{i}]"))
    _enter(meta, identity, time, tags, entries)
    meta.regions += regions


def _enter(
    meta: FrameMeta,
    identity: dict[str, Any],
    time: int | None,
    tags: dict[str, Any],
    entries: list[Entry],
) -> None:
    known, times = find(meta, SourceIdentifier), Timestamp.of(meta)
    for entry in entries:
        add(meta, entry)
    if identity:
        if known is not None:
            remove(meta, known)
        add(meta, replace(known or SourceIdentifier(), **identity))
    if time is not None:
        before = times or Timestamp()
        add(meta, Timestamp(time, before.dts, before.duration))
    if tags:
        meta.metadata["tags"] = tags


def _check_size(document: dict[str, Any], meta: FrameMeta) -> None:
    resolution = document.get("resolution")
    if resolution is None:
        return
    found = _object(resolution, "resolution")
    size = tuple(whole(found.get(key), f"resolution.{key}") for key in ("width", "height"))
    if isinstance(meta.info, ImageInfo) and size != (meta.info.width, meta.info.height):
        raise MetadataError("resolution", f"is {size[0]}x{size[1]}, but the frame is {meta.info}")


def _is_whole(found: dict[str, Any], meta: FrameMeta) -> bool:
    """True if an object stands for the whole frame: it lacks what a region has."""
    if "detection" in found or "region_id" in found or not isinstance(meta.info, ImageInfo):
        return False
    box = [found.get(key) for key in ("x", "y", "w", "h")]
    return box == [0, 0, meta.info.width, meta.info.height]


def _region(found: dict[str, Any], name: str) -> Region:
    x, y = (whole(found.get(key), f"{name}.{key}") for key in ("x", "y"))
    width, height = (whole(found.get(key), f"{name}.{key}", 0) for key in ("w", "h"))
    detection = _object(found.get("detection", {}), f"{name}.detection")
    label = detection.get("label", found.get("roi_type", ""))
    confidence = optional_real(detection.get("confidence"), f"{name}.detection.confidence")
    region = Region(x, y, width, height, text(label, f"{name}.detection.label"), confidence)
    numbers = (
        ("label_id", detection.get("label_id"), f"{name}.detection.label_id"),
        ("id", found.get("region_id"), f"{name}.region_id"),
        ("parent_id", found.get("parent_id"), f"{name}.parent_id"),
    )
    for key, value, field in numbers:
        if value is not None:
            region.metadata[key] = whole(value, field)
    if "extra_params" in found:
        region.metadata["extra_params"] = found["extra_params"]
    for entry in _results(found, name):
        add(region, entry)
    return region


def _results(found: dict[str, Any], name: str) -> list[Entry]:
    """The classifications, each with the tensor that it was read from, and the other tensors."""
    tensors: list[tuple[dict[str, Any], InferenceResult]] = []
    for i, each in enumerate(_list(found.get("tensors", []), f"{name}.tensors")):
        field = f"{name}.tensors[{i}]"
        document = _object(each, field)
        tensors.append((document, _tensor(document, field)))
    classes = {
        key: value
        for key, value in found.items()
        if key not in OBJECT_KEYS and isinstance(value, dict) and _says_a_class(value)
    }
    # to_json() names the tensor; gvametaconvert's are found by their contents.
    known = {key: _taken(tensors, key, value, _is_named) for key, value in classes.items()}
    entries: list[Entry] = []
    for key, value in classes.items():
        model = _object(value.get("model", {}), f"{name}.{key}.model").get("name", "")
        given, result = known[key]
        if result is None:
            given, result = _taken(tensors, key, value, _says_the_same)
        if result is None and model:
            with _inside(f"{name}.{key}.model"):
                result = InferenceResult(model_name=model)
        attribute = "" if given == "" or (result is None and key == UNNAMED) else key
        with _inside(f"{name}.{key}"):
            entries.append(
                Classification(
                    value.get("label", ""), value.get("confidence"), value.get("label_id"),
                    attribute, result,
                )
            )  # fmt: skip
    entries += [result for _, result in tensors]
    if "id" in found:
        with _inside(f"{name}.id"):
            entries.append(ObjectId(found["id"]))
    return entries


def _taken(
    tensors: list[tuple[dict[str, Any], InferenceResult]],
    key: str,
    value: dict[str, Any],
    fits: Callable[[str, dict[str, Any], dict[str, Any]], bool],
) -> tuple[str | None, InferenceResult | None]:
    """The first of the tensors that fits, and the attribute that it names; it is taken out."""
    for number, (document, result) in enumerate(tensors):
        if fits(key, value, document):
            del tensors[number]
            return document.get("attribute_name"), result
    return None, None


def _is_named(key: str, value: dict[str, Any], tensor: dict[str, Any]) -> bool:
    attribute = tensor.get("attribute_name")
    if attribute == "":
        attribute = tensor.get("name") or UNNAMED
    return attribute == key and _said_by(value) == _said_by(tensor)


def _says_the_same(key: str, value: dict[str, Any], tensor: dict[str, Any]) -> bool:
    del key
    model = value.get("model", {}).get("name", "")
    return _said_by(value) == _said_by(tensor) and tensor.get("model_name", "") == model


def _says_a_class(value: dict[str, Any]) -> bool:
    return value.get("label") not in (None, "") or value.get("label_id") is not None


def _said_by(document: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(document.get(key) for key in ("label", "confidence", "label_id"))


def _tensor(document: dict[str, Any], name: str) -> InferenceResult:
    values: dict[str, Any] = {}
    for key in ("name", "model_name", "layer_name", "format", "layout"):
        values[key] = text(document.get(key, ""), f"{name}.{key}")
    for key in ("point_names", "point_connections"):
        values[key] = texts(document.get(key, ()), f"{name}.{key}")
    array = _array(document, name)
    with _inside(name):
        return InferenceResult(array, **values)


def _array(document: dict[str, Any], name: str) -> np.ndarray[Any, Any] | None:
    if "data" not in document:
        return None
    precision = document.get("precision")
    if not isinstance(precision, str) or precision not in _DTYPES:
        raise MetadataError(
            f"{name}.precision", f"must be one of {', '.join(_DTYPES)}, not {shown(precision)}"
        )
    dims = _list(document.get("dims"), f"{name}.dims")
    if len(dims) > _MAX_AXES:
        raise MetadataError(
            f"{name}.dims", f"has {len(dims)} axes, but at most {_MAX_AXES} are allowed"
        )
    shape = [whole(n, f"{name}.dims[{i}]", 0) for i, n in enumerate(dims)]
    element = np.dtype(_DTYPES[precision])
    try:
        check_shape(shape, element.itemsize * 8)
    except LayoutError as error:
        raise MetadataError(f"{name}.dims", f"is not a valid shape: {error}") from None
    data = _list(document["data"], f"{name}.data")
    if len(data) != math.prod(shape):
        raise MetadataError(
            f"{name}.data", f"has {len(data)} numbers, but dims {shape} have {math.prod(shape)}"
        )
    if element.kind == "f":
        numbers = [
            math.nan if n is None else real(n, f"{name}.data[{i}]") for i, n in enumerate(data)
        ]
    elif element.kind == "b":
        numbers = data
        if not all(type(n) is bool for n in data):
            raise MetadataError(f"{name}.data", "must hold booleans")
    else:
        limits = np.iinfo(element)
        numbers = data
        for i, n in enumerate(data):
            if type(n) is not int or not limits.min <= n <= limits.max:
                raise MetadataError(
                    f"{name}.data[{i}]", f"{shown(n)} is not a number of type {element}"
                )
    with np.errstate(over="ignore"):  # a number beyond float16 is its infinity
        return np.array(numbers, element).reshape(shape)


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MetadataError(name, f"must be an object, not {shown(value)}")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise MetadataError(name, f"must be a list, not {shown(value)}")
    return value


@contextmanager
def _inside(name: str) -> Iterator[None]:
    """A block whose errors, of entries made in it, get their place in the document."""
    try:
        yield
    except MetadataError as error:
        what = str(error).removeprefix(f"{error.field} ")
        raise MetadataError(f"{name} ({error.field})", what) from None
