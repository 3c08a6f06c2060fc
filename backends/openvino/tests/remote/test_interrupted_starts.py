# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C) while inferences are started and waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from samebytes_openvino import InferQueue, compile_model

from .models import adding_one, full

pytestmark = pytest.mark.together


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
