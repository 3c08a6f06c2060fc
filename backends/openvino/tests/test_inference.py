# SPDX-License-Identifier: Apache-2.0
"""InferRequest: running in the background, waiting, and more than one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

from samebytes.errors import BusyError
from samebytes_openvino import InferRequest

from .models import compiled, slow


def test_async() -> None:
    request = InferRequest(slow())
    a = np.eye(600, dtype=np.float32)
    request.start_async(a)
    assert "running" in repr(request)
    with pytest.raises(BusyError, match="wait"):
        request.set_tensor("a", np.zeros((600, 600), np.float32))
    with pytest.raises(BusyError, match="wait"):
        request.infer()
    (b,) = request.outputs()
    assert request.wait(0)
    assert "running" not in repr(request)
    np.testing.assert_array_equal(b, a)
    assert request.wait()
    assert request.wait(5)


def test_cancelling() -> None:
    request = InferRequest(slow())
    request.start_async(np.eye(600, dtype=np.float32))
    request.cancel()
    assert request.wait(0)
    request.cancel()
    np.testing.assert_array_equal(request.infer().planes[0], np.eye(600, dtype=np.float32))


def test_waiting_lets_other_threads_run() -> None:
    request = InferRequest(slow())
    turns = 0
    request.start_async(np.eye(600, dtype=np.float32))
    done = threading.Event()

    def wait() -> None:
        request.wait()
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while not done.wait(0.0005):
        turns += 1
    thread.join()
    assert turns > 0


def test_timeouts_that_never_end() -> None:
    request = InferRequest(slow())
    for timeout in (float("inf"), 1e300, 2.0**31):
        request.start_async(np.eye(600, dtype=np.float32))
        assert request.wait(timeout)
        assert "running" not in repr(request)


@pytest.mark.parametrize("timeout", [float("nan"), -1, -0.001, float("-inf")])
def test_timeouts_that_are_none(timeout: float) -> None:
    request = InferRequest(slow())
    with pytest.raises(ValueError, match="give the seconds to wait"):
        request.wait(timeout)
    request.start_async(np.eye(600, dtype=np.float32))
    with pytest.raises(ValueError, match="give the seconds to wait"):
        request.wait(timeout)
    assert request.wait()


def test_another_thread_learns_that_the_request_is_busy() -> None:
    """The model waits in its own operation until the other thread has been refused."""
    entered, leave = threading.Event(), threading.Event()

    class Waiting(openvino.Op):  # type: ignore[misc]  # openvino has no types
        def __init__(self, inputs: Any = None) -> None:
            super().__init__(self, inputs)

        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

        def clone_with_new_inputs(self, inputs: Any) -> Any:
            return Waiting(inputs)

        def has_evaluate(self) -> bool:
            return True

        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            entered.set()
            leave.wait()
            outputs[0].data[...] = inputs[0].data
            return True

    x = ops.parameter([2], np.float32, name="x")
    y = Waiting([x.output(0)])
    y.set_friendly_name("y")
    request = InferRequest(compiled([x], [y]))
    array = np.array([1, 2], np.float32)
    request.set_tensor("x", array)
    request.get_output_tensor(0)
    uses: list[Callable[[], object]] = [
        lambda: request.set_tensor("x", array),
        lambda: request.get_output_tensor(0),
        request.bindings,
        request.release_inputs,
        request.infer,
        request.start_async,
    ]
    thread = threading.Thread(target=request.infer)
    thread.start()
    try:
        entered.wait()
        for use in uses:
            with pytest.raises(BusyError, match="one request for each thread"):
                use()
    finally:
        leave.set()
        thread.join()
    assert np.asarray(request.infer().planes[0]).tolist() == [1, 2]
