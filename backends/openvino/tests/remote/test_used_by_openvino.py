# SPDX-License-Identifier: Apache-2.0
"""What regions and requests of OpenVINO's own hold of remote tensors over memory of others.

No object of Python's leads from them to the memory, and the plugins have its address alone.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.errors import BusyError
from samebytes.plugins import Storage, sweep_loans
from samebytes.testing import GuardedMemory, assert_steady
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino._remote import _pins
from samebytes_openvino._remote._conversion import as_tensor
from samebytes_openvino._waiting import waiting

from .models import N, adding_one

SHAPE = (1, N)
Use = Callable[[Any, Any], Any]


def region_of(_: Any, native: Any) -> Any:
    # All of it: the plugins copy parts in ways of their own.
    kind: Any = openvino.Tensor if isinstance(native, openvino.Tensor) else openvino.RemoteTensor
    return kind(native, openvino.Coordinate([0, 0]), openvino.Coordinate(SHAPE))


def region_of_a_region(context: Any, native: Any) -> Any:
    return region_of(context, region_of(context, native))


def request_with(context: Any, native: Any) -> Any:
    request = compiled(context).create_infer_request()
    request.set_tensor("x", native)
    return request


def as_openvino_tensor(_: Any, native: Any) -> Any:
    if isinstance(native, openvino.Tensor):
        return openvino.Tensor(native, [0, 0], SHAPE)
    return as_tensor(native, openvino.Type.f32, len(SHAPE))


USERS = [region_of, region_of_a_region, request_with, as_openvino_tensor]

_compiled: dict[str, Any] = {}


def compiled(context: Any) -> Any:
    """y = x + 1, in this context."""
    if str(context) not in _compiled:
        exact = {"INFERENCE_PRECISION_HINT": "f32"} if context.device_name != "NPU" else {}
        _compiled[str(context)] = compile_model(adding_one(SHAPE), context, exact)
    return _compiled[str(context)]


def reads(context: Any, user: Any, value: float) -> bool:
    """Whether the device finds that value everywhere."""
    request = user
    if not isinstance(user, openvino.InferRequest):
        request = request_with(context, user)
    try:
        request.infer(share_outputs=True)
    except RuntimeError as error:
        # The GPU plugin cannot read the region of a region, which holds the memory nevertheless.
        if "iremote_tensor" not in str(error):
            raise
        return True
    return bool((request.get_output_tensor(0).data == value + 1).all())


def source_with(value: float) -> Any:
    source = samebytes.context("cpu").allocate(SHAPE, "float32")
    source.native[...] = value
    return source


def usm_with(context: Any, value: float) -> Any:
    """Memory that OpenCL's driver allocated, for the GPU, or the NPU's own."""
    if context.device_name == "NPU":
        return source_with(value)
    source: Any = context.derive("opencl").allocate(SHAPE, "float32", "usm_host")
    with source.map("cpu", "w") as view:
        view.native[...] = value
    return source


def guarded(value: float) -> tuple[GuardedMemory, Any]:
    """An array whose pages cannot be touched after its last holder is gone."""
    guard = GuardedMemory()
    (array,) = guard.arrays([samebytes.TensorInfo("float32", SHAPE)])
    array[...] = value
    return guard, array


def assert_kept_for(context: Any, users: list[Any], guard: GuardedMemory) -> None:
    """The memory, which holds 7, is there until its last user is gone. Takes the users."""
    gc.collect()
    assert not guard.released
    assert all(reads(context, user, 7) for user in users)
    users.clear()
    sweep_loans()
    assert guard.released


def made_over(context: Any, array: Any) -> Any:
    """The native of a tensor that was made by hand over an array, and of which nothing is left."""
    if context.device_name == "NPU":
        return context.create_tensor("float32", SHAPE, array).native
    from samebytes_openvino.intel_gpu import VirtualAddressMemory

    return context.create_tensor("float32", SHAPE, VirtualAddressMemory(array)).native


@pytest.fixture(autouse=True)
def nothing_waits() -> Any:
    """Each test leaves nothing behind."""
    before = set(waiting)
    yield
    gc.collect()
    sweep_loans()
    assert not waiting - before


@pytest.mark.parametrize("make", [lambda _: source_with(7), lambda c: usm_with(c, 7)])
@pytest.mark.parametrize("use", USERS)
def test_close_of_the_source_sees_them(remote: Any, use: Use, make: Callable[[Any], Any]) -> None:
    source = make(remote)
    view = source.map(remote, "rw")
    user = use(remote, view.native)
    view.close()
    gc.collect()
    with pytest.raises(BusyError, match="still uses this memory"):
        source.close()
    assert not source.closed
    assert reads(remote, user, 7)
    del user
    source.close()


@pytest.mark.parametrize("use", USERS)
def test_a_drop_leaves_them_the_memory(remote: Any, use: Use) -> None:
    guard, array = guarded(7)
    users = [use(remote, samebytes.tensor(array).map(remote).native)]
    del array
    assert_kept_for(remote, users, guard)


@pytest.mark.parametrize("use", USERS)
def test_a_native_that_python_held_longest(remote: Any, use: Use) -> None:
    guard, array = guarded(7)
    native = samebytes.tensor(array).map(remote).native
    del array
    gc.collect()
    assert not guard.released
    users = [use(remote, native)]
    del native
    assert_kept_for(remote, users, guard)


@pytest.mark.parametrize("use", USERS)
def test_tensors_made_by_hand(remote: Any, use: Use) -> None:
    guard, array = guarded(7)
    native = made_over(remote, array)
    users = [use(remote, native)]
    del array, native
    assert_kept_for(remote, users, guard)


def test_an_end_that_was_interrupted_is_made_up_for(
    remote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception before the callback's first line leaves the pin, until its id is used again."""

    class Other:
        pass

    monkeypatch.setattr(_pins, "_ended", lambda _: None)
    guard, array = guarded(7)
    native = made_over(remote, array)
    users, number = [region_of(remote, native)], id(native)
    del native, array
    gc.collect()
    monkeypatch.undo()
    other = Other()
    left = _pins._pins.pop(number)
    left.number = id(other)
    _pins._pins[id(other)] = left
    del left
    _pins.pin(other, Storage())
    assert_kept_for(remote, users, guard)


