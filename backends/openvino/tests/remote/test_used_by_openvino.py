# SPDX-License-Identifier: Apache-2.0
"""Regions and requests of OpenVINO's own that hold remote tensors over memory of others.

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

import samebytes
from samebytes import Storage
from samebytes.plugins import sweep_loans
from samebytes_openvino._remote import _lifetimes

from .models import N
from .users import (
    SHAPE,
    USERS,
    Use,
    assert_kept_for,
    compiled,
    converted,
    guarded,
    made_over,
    reads,
    region_of,
    source_with,
)

pytestmark = [pytest.mark.usefixtures("nothing_waits"), pytest.mark.together]


def usm_with(context: Any, value: float) -> Any:
    """Memory that OpenCL's driver allocated, for the GPU, or the NPU's own."""
    if context.device_name == "NPU":
        return source_with(value)
    source: Any = context.derive("opencl").allocate(SHAPE, "float32", "usm_host")
    with source.map("cpu", "w") as view:
        view.native[...] = value
    return source


@pytest.mark.parametrize("make", [lambda _: source_with(7), lambda c: usm_with(c, 7)])
@pytest.mark.parametrize("use", USERS)
def test_close_of_the_source_sees_them(remote: Any, use: Use, make: Callable[[Any], Any]) -> None:
    source = make(remote)
    view = source.map(remote, "rw")
    user = use(remote, view.native)
    view.close()
    gc.collect()
    end = weakref.ref(source.storage)
    assert source.close() is False
    assert reads(remote, user, 7)
    del user
    sweep_loans()
    assert end() is None


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

    monkeypatch.setattr(_lifetimes, "_ended", lambda _: None)
    guard, array = guarded(7)
    native = made_over(remote, array)
    users, number = [region_of(remote, native)], id(native)
    del native, array
    gc.collect()
    monkeypatch.undo()
    other = Other()
    left = _lifetimes._pins.pop(number)
    left.number = id(other)
    _lifetimes._pins[id(other)] = left
    del left
    _lifetimes.pin(other, Storage())
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
    user = converted(native, openvino.Type.u4, 2)
    del array, native
    gc.collect()
    assert not guard.released
    del user
    sweep_loans()
    assert guard.released


def test_threads(remote: Any) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(100):
                source = source_with(7)
                view = source.map(remote)
                region = region_of(remote, view.native)
                view.close()
                assert source.close() is False, "a region was there"
                del region
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


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
            array = source.native
            os._exit(0 if source.close() is False and (array == 7).all() else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert reads(gpu, user, 7)
    del user
    source.close()


_PROGRAM = """
    import numpy as np, openvino, samebytes
    from samebytes.errors import BusyError
    from remote.users import guarded, region_of, request_with, reads
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
