# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves a queue before it is complete, on drivers that return early too.

Intel's CPU runtime returns from a blocking clEnqueueWriteBuffer before the write is complete, so
that another queue may still read what was there before. Each of these fails there, now and then,
without the wait that it is about; hence the many rounds.
"""

from __future__ import annotations

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
