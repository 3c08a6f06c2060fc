# SPDX-License-Identifier: Apache-2.0
"""InferRequest holds what it was given. In their own processes, as mistakes end in a crash."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import weakref
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Storage
from samebytes.testing import assert_steady
from samebytes_openvino import InferRequest

from .models import adding

pytestmark = pytest.mark.together

_PREPARE = '''
import gc, sys
import numpy as np
import openvino
import samebytes
from samebytes.testing import GuardedMemory
from samebytes_openvino import InferRequest
from models import adding, slow

def array(value, shape=(1 << 16,)):
    """An array on pages that nobody may touch after its last holder is gone."""
    guard = GuardedMemory()
    (made,) = guard.arrays([samebytes.TensorInfo("float32", shape)])
    made[...] = value
    return guard, made

def done():
    print("done", flush=True)
'''


def run(code: str) -> tuple[int, str, str]:
    """(status, output, errors) of a fresh interpreter that runs `code`."""
    process = subprocess.run(
        [sys.executable, "-c", _PREPARE + code],
        cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return process.returncode, process.stdout, process.stderr


def check(code: str) -> None:
    status, output, errors = run(code)
    assert (status, output.split()[-1:]) == (0, ["done"]), f"{status}\n{output}\n{errors}"
    assert not errors


def test_openvinos_own_request_reads_freed_memory() -> None:
    """The control: without it, the tests below would prove nothing."""
    status, output, _ = run(
        """
request = adding((1 << 16,)).create_infer_request()
guard, x = array(1)
request.set_tensor("x0", openvino.Tensor(x, shared_memory=True))
request.infer()
print("before", flush=True)
del x
gc.collect()
request.infer()
done()
"""
    )
    assert output.split() == ["before"]
    assert status == -signal.SIGSEGV


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "samebytes.tensor(x)",
        "samebytes.tensor(x).map('openvino')",
        "openvino.Tensor(x, shared_memory=True)",
    ],
)
def test_dropping_what_was_set(value: str) -> None:
    check(
        f"""
request = InferRequest(adding((1 << 16,)))
guard, x = array(1)
request.set_tensor("x0", {value})
del x
gc.collect()
assert not guard.released
(y,) = request.infer()
assert (np.asarray(y) == 2).all()
other, z = array(5)
request.set_tensor("x0", z)
gc.collect()
assert guard.released
assert (np.asarray(request.infer().planes[0]) == 6).all()
request.close()
del z
gc.collect()
assert other.released
done()
"""
    )


def test_dropping_outputs_that_were_set() -> None:
    check(
        """
request = InferRequest(adding((1 << 16,)))
guard, y = array(0)
request.set_tensor("x0", np.full(1 << 16, 3, np.float32))
request.set_tensor("y0", y)
del y
gc.collect()
(out,) = request.infer()
assert (np.asarray(out) == 4).all()
replaced, z = array(0)
view = out.host_array()
del out
request.set_tensor("y0", z)
request.infer()
gc.collect()
assert not guard.released and (view == 4).all() and (z == 4).all()
del view
gc.collect()
assert guard.released
done()
"""
    )


def test_dropping_everything_while_it_runs() -> None:
    check(
        """
guard, x = array(1, (600, 600))
request = InferRequest(slow())
request.start_async(x)
del x
gc.collect()
assert not guard.released
del request
gc.collect()
assert guard.released
done()
"""
    )


def test_padded_inputs_after_the_request_before_is_gone() -> None:
    """The CPU plugin would copy the second input to the freed memory of the first."""
    check(
        """
model = adding((1, 64, 64, 4))
first, x = array(1, (1, 64, 64, 4))
request = InferRequest(model)
request.infer(x)
del request, x
gc.collect()
assert first.released
second, z = array(2, (1, 64, 80, 4))
request = InferRequest(model)
(y,) = request.infer(z[:, :, :64], copy=True)
assert (np.asarray(y) == 3).all()
done()
"""
    )


def test_exit_while_it_runs() -> None:
    check(
        """
import builtins
guard, x = array(1, (600, 600))
request = InferRequest(slow())
builtins.keep = [request, request.outputs(), x]
request.start_async(x)
done()
"""
    )


def test_exit_with_everything_alive() -> None:
    check(
        """
import builtins
guard, x = array(1, (1 << 16,))
request = InferRequest(adding((1 << 16,)))
out = request.infer(x)
mapped = samebytes.tensor(x).map("openvino")
cycle = [out, mapped, mapped.native, mapped.native.data, np.asarray(out.planes[0])]
cycle.append(cycle)
builtins.keep = cycle
done()
"""
    )


def test_the_outputs_keep_their_memory() -> None:
    request = InferRequest(adding())
    (y,) = request.infer(np.zeros((1, 4, 6, 2), np.float32))
    native, array = y.native, y.host_array()
    del request, y
    gc.collect()
    assert (native.data == 1).all()
    del native
    assert (array == 1).all()


def test_no_reference_cycles() -> None:
    released: list[bool] = []
    memory = np.zeros(48, np.float32)
    address = memory.__array_interface__["data"][0]
    storage = Storage(lambda: released.append(True), address=address, nbytes=memory.nbytes)
    x = np.asarray(storage).view(np.float32).reshape(1, 4, 6, 2)
    del storage
    gc.collect()
    gc.disable()
    try:
        request = InferRequest(adding())
        out = request.infer(x)
        gone = weakref.ref(request)
        del x, request
        assert gone() is not None, "the outputs hold their request"
        assert not released
        del out
        assert gone() is None
        assert released
    finally:
        gc.enable()


def test_threads_with_requests_of_their_own() -> None:
    errors: list[BaseException] = []
    model = adding()

    def work(seed: int) -> None:
        try:
            request = InferRequest(model)
            for turn in range(200):
                x = np.full((1, 4, 6, 2), seed + turn, np.float32)
                request.start_async(x)
                (y,) = request.outputs()
                assert (np.asarray(y) == seed + turn + 1).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_nothing_stays() -> None:
    request = InferRequest(adding())
    y = np.zeros((1, 4, 6, 2), np.float32)
    request.set_tensor("y0", y)
    samebytes.reset_stats()
    calls = count()

    def once() -> None:
        next(calls)
        x: Any = np.zeros((1, 4, 8, 2), np.float32)
        request.infer(x[:, :, :6], copy=True)
        request.infer(np.zeros((1, 4, 6, 2), np.float32))
        request.get_tensor("x0")

    assert_steady(once, 2_000)
    assert samebytes.stats().copies == next(calls)


def test_no_request_stays() -> None:
    model = adding()
    assert_steady(lambda: InferRequest(model).infer(np.zeros((1, 4, 6, 2), np.float32)), 500)
