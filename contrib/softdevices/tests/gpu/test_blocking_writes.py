# SPDX-License-Identifier: Apache-2.0
"""A blocking write is complete when it returns; with the runtime's defect left in it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

# Prints how many of 200 blocking writes of each kind had not ended when they returned.
SCRIPT = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
pixels = cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNSIGNED_INT8)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
image = cl.create_image(context, cl.mem_flags.READ_WRITE, pixels, shape=(64, 64))
small, whole = np.zeros(64, np.uint8), np.zeros((64, 64), np.uint8)
rectangle = dict(buffer_origin=(0, 0), host_origin=(0, 0), region=(32, 32),
                 buffer_pitches=(64,), host_pitches=(64,))
ended = cl.command_execution_status.COMPLETE
def early(*arguments, **options):
    events = (cl.enqueue_copy(*arguments, is_blocking=True, **options) for _ in range(200))
    return sum(event.command_execution_status != ended for event in events)
for properties in (0, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE):
    queue = cl.CommandQueue(context, properties=properties)
    print(early(queue, buffer, small), early(queue, buffer, whole, **rectangle),
          early(queue, image, whole, origin=(0, 0), region=(64, 64)))
"""


def counts(printed: str) -> list[int]:
    return [int(number) for number in printed.split()]


@pytest.mark.usefixtures("cl")
def test_blocking_writes_are_complete(run_python: Callable[..., str]) -> None:
    assert counts(run_python(SCRIPT)) == [0] * 6


@pytest.mark.usefixtures("cl")
def test_the_quirk_shows_who_does_not_wait(run_python: Callable[..., str]) -> None:
    early = counts(run_python(SCRIPT, SOFTGPU_QUIRK_EARLY_WRITES="1"))
    assert any(early), "the runtime fixed its writes: the layer need not wait any more"


@pytest.mark.parametrize("blocking", [True, False])
def test_the_event_of_a_write_is_the_programs(
    cl: Any, np: Any, context: Any, queue: Any, blocking: bool
) -> None:
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    event = cl.enqueue_copy(queue, buffer, np.arange(64, dtype=np.uint8), is_blocking=blocking)
    event.wait()
    assert event.command_type == cl.command_type.WRITE_BUFFER
    assert event.get_info(cl.event_info.REFERENCE_COUNT) == 1


def test_a_blocking_write_waits_for_nothing_else(
    cl: Any, np: Any, context: Any, queue: Any
) -> None:
    out_of_order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    loose = cl.CommandQueue(context, properties=out_of_order)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 128)
    gate = cl.UserEvent(context)
    later = cl.enqueue_fill_buffer(loose, buffer, b"\x05", 64, 64, wait_for=[gate])
    # With a wait for the whole queue this would never return.
    cl.enqueue_copy(loose, buffer, np.full(64, 3, np.uint8), is_blocking=True)
    gate.set_status(cl.command_execution_status.COMPLETE)
    later.wait()
    read = np.empty(128, np.uint8)
    cl.enqueue_copy(queue, read, buffer)
    assert (read == [3] * 64 + [5] * 64).all()
