# SPDX-License-Identifier: Apache-2.0
"""In a queue out of order, the event of a kernel comes after the kernels before it."""

from __future__ import annotations

from typing import Any

import pytest

FILL = "kernel void fill(global uint *out, uint with) { out[get_global_id(0)] = with; }"


@pytest.fixture
def loose(cl: Any, context: Any) -> Any:
    """A queue out of order."""
    properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    return cl.CommandQueue(context, properties=properties)


def test_no_kernel_waits_for_one_that_waits_for_more(
    cl: Any, np: Any, context: Any, loose: Any, build: Any
) -> None:
    program = build(context, FILL)
    first, second = (cl.Kernel(program, "fill") for _ in range(2))
    buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 64) for _ in range(3)]
    gate = cl.UserEvent(context)
    behind = first(loose, (64,), None, buffers[0], np.uint32(5), wait_for=[gate])
    also_behind = first(loose, (64,), None, buffers[1], np.uint32(6), wait_for=[gate])
    free = second(loose, (64,), None, buffers[2], np.uint32(7))
    free.wait()  # with a wait for the kernels behind the gate this would never return
    assert behind.command_execution_status != cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    also_behind.wait()
    read = np.empty((3, 64), np.uint32)
    for row, buffer in zip(read, buffers, strict=True):
        cl.enqueue_copy(loose, row, buffer)
    assert (read == [[5], [6], [7]]).all()


def test_the_event_is_the_kernels(cl: Any, np: Any, context: Any, loose: Any, build: Any) -> None:
    kernel = cl.Kernel(build(context, FILL), "fill")
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 64)
    events = [kernel(loose, (64,), None, buffer, np.uint32(n)) for n in range(40)]
    cl.wait_for_events(events[-1:])
    for event in events:
        assert event.command_type == cl.command_type.NDRANGE_KERNEL
        assert event.command_execution_status == cl.command_execution_status.COMPLETE
    loose.finish()
    # The layer holds none of them any more.
    assert {event.get_info(cl.event_info.REFERENCE_COUNT) for event in events} == {1}


def test_openvino_waits_for_the_whole_output(ov: Any, np: Any) -> None:
    """A concatenation is the last operation: one kernel for each input, of which one is large."""
    op, large = ov.opset13, 1 << 20
    inputs = [op.parameter([1, n, 1, 1], np.float32) for n in (large, 16)]
    model = ov.Model([op.result(op.concat(inputs, 1))], inputs)
    request = ov.Core().compile_model(model, "GPU").create_infer_request()
    for number in range(1, 21):
        values = [np.full((1, n, 1, 1), number, np.float32) for n in (large, 16)]
        request.infer(dict(enumerate(values)), share_inputs=True)
        assert (request.get_output_tensor(0).data == number).all()
