# SPDX-License-Identifier: Apache-2.0
"""A request on a device holds what it was given, and nothing more."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes import Storage
from samebytes.testing import assert_steady
from samebytes_openvino import InferRequest, compile_model

from .models import N, adding_one, native

pytestmark = pytest.mark.together


class Watched:
    """Memory of the CPU on whole pages, which reports when it is released."""

    def __init__(self, value: float = 0) -> None:
        whole = np.zeros(N + 1024, np.float32)
        begin = (-whole.ctypes.data % 4096) // 4
        memory = whole[begin : begin + N]
        memory[...] = value
        self._memory = memory
        self.released = False
        storage = Storage(self._release, address=memory.ctypes.data, nbytes=memory.nbytes)
        self.array = np.asarray(storage).view(np.float32).reshape(1, N)

    def _release(self) -> None:
        self.released = True


def test_what_was_set_lives_until_it_is_replaced(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    first, second = Watched(1), Watched(5)
    request.set_tensor("x", first.array)
    del first.array
    gc.collect()
    assert not first.released
    assert (np.asarray(request.infer().planes[0]) == 2).all()
    request.set_tensor("x", second.array)
    del second.array
    gc.collect()
    assert first.released
    assert (np.asarray(request.infer().planes[0]) == 6).all()
    request.close()
    gc.collect()
    assert second.released


def test_outputs_that_were_set(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    memory = Watched()
    request.set_tensor("x", samebytes.context("cpu").allocate((1, N), "float32"))
    request.set_tensor("y", memory.array)
    view = memory.array[0, :4]
    del memory.array
    for _ in range(2):
        request.infer()
    assert (view == 1).all()
    out = request.get_tensor("y")
    request.close()
    del request, view
    gc.collect()
    assert not memory.released
    del out
    gc.collect()
    assert memory.released


def test_dropping_everything_while_it_runs(remote: Any) -> None:
    for _ in range(5):
        request = InferRequest(compile_model(adding_one(), remote))
        memory = Watched(3)
        request.set_tensor("y", native(remote))
        request.start_async(memory.array)
        del memory.array
        gc.collect()
        del request
        gc.collect()
        assert memory.released


def test_native_remote_tensors(remote: Any) -> None:
    request = InferRequest(compile_model(adding_one(), remote))
    tensor = native(remote)
    tensor.copy_from(openvino.Tensor(np.full((1, N), 2, np.float32)))
    gone = weakref.ref(tensor)
    request.set_tensor("x", tensor)
    del tensor
    gc.collect()
    assert gone() is not None
    assert (np.asarray(request.infer().planes[0]) == 3).all()
    request.close()
    gc.collect()
    assert gone() is None


def test_batches(gpu: Any) -> None:
    model = adding_one((2, 8))
    model.get_parameters()[0].layout = openvino.Layout("N...")
    request = InferRequest(compile_model(model, gpu))
    parts = [native(gpu, (1, 8)) for _ in range(2)]
    gone = [weakref.ref(part) for part in parts]
    request.set_tensors("x", parts, copy=True)
    del parts
    gc.collect()
    assert all(ref() is not None for ref in gone)
    request.infer()
    request.set_tensor("x", native(gpu, (2, 8)))
    gc.collect()
    assert all(ref() is None for ref in gone)


def test_the_request_outlives_context_and_model(remote: Any) -> None:
    model = compile_model(adding_one(), remote)
    request = InferRequest(model)
    out = native(remote)
    request.set_tensor("y", out)
    del model, out
    gc.collect()
    (y,) = request.infer(samebytes.context("cpu").allocate((1, N), "float32"))
    del request
    gc.collect()
    copy = openvino.Tensor(openvino.Type.f32, openvino.Shape([1, N]))
    y.native.copy_to(copy)
    assert (copy.data == 1).all()


def test_no_reference_cycles(remote: Any) -> None:
    model = compile_model(adding_one(), remote)
    memory = Watched(1)
    gc.collect()
    gc.disable()
    try:
        request = InferRequest(model)
        request.set_tensor("y", native(remote))
        out = request.infer(memory.array)
        gone = weakref.ref(request)
        del memory.array, request
        assert gone() is not None, "the outputs hold their request"
        del out
        assert gone() is None
        assert memory.released
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", ["remote", "host"])
def test_nothing_stays(remote: Any, kind: str) -> None:
    request = InferRequest(compile_model(adding_one((1, 10)), remote))
    outs = [native(remote, (1, 10)) for _ in range(2)]

    def once() -> None:
        for out in outs:
            request.set_tensor("y", out)
            x: Any = native(remote, (1, 10))
            if kind == "host":
                x = np.zeros((1, 10), np.float32)
            request.infer(x, copy=True)

    assert_steady(once, 300)