def test_without_a_user_the_memory_goes_at_once(remote: Any) -> None:
    """Nobody has to look for it."""
    guard, array = guarded(7)
    native = made_over(remote, array)
    del array
    assert not guard.released
    del native
    assert guard.released


def test_the_whole_of_imported_memory(npu: Any) -> None:
    guard, array = guarded(7)
    memory = npu.import_memory(array)
    native = memory.native
    user = openvino.RemoteTensor(
        native, openvino.Coordinate([0, 0]), openvino.Coordinate([1, array.nbytes])
    )
    del array, memory
    gc.collect()
    assert not guard.released
    del native
    gc.collect()
    assert not guard.released
    del user
    sweep_loans()
    assert guard.released


def test_a_request_that_writes(remote: Any) -> None:
    """Its output is the only user of the memory that is left."""
    guard, array = guarded(0)
    request = compiled(remote).create_infer_request()
    native = samebytes.tensor(array).map(remote, "rw").native
    request.set_tensor("y", native)
    address, nbytes = array.ctypes.data, array.nbytes
    del native, array
    gc.collect()
    assert not guard.released
    request.set_tensor("x", openvino.Tensor(np.full(SHAPE, 4, np.float32)))
    request.start_async()
    request.wait()
    there = np.ctypeslib.as_array((ctypes.c_float * (nbytes // 4)).from_address(address))
    assert (there == 5).all()
    del request, there
    sweep_loans()
    assert guard.released


def test_elements_of_less_than_a_byte(gpu: Any) -> None:
    """OpenVINO ends the process where a region of them is cut out."""
    guard, array = guarded(0)
    from samebytes_openvino.intel_gpu import VirtualAddressMemory

    native = gpu.create_tensor("u4", (1, 8 * N), VirtualAddressMemory(array)).native
    user = as_tensor(native, openvino.Type.u4, 2)
    del array, native
    gc.collect()
    assert not guard.released
    del user
    sweep_loans()
    assert guard.released


def test_the_next_mapping_has_the_same_native(gpu: Any) -> None:
    """What a request of OpenVINO's holds beyond its mapping comes round again in a pool."""
    pool = [source_with(value) for value in (1, 2, 3)]
    request = compiled(gpu).create_infer_request()
    numbers = []
    for value in (1, 2, 3) * 3:
        with pool[value - 1].map(gpu) as view:
            numbers.append(id(view.native))
            request.set_tensor("x", view.native)
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
    for _ in range(2):
        with pytest.raises(BusyError):
            source.close()
        assert reads(gpu, region, 7)
        request.infer()
    del region
    source.close()


@pytest.mark.parametrize("how", ["converted", "run by its native"])
def test_a_region_of_what_the_plugin_has_let_go(gpu: Any, how: str) -> None:
    """Where the plugin may hold nothing of the last inference, nothing of it is left out."""
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
    with pytest.raises(BusyError):
        source.close()
    del region
    request.infer()
    source.close()


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
    with pytest.raises(BusyError):
        source.close()
    copied = openvino.Tensor(openvino.Type.f32, openvino.Shape(SHAPE))
    region.copy_to(copied)
    assert (copied.data == 7).all()
    del region
    source.close()


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


def test_nothing_stays_of_many(remote: Any) -> None:
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
    pins = len(_pins._pins)
    native_held()
    user = None
    sweep_loans()
    assert len(_pins._pins) == pins
    for source in pool:
        source.close()


def test_threads(remote: Any) -> None:
    source = source_with(7)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(100):
                view = source.map(remote)
                region = region_of(remote, view.native)
                view.close()
                try:
                    source.close()
                except BusyError:
                    pass
                else:
                    raise AssertionError("a region was there")
                del region
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    source.close()


@pytest.mark.parametrize("taken", [True, False])
def test_in_a_forked_child(gpu: Any, taken: bool) -> None:
    source = source_with(7)
    view = source.map(gpu)
    native = view.native if taken else None
    user = region_of(gpu, view.native)
    view.close()
    del native
    child = os.fork()
    if child == 0:
        try:
            sweep_loans()
            busy = False
            try:
                source.close()
            except BusyError:
                busy = True
            os._exit(0 if busy and (source.native == 7).all() else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert reads(gpu, user, 7)
    del user
    source.close()


_PROGRAM = """
    import numpy as np, openvino, samebytes
    from samebytes.errors import BusyError
    from remote.test_used_by_openvino import guarded, region_of, request_with, reads
    context = samebytes.context("openvino:{device}")
    guard, array = guarded(7)
    source = samebytes.tensor(array)
    view = source.map(context)
    {native}
    user = {use}(context, view.native)
    del view
    source.close()
    native = None
    del array
    assert reads(context, user, 7), "other bytes"
    print("right")
"""


@pytest.mark.parametrize("use", ["region_of", "request_with"])
@pytest.mark.parametrize("native", ["native = view.native", "native = None"])
def test_to_the_exit_of_a_program(
    remote: Any, use: str, native: str, request: pytest.FixtureRequest
) -> None:
    """In a child, which a read of memory that was given back would end."""
    code = _PROGRAM.format(device=remote.device_name.partition(".")[0], use=use, native=native)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=request.path.parent.parent, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["right"]
    assert not done.stderr
