# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C) while an inference is started or a tensor is set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from samebytes.testing import at_each_step
from samebytes_openvino import InferQueue, InferRequest, compile_model

from .models import adding_one, first_of, full

pytestmark = pytest.mark.together

DEVICES = pytest.mark.parametrize("device", ["CPU", "GPU", "NPU"])


@pytest.fixture
def model(request: pytest.FixtureRequest, device: str) -> Any:
    """`adding_one`, compiled for a device."""
    if device != "CPU":
        request.getfixturevalue(device.lower())
    return compile_model(adding_one(), device)


@DEVICES
def test_a_queue_gets_its_request_back_at_any_instruction(model: Any) -> None:
    queue, x = InferQueue(model, 1), full(1)
    queue.start_async(x)
    queue.wait_all()
    for step in at_each_step(lambda: queue.start_async(x), opcodes=True):
        queue.wait_all()
        assert queue.is_ready(), step
    queue.wait_all()
    assert first_of(queue[0]) == 2


@DEVICES
def test_every_inference_that_began_is_called_back_once(model: Any) -> None:
    queue, x = InferQueue(model, 1), full(1)
    ended: list[int] = []
    queue.set_callback(lambda _, step: ended.append(step))
    queue.start_async(x, -1)
    queue.wait_all()
    number = iter(range(10_000))
    for _ in at_each_step(lambda: queue.start_async(x, next(number))):
        queue.wait_all()
    queue.wait_all()
    assert ended == sorted(set(ended))
    assert ended[-1] == next(number) - 1


def test_signals_while_a_queue_starts_or_waits(strike: Callable[..., None]) -> None:
    queue = InferQueue(compile_model(adding_one(), "CPU"), 1)
    queue.start_async(full(1))
    strike(queue.start_async)
    queue.wait_all()
    assert queue.is_ready()
    other = threading.Thread(target=queue.start_async, daemon=True)
    other.start()
    other.join(60)
    assert not other.is_alive()
    queue.wait_all()


@DEVICES
def test_a_request_can_be_used_after_an_interrupted_start(model: Any) -> None:
    request, x = InferRequest(model), full(1)
    request.infer(x)
    for step in at_each_step(lambda: request.start_async(x), opcodes=True):
        request.wait()
        assert request.idle, step
    request.wait()
    assert first_of(request) == 2


@DEVICES
def test_a_request_can_be_used_after_an_interrupted_set(model: Any) -> None:
    request, inputs = InferRequest(model), [full(1), full(2)]
    for tensor in inputs:
        request.set_tensor("x", tensor)
    for step in at_each_step(lambda: request.set_tensor("x", inputs[0]), opcodes=True):
        request.set_tensor("x", inputs[1])
        request.start_async()
        request.wait()
        assert first_of(request) == 3, step
