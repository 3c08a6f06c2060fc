# SPDX-License-Identifier: Apache-2.0
"""Entries: checked when they are made, frozen, compared by value, with numpy's scalars."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import metadata
from samebytes.errors import ClosedError, MetadataError, UnsupportedObjectError
from samebytes.metadata import (
    AffineTransform,
    Classification,
    Detection,
    Entry,
    InferenceResult,
    LayerInfo,
    ObjectId,
    SourceIdentifier,
    Timestamp,
)

# Without types, for arguments that type checkers refuse.
any_: Any = metadata

ENTRIES: tuple[Entry, ...] = (
    AffineTransform(),
    Classification("red", 0.5, 3, "color", InferenceResult(model_name="cars")),
    Detection(0.0, 0.25, 0.5, 1.0, "car", 0.75, 1, 2, 3),
    InferenceResult(layer_name="prob", point_names=["a", "b"], point_connections=["a", "b"]),
    any_.ModelInfo("cars", [LayerInfo("x", "float32", (1, None, 4))]),
    ObjectId(0),
    SourceIdentifier(1, 2, 3, 4, 5, "rtsp://camera"),
    Timestamp(1, 2, 3),
)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: type(e).__name__)
def test_frozen_equal_hashable(entry: Entry) -> None:
    same = replace(entry)  # type: ignore[type-var]  # all are dataclasses
    assert same == entry
    assert same is not entry
    assert hash(same) == hash(entry)
    with pytest.raises(FrozenInstanceError):
        setattr(entry, fields(entry)[0].name, "other")  # type: ignore[arg-type]  # as above
    assert pickle.loads(pickle.dumps(entry)) == entry


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: any_.Classification(3), "Classification.label"),
        (any_.Classification, "Classification.label"),
        (lambda: any_.Classification("a", float("nan")), "Classification.confidence"),
        (lambda: any_.Classification("a", float("inf")), "Classification.confidence"),
        (lambda: any_.Classification("a", 10**400), "Classification.confidence"),
        (lambda: any_.Classification("a", "0.5"), "Classification.confidence"),
        (lambda: any_.Classification("a", True), "Classification.confidence"),
        (lambda: any_.Classification("a", label_id=0.5), "Classification.label_id"),
        (lambda: any_.Classification("a", label_id=1 << 63), "Classification.label_id"),
        (lambda: any_.Classification("a", attribute=None), "Classification.attribute"),
        (lambda: any_.Classification("a", result=np.zeros(3)), "Classification.result"),
        (lambda: any_.Detection(0.5, 0, 0.25, 1), "Detection.x_max"),
        (lambda: any_.Detection(0, 0.5, 1, 0.25), "Detection.y_max"),
        (lambda: any_.Detection(0, 0, float("nan"), 1), "Detection.x_max"),
        (lambda: any_.Detection(0, 0, 1e300, 1), "Detection.x_max"),
        (lambda: any_.Detection(0.0, 0.0, 1.0, 1.0, "a", None, 1, 1 << 63), "Detection.id"),
        (
            lambda: any_.Detection(0.0, 0.0, 1.0, 1.0, parent_id=-(1 << 63) - 1),
            "Detection.parent_id",
        ),
        (lambda: any_.Detection(0.0, 0.0, 1.0, 1.0, "a", float("nan")), "Detection.confidence"),
        (lambda: any_.Detection(0.0, 0.0, 1.0, 1.0, label_id=True), "Detection.label_id"),
        (lambda: any_.Detection(0.0, float("nan"), 1.0, 1.0), "Detection.y_min"),
        (lambda: any_.Detection(None, 0, 1, 1), "Detection.x_min"),
        (lambda: any_.Detection(0, 0, 1, 1, 5), "Detection.label"),
        (lambda: any_.Detection(0, 0, 1, 1, "a", 1, "3"), "Detection.label_id"),
        (lambda: any_.Detection(0, 0, 1, 1, origin="a"), "Detection.origin"),
        (lambda: any_.Timestamp(1.5), "Timestamp.pts"),
        (lambda: any_.Timestamp(duration=-1), "Timestamp.duration"),
        (lambda: any_.ObjectId(-1), "ObjectId.id"),
        (lambda: any_.ObjectId(None), "ObjectId.id"),
        (lambda: any_.SourceIdentifier(-1), "SourceIdentifier.batch_index"),
        (lambda: any_.SourceIdentifier(0, True), "SourceIdentifier.stream_id"),
        (lambda: any_.SourceIdentifier(uri=b"file"), "SourceIdentifier.uri"),
        (lambda: any_.AffineTransform((1, 0, 0)), "AffineTransform.matrix"),
        (lambda: any_.AffineTransform("100010"), "AffineTransform.matrix"),
        (lambda: any_.AffineTransform(5), "AffineTransform.matrix"),
        (lambda: any_.AffineTransform((1, 0, 0, 0, 1, "0")), "AffineTransform.matrix[5]"),
        (lambda: any_.InferenceResult(layout=4), "InferenceResult.layout"),
        (lambda: any_.InferenceResult(point_names="abc"), "InferenceResult.point_names"),
        (lambda: any_.InferenceResult(point_names=["a", 1]), "InferenceResult.point_names[1]"),
        (
            lambda: any_.InferenceResult(point_connections=["a"]),
            "InferenceResult.point_connections",
        ),
        (lambda: any_.ModelInfo(None), "ModelInfo.name"),
        (lambda: any_.ModelInfo("m", ["x"]), "ModelInfo.inputs[0]"),
        (lambda: any_.LayerInfo("x", "floot32", (1,)), "LayerInfo.dtype"),
        (lambda: any_.LayerInfo("x", "f" * 65, (1,)), "LayerInfo.dtype"),
        (lambda: any_.LayerInfo("x", "float32", (1, -1)), "LayerInfo.shape[1]"),
        (lambda: any_.LayerInfo("x", "float32", 3), "LayerInfo.shape"),
    ],
)
def test_what_cannot_be_is_named(make: Any, field: str) -> None:
    with pytest.raises(MetadataError) as caught:
        make()
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field} ")


def test_numpys_scalars_and_arrays_become_pythons() -> None:
    entry = any_.Classification("a", np.float32(0.5), np.int64(3))
    assert (type(entry.confidence), type(entry.label_id)) == (float, int)
    found = any_.Detection(*np.array([0.25, 0.25, 0.5, 0.5], np.float32), "a", np.float16(0.5))
    assert type(found.x_min) is float
    assert any_.AffineTransform(np.eye(2, 3).reshape(-1)) == AffineTransform()


def test_a_result_holds_its_tensor() -> None:
    array = np.arange(6, dtype=np.float32).reshape(1, 6)
    result = InferenceResult(array, "cars")
    assert result.tensor is not None
    assert result.tensor.native is array  # no copy
    assert result.array is array
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is not None
    del result
    assert gone() is None


def test_a_result_over_a_tensor_of_ours() -> None:
    tensor = sb.context("cpu").allocate((3,), "float32")
    result = InferenceResult(tensor)
    assert result.tensor is tensor
    result.array[...] = 2
    assert tensor.native.sum() == 6
    assert result == InferenceResult(tensor)
    assert result != InferenceResult(sb.tensor(tensor.native))
    del result
    tensor.close()


def test_a_closed_tensor_is_closed_in_the_result_too() -> None:
    tensor = sb.tensor(np.zeros(3))
    result = InferenceResult(tensor)
    tensor.close()
    with pytest.raises(ClosedError):
        _ = result.array


def test_what_is_not_a_tensor() -> None:
    with pytest.raises(UnsupportedObjectError):
        InferenceResult(object())
    with pytest.raises(MetadataError, match="only names"):
        _ = InferenceResult(model_name="cars").array
