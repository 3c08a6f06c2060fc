# SPDX-License-Identifier: Apache-2.0
"""Memory that OpenVINO used is free after requests, replaced tensors and closed contexts."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.plugins import sweep_loans
from samebytes.testing import assert_steady
from samebytes_openvino import InferRequest, compile_model

from .models import adding_one
from .users import SHAPE, compiled, reads, region_of, source_with

pytestmark = [pytest.mark.usefixtures("nothing_waits"), pytest.mark.together]


def test_the_next_mapping_has_the_same_native(gpu: Any, lent_native: Callable[[Any], Any]) -> None:
    """A native that a request of OpenVINO's holds beyond its mapping comes round again in a pool.

    Not so a native that was asked for, as `view.native` asks: see gpu/test_leases.py.
    """
    pool = [source_with(value) for value in (1, 2, 3)]
    request = compiled(gpu).create_infer_request()
    numbers = []
    for value in (1, 2, 3) * 3:
        with pool[value - 1].map(gpu) as view:
            native = lent_native(view)
            numbers.append(id(native))
            request.set_tensor("x", native)
            del native
        assert reads(gpu, request, value)
    assert numbers[:3] * 3 == numbers
    storages = [weakref.ref(source.storage) for source in pool]
    del pool, view
    gc.collect()
    sweep_loans()
    # What the last inference used, and the one before that: the plugin keeps it until then.
    assert storages[2]() is not None
    del request
    sweep_loans()
    assert [storage() for storage in storages] == [None] * 3


def test_a_request_of_ours_drops_what_was_replaced(gpu: Any) -> None:
    """The plugin keeps that until the next inference, but does not read it."""
    request = InferRequest(compile_model(adding_one(SHAPE), gpu))
    for _ in range(3):
        first, second = source_with(1), source_with(2)
        for source in (first, second):
            request.set_tensor("x", source.map(gpu))
            request.infer()
        first.close()
        request.set_tensor("x", np.zeros(SHAPE, np.float32), copy=True)
        second.close()


@pytest.mark.parametrize("inferred", [True, False])
def test_a_region_of_what_was_replaced(gpu: Any, inferred: bool) -> None:
    request = InferRequest(compile_model(adding_one(SHAPE), gpu))
    source = source_with(7)
    view = source.map(gpu)
    request.set_tensor("x", view)
    if inferred:
        request.infer()
    region = region_of(gpu, view.native)
    view.close()
    del view
    request.set_tensor("x", np.zeros(SHAPE, np.float32), copy=True)
    end = weakref.ref(source.storage)
    assert source.close() is False
    for _ in range(2):
        assert reads(gpu, region, 7)
        request.infer()
    del region
    sweep_loans()
    assert end() is None


@pytest.mark.parametrize("how", ["converted", "run by its native"])
def test_a_region_of_what_the_plugin_has_let_go(gpu: Any, how: str) -> None:
    """No use is left out of the count if the plugin may hold nothing of the last inference."""
    dtype = np.float64 if how == "converted" else np.float32
    x = ops.parameter(list(SHAPE), dtype, name="x")
    model = openvino.Model([ops.result(ops.add(x, ops.constant(np.ones((), dtype))))], [x])
    request = InferRequest(compile_model(model, gpu))
    source = samebytes.context("cpu").allocate(SHAPE, np.dtype(dtype).name)
    source.native[...] = 7
    view = source.map(gpu)
    request.set_tensor("x", view, copy=True)
    request.infer()
    region = region_of(gpu, view.native)
    view.close()
    del view
    native = request.native if how == "run by its native" else None
    request.set_tensor("x", np.zeros(SHAPE, dtype), copy=True)
    if native is not None:
        native.infer()
    end = weakref.ref(source.storage)
    assert source.close() is False
    del region
    request.infer()
    sweep_loans()
    assert end() is None


def test_the_next_drop_gives_it_back(gpu: Any) -> None:
    """No program has to sweep."""
    storages, users = [], []
    for value in range(20):
        source = source_with(value)
        storages.append(weakref.ref(source.storage))
        users = [region_of(gpu, source.map(gpu).native)]
        del source
    assert sum(storage() is not None for storage in storages) <= 2
    del users


def test_a_context_that_is_closed_meanwhile(cl_context: Any, cl: Any) -> None:
    from samebytes_openvino.intel_gpu import ClContext

    queue = cl.CommandQueue(cl_context)
    context = ClContext.from_queue(queue)
    source = source_with(7)
    region = region_of(context, source.map(context).native)
    context.close()
    del context, queue
    gc.collect()
    end = weakref.ref(source.storage)
    assert source.close() is False
    copied = openvino.Tensor(openvino.Type.f32, openvino.Shape(SHAPE))
    region.copy_to(copied)
    assert (copied.data == 7).all()
    del region
    sweep_loans()
    assert end() is None


def test_contexts_of_a_loop_end(cl_context: Any, cl: Any) -> None:
    from samebytes_openvino.intel_gpu import ClContext

    source = source_with(7)
    for _ in range(5):
        context = ClContext.from_queue(cl.CommandQueue(cl_context))
        ended = weakref.ref(context)
        region = region_of(context, source.map(context).native)
        context.close()
        del context, region
        sweep_loans()
        gc.collect()
        assert ended() is None
    source.close()


def test_nothing_stays_of_many(remote: Any, living_pins: Callable[[], int]) -> None:
    pool = [source_with(value) for value in range(3)]
    user: Any = None

    def mapped_and_held() -> None:
        nonlocal user
        for source in pool:
            view = source.map(remote)
            user = region_of(remote, view.native)
            view.close()

    def native_held() -> None:
        nonlocal user
        native = source_with(1).map(remote).native
        user = region_of(remote, native)

    assert_steady(mapped_and_held, 300)
    assert_steady(native_held, 100)
    user = None
    sweep_loans()
    pins = living_pins()
    native_held()
    user = None
    sweep_loans()
    assert living_pins() == pins
    for source in pool:
        source.close()
