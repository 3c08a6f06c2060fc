# SPDX-License-Identifier: Apache-2.0
"""Remote tensors over the same memory again are the remembered ones; no memory stays for them."""

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
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext, VAContext

SHAPE = (1, 16)


@pytest.fixture
def opencl(cl_context: Any) -> Any:
    package = pytest.importorskip(
        "samebytes_gpu_opencl", reason="missing package samebytes-gpu-opencl: pip install it"
    )
    return package.context(cl_context)


@pytest.fixture(params=["cpu", "opencl buffer", "opencl usm_host"])
def allocate(request: Any) -> Callable[[], Any]:
    """Makes a tensor that can be mapped to the GPU plugin's context."""
    kind = request.param.partition(" ")[2]
    if not kind:
        return lambda: samebytes.context("cpu").allocate(SHAPE, "float32")
    opencl = request.getfixturevalue("opencl")
    if kind == "usm_host":
        request.getfixturevalue("usm_alloc")  # skips where the device has no USM
    return lambda: opencl.allocate(SHAPE, "float32", kind)


@pytest.fixture(scope="session")
def small() -> Any:
    """x + 1."""
    x = ops.parameter(SHAPE, np.float32, name="x")
    x.output(0).set_names({"x"})
    return openvino.Model([ops.result(ops.add(x, ops.constant(np.float32(1))))], [x])


def number(native: Any) -> int:
    """Says which native it is, without holding it."""
    return id(native)


def test_the_same_memory_has_the_same_native(allocate: Any, context: Any) -> None:
    source = allocate()
    first = source.map(context)
    alive = weakref.ref(first.native)
    assert source.map(context).native is first.native
    assert source.map(context, "rw").native is not first.native
    del first
    gc.collect()
    again = source.map(context)
    assert alive() is again.native
    assert again.parent is source


def test_another_memory_has_another_native(allocate: Any, context: Any) -> None:
    one, other = allocate(), allocate()
    assert one.map(context).native is not other.map(context).native


def test_what_is_remembered_holds_no_memory(allocate: Any, context: Any) -> None:
    source = allocate()
    mapped = source.map(context)
    native, storage = weakref.ref(mapped.native), weakref.ref(source.storage)
    del mapped
    gc.collect()
    assert native() is not None
    del source
    gc.collect()
    assert storage() is None
    assert native() is None


@pytest.mark.usefixtures("opencl")
def test_a_way_round_back_to_the_same_memory_ends(context: Any) -> None:
    """What the native is lent for the second time is held by the native itself."""
    other = samebytes.context("opencl")  # another cl_context, so the CPU lies between
    frame = other.allocate_frame("NV12", 64, 64)
    there = frame.map(context)
    back = there.map("cpu")
    again = back.map(context)
    assert again.native == there.native
    storages = [weakref.ref(plane.storage) for plane in frame]
    del frame, there, back, again
    gc.collect()
    assert [storage() for storage in storages] == [None, None]


def test_it_does_not_keep_its_source_open(allocate: Any, context: Any) -> None:
    source = allocate()
    with source.map(context):
        pass
    source.close()
    assert source.closed


def test_a_native_that_somebody_took_is_theirs(allocate: Any, context: Any) -> None:
    source = allocate()
    taken = source.map(context).native
    another = source.map(context).native
    assert another is not taken, "what is remembered could be unpinned under its holder"
    storage = weakref.ref(source.storage)
    del source, another
    gc.collect()
    assert storage() is not None
    del taken
    gc.collect()
    assert storage() is None


def test_a_native_that_was_taken_and_dropped_while_a_tensor_lives(
    allocate: Any, context: Any
) -> None:
    source = allocate()
    mapped = source.map(context)
    alive = weakref.ref(mapped.native)
    one, other = mapped.native, source.map(context).native
    assert one is other
    del one, other, mapped
    gc.collect()
    assert source.map(context).native is alive()


def test_wrapped_again_it_is_held(allocate: Any, context: Any) -> None:
    source = allocate()
    wrapped = samebytes.tensor(source.map(context).native)
    assert wrapped.readonly
    storage = weakref.ref(source.storage)
    del source
    gc.collect()
    assert storage() is not None
    del wrapped
    gc.collect()
    assert storage() is None


def test_a_request_that_holds_a_closed_mapping(allocate: Any, context: Any, small: Any) -> None:
    source = allocate()
    request = InferRequest(compile_model(small, context))
    for _ in range(3):
        with source.map(context) as mapped:
            seen = number(mapped.native)
            request.set_tensor("x", mapped)
        request.infer()
    assert number(source.map(context).native) == seen
    storage = weakref.ref(source.storage)
    del source, mapped
    gc.collect()
    assert storage() is not None, "the request reads it"
    request.close()
    gc.collect()
    assert storage() is None


def test_a_closed_context_remembers_nothing(cl_context: Any, cl: Any) -> None:
    queue = cl.CommandQueue(cl_context)
    context = ClContext.from_queue(queue)
    source = samebytes.context("cpu").allocate(SHAPE, "float32")
    mapped = source.map(context)
    native = weakref.ref(mapped.native)
    del mapped
    gc.collect()
    assert native() is not None
    context.close()
    gc.collect()
    assert native() is None


def test_arrays_of_an_owner_that_may_not_keep_them_are_not_remembered(context: Any) -> None:
    class Lends:
        """Another array each time that it is asked."""

        def __init__(self) -> None:
            whole = np.zeros(4096, np.uint8)
            begin = -whole.ctypes.data % 64
            self.array = whole[begin : begin + 64].view(np.float32).reshape(SHAPE)

        @property
        def __array_interface__(self) -> Any:
            return self.array.__array_interface__

    tensor = samebytes.tensor(Lends())
    assert tensor.map(context).native is not tensor.map(context).native


def test_surfaces_of_a_pool(surface_of: Any, planes: Any) -> None:
    pytest.importorskip("samebytes_vaapi", reason="missing package samebytes-vaapi: pip install it")
    surface_of(*planes)  # skips where there is no driver
    vaapi = samebytes.context("vaapi")
    target = vaapi.derive("openvino:GPU")
    assert isinstance(target, VAContext)

    def seen(mapped: Any) -> tuple[int, ...]:
        return tuple(number(native) for native in mapped.native)

    pool = [vaapi.allocate_frame("NV12", 32, 32) for _ in range(3)]
    rounds = [[seen(frame.map(target)) for frame in pool] for _ in range(2)]
    assert rounds[0] == rounds[1]
    assert len({name for pair in rounds[0] for name in pair}) == 6
    frame = pool[0]
    mapped = frame.map(target)
    assert [p.native for p in mapped.planes] == list(mapped.native)
    planes_taken = mapped.native
    storages = [weakref.ref(f.storage) for f in pool]
    del pool, frame, mapped
    gc.collect()
    assert [s() is None for s in storages] == [False, True, True]
    del planes_taken
    gc.collect()
    assert storages[0]() is None
