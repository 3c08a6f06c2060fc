# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C) while an inference is started or a tensor is set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

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
def test_signals_while_a_request_is_set_and_started(
    model: Any, strike: Callable[..., None]
) -> None:
    request, inputs = InferRequest(model), [full(1), full(2)]

    def work() -> None:
        request.set_tensor("x", inputs[0])
        request.start_async()
        request.wait()

    strike(work)
    request.wait()
    assert request.idle
    request.set_tensor("x", inputs[1])
    request.start_async()
    request.wait()
    assert first_of(request) == 3
