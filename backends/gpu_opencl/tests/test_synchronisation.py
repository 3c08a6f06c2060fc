# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves a queue before it is complete, on drivers that return early too.

Intel's CPU runtime returns from a blocking clEnqueueWriteBuffer before the write is complete, so
that another queue may still read what was there before. Copies fail there, now and then, without
their wait; hence the many rounds. Mapped memory lies in place there, so that no bytes show a wait
that is missing: that is looked for on a queue that a gate holds up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes

ROUNDS = 300
SIZE = 1 << 16


@pytest.fixture
def other_queue(opencl: Any) -> Callable[[Any], np.ndarray[Any, Any]]:
    """Reads a tensor on a queue that samebytes does not know."""
    queue = cl.CommandQueue(opencl.native)

    def read(tensor: Any) -> np.ndarray[Any, Any]:
        found = np.empty(tensor.native.size, np.uint8)
        cl.enqueue_copy(queue, found, tensor.native)
        queue.finish()
        return found

    return read


@pytest.mark.parametrize("leave", ["map", "flush", "close", "sync"])
def test_the_queue_is_done(opencl: Any, gate: Any, leave: str) -> None:
    tensor, other = opencl.allocate((64,)), opencl.allocate((64,))
    view = tensor.map("cpu", "w")
    pending = cl.enqueue_barrier(opencl.queue, wait_for=[gate])
    opencl.queue.flush()
    complete = cl.command_execution_status.COMPLETE
    opener = threading.Timer(0.2, gate.set_status, [complete])
    opener.start()
    calls: dict[str, Callable[[], object]] = {
        "map": lambda: other.map("cpu"), "flush": view.flush, "close": view.close,
        "sync": opencl.sync,
    }  # fmt: skip
    calls[leave]()
    status = pending.command_execution_status
    opener.join()
    assert status == complete


def test_after_close(opencl: Any, other_queue: Callable[..., Any]) -> None:
    tensor = opencl.allocate((SIZE,))
    for number in range(ROUNDS):
        with tensor.map("cpu", "w") as view:
            view.native[...] = number % 251
        assert (other_queue(tensor) == number % 251).all(), number


def test_after_flush(opencl: Any, other_queue: Callable[..., Any]) -> None:
    tensor = opencl.allocate((SIZE,))
    mapped = tensor.map("cpu", "w")
    for number in range(ROUNDS):
        mapped.native[...] = number % 251
        mapped.flush()
        assert (other_queue(tensor) == number % 251).all(), number


def test_after_a_copy(opencl: Any, other_queue: Callable[..., Any]) -> None:
    array = np.empty(SIZE + 1, np.uint8)[1:]
    host = samebytes.tensor(array)
    for number in range(ROUNDS):
        array[...] = number % 251
        copied = host.map(opencl, copy=True)
        assert (other_queue(copied) == number % 251).all(), number


def test_after_a_kernel(opencl: Any, kernel: Callable[..., Any]) -> None:
    tensor = opencl.allocate((SIZE,))
    run = kernel(opencl, "kernel void run(global uchar* a, int v) { a[get_global_id(0)] = v; }")
    for number in range(ROUNDS):
        run(opencl.queue, (SIZE,), None, tensor.native, np.int32(number % 251))
        with tensor.map("cpu") as view:
            assert (view.native == number % 251).all(), number


def test_device_usm_after_a_copy(usm: Any, kernel: Callable[..., Any]) -> None:
    tensor = usm.allocate((SIZE,), kind="usm_device")
    run = kernel(usm, "kernel void run(global uchar* a, int v) { a[get_global_id(0)] = v; }")
    tensor.native.set_arg(run, 0)
    for number in range(ROUNDS):
        run.set_arg(1, np.int32(number % 251))
        cl.enqueue_nd_range_kernel(usm.queue, run, (SIZE,), None)
        assert (tensor.map("cpu", copy=True).native == number % 251).all(), number
