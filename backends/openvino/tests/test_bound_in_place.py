# SPDX-License-Identifier: Apache-2.0
"""Dense inputs of the CPU plugin: bound without a mapping; held, checked and reported alike."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import ClosedError, CopyRequiredError, LayoutError
from samebytes_openvino import Binding, InferRequest

from .models import SHAPE, adding, address, numbers

KINDS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: x,
    "cpu tensor": samebytes.tensor,
    "openvino.Tensor": lambda x: openvino.Tensor(x, shared_memory=True),
    "openvino tensor": lambda x: samebytes.tensor(openvino.Tensor(x, shared_memory=True)),
    "mapped": lambda x: samebytes.tensor(x).map("openvino"),
}


@pytest.fixture
def request_() -> InferRequest:
    return InferRequest(adding())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_reported(request_: InferRequest, kind: str) -> None:
    x = numbers()
    value = KINDS[kind](x)
    request_.set_tensor("x0", value)
    binding = request_.bindings()[0]
    assert (binding.kind, binding.name, binding.placement) == ("input", "x0", "in place")
    assert binding.tensor is not None
    assert (binding.batch, binding.tensor.shape, binding.tensor.readonly) == ((), SHAPE, True)
    again = request_.get_tensor("x0")
    assert address(again.host_array()) == address(x)
    assert again is not request_.get_tensor("x0")


def test_the_types_of_a_report_are_there_at_run_time() -> None:
    assert get_type_hints(Binding)["tensor"] == samebytes.Tensor | None


def test_a_tensor_of_ours_is_held(request_: InferRequest) -> None:
    tensor = samebytes.context("openvino").allocate(SHAPE, "float32")
    tensor.host_array()[...] = numbers()
    storage = weakref.ref(tensor.storage)
    request_.set_tensor("x0", tensor)
    assert tensor.close() is False
    gc.collect()
    assert storage() is not None
    np.testing.assert_array_equal(request_.infer()[0], numbers() + 1)
    request_.set_tensor("x0", numbers())
    gc.collect()
    assert storage() is None


def test_a_tensor_that_is_closed_meanwhile(request_: InferRequest) -> None:
    x = numbers()
    native = openvino.Tensor(x, shared_memory=True)
    tensor = samebytes.tensor(native)
    request_.set_tensor("x0", tensor)
    tensor.close()
    del native
    gc.collect()
    np.testing.assert_array_equal(request_.infer()[0], x + 1)
    assert address(request_.get_tensor("x0").host_array()) == address(x)
    with pytest.raises(ClosedError):
        request_.set_tensor("x0", tensor)


@pytest.mark.parametrize("kind", KINDS)
def test_another_layout_is_looked_at_closely(request_: InferRequest, kind: str) -> None:
    good = numbers()
    request_.set_tensor("x0", good)
    for wrong in (numbers((1, 4, 6, 3)), numbers().astype(np.int32)):
        with pytest.raises(LayoutError, match="input 'x0' takes float32"):
            request_.set_tensor("x0", KINDS[kind](wrong))
    np.testing.assert_array_equal(request_.infer()[0], good + 1)


def test_gaps_between_rows_take_a_copy(request_: InferRequest) -> None:
    wide = numbers((1, 4, 8, 2))
    with pytest.raises(CopyRequiredError, match=r"leave gaps.*image_model.*take_whole_rows"):
        request_.set_tensor("x0", wide[:, :, :6])
    request_.set_tensor("x0", wide[:, :, :6], copy=True)
    np.testing.assert_array_equal(request_.infer()[0], wide[:, :, :6] + 1)
