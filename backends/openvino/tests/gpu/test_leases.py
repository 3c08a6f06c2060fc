# SPDX-License-Identifier: Apache-2.0
"""Remote tensors over the same memory again are the remembered ones; no memory stays for them."""

from __future__ import annotations

import gc
import threading
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


def lent(mapped: Any) -> Any:
    """The native of a mapping, looked at without asking for it."""
    return mapped._lent_native


def number(mapped: Any) -> int:
    """Says which native it is, without holding it."""
    return id(lent(mapped))


def test_the_same_memory_has_the_same_native(allocate: Any, context: Any) -> None:
    source = allocate()
    first = source.map(context)
    alive = weakref.ref(lent(first))
    assert lent(source.map(context)) is lent(first)
    assert lent(source.map(context, "rw")) is not lent(first)
    del first
    gc.collect()
    again = source.map(context)
    assert alive() is lent(again) is again.native
    assert again.parent is source


def test_another_memory_has_another_native(allocate: Any, context: Any) -> None:
    one, other = allocate(), allocate()
    assert one.map(context).native is not other.map(context).native


def test_what_is_remembered_holds_no_memory(allocate: Any, context: Any) -> None:
    source = allocate()
    mapped = source.map(context)
    native, storage = weakref.ref(lent(mapped)), weakref.ref(source.storage)
    del mapped
    gc.collect()
    assert native() is not None
    del source
    gc.collect()
    assert storage() is None
    assert native() is None


@pytest.mark.usefixtures("opencl")
def test_a_way_round_back_to_the_same_memory_ends(context: Any) -> None:
    """Memory that is lent to the native a second time is held by the native itself."""
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


def test_a_native_that_somebody_holds_keeps_its_memory(allocate: Any, context: Any) -> None:
    source = allocate()
    held = source.map(context).native
    for _ in range(2):  # not unpinned by the mapping that ends, nor by one that found it again
        assert lent(source.map(context)) is held
    storage = weakref.ref(source.storage)
    del source
    gc.collect()
    assert storage() is not None
    del held
    gc.collect()
    assert storage() is None


def test_a_native_that_was_asked_for_is_dropped(allocate: Any, context: Any) -> None:
    """Nobody can say who else has it: it ends with them, not with the memory."""
    source = allocate()
    mapped = source.map(context)
    alive, storage = weakref.ref(mapped.native), weakref.ref(source.storage)
    held = mapped.native
    del mapped
    gc.collect()
    assert alive() is held
    del held
    gc.collect()
    assert alive() is None
    with source.map(context) as mapped:
        assert mapped.native.get_byte_size() == 64
    del source, mapped
    gc.collect()
    assert storage() is None


def test_what_the_package_does_with_a_native_asks_for_none(
    allocate: Any, context: Any, small: Any
) -> None:
    source = allocate()
    mapped = source.map(context)
    alive = weakref.ref(lent(mapped))
    request = InferRequest(compile_model(small, context))
    request.set_tensor("x", mapped)
    request.infer()
    assert mapped.is_(type(mapped))
    assert mapped.params
    assert str(mapped)
    mapped.as_().close()
    request.close()
    del request, mapped
    gc.collect()
    assert alive() is not None


@pytest.mark.parametrize("asked", [True, False])
def test_many_threads(asked: bool, context: Any) -> None:
    """Mappings of the same memory that begin and end at any time: it stays while one is there."""
    allocated = samebytes.context("cpu").allocate(SHAPE, "float32")
    allocated.native[...] = 7
    wrong: list[object] = []

    def work(source: Any) -> None:
        read = openvino.Tensor(openvino.Type.f32, openvino.Shape(SHAPE))
        for _ in range(100):
            mapped = source.map(context)
            native = mapped.native if asked else lent(mapped)
            mapped.close()
            if asked:
                native.copy_to(read)
                if not (read.data == 7).all():
                    wrong.append(read.data.copy())
            del native

    threads = [threading.Thread(target=work, args=[allocated]) for _ in range(4)]
    for thread in threads:
        thread.start()
    while threads:
        threads.pop().join()
    assert not wrong
    storage = weakref.ref(allocated.storage)
    del allocated
    gc.collect()
    assert storage() is None


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
            seen = number(mapped)
            request.set_tensor("x", mapped)
        request.infer()
    assert number(source.map(context)) == seen
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
    native = weakref.ref(lent(mapped))
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
        return tuple(number(plane) for plane in mapped.planes)

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
