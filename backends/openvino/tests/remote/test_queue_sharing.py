# SPDX-License-Identifier: Apache-2.0
"""Models that run in the user's queue, ordered by barriers alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops
from openvino import properties

from samebytes.errors import ClosedError, LayoutError
from samebytes_openvino import HostBlockingWarning, InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext

from .models import N, adding_one, named, numbers

pytestmark = pytest.mark.together

KERNEL = """
kernel void doubled(global const float *from, global float *to)
{
    to[get_global_id(0)] = 2 * from[get_global_id(0)];
}
"""


@pytest.fixture(params=["in order", "out of order"])
def queue(request: pytest.FixtureRequest, cl: Any, cl_context: Any) -> Any:
    order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    return cl.CommandQueue(cl_context, properties=order if request.param == "out of order" else 0)


# A runtime on the CPU reports how it vectorised.
@pytest.mark.filterwarnings("ignore:Non-empty compiler output")
def test_kernels_before_and_after_without_a_wait(cl: Any, cl_context: Any, queue: Any) -> None:
    context = ClContext.from_queue(queue)
    # Long enough that an inference which was not waited for cannot be done already.
    size = 256
    a = ops.parameter([size, size], np.float32, name="x")
    node = a
    for _ in range(8):
        node = ops.matmul(node, ops.constant(np.eye(size, dtype=np.float32)), False, False)
    y = ops.add(node, ops.constant(np.float32(1)))
    y.set_friendly_name("y")
    request = InferRequest(compile_model(named([a], [y]), context))

    flags = cl.mem_flags.READ_WRITE
    first, inside, out, last = (cl.Buffer(cl_context, flags, size * size * 4) for _ in range(4))
    request.set_tensor("x", context.create_tensor("float32", (size, size), inside))
    request.set_tensor("y", context.create_tensor("float32", (size, size), out))
    assert [b.placement for b in request.bindings()] == ["in place"] * 2
    doubled = cl.Program(cl_context, KERNEL).build(cache_dir=False).doubled
    result = np.zeros((size, size), np.float32)
    for turn in range(3):
        values = numbers((size, size)) % 64 + turn
        cl.enqueue_copy(queue, first, values, is_blocking=True)
        doubled(queue, (size * size,), None, first, inside)
        cl.enqueue_barrier(queue)
        request.start_async()
        cl.enqueue_barrier(queue)
        doubled(queue, (size * size,), None, out, last)
        queue.finish()
        cl.enqueue_copy(queue, result, last, is_blocking=True)
        np.testing.assert_array_equal(result, 2 * (2 * values + 1))
        assert request.wait()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"NUM_STREAMS": 2}, "NUM_STREAMS 2: .* exactly one stream"),
        ({"NUM_STREAMS": "AUTO"}, "NUM_STREAMS AUTO"),
        ({properties.num_streams: properties.streams.Num(3)}, "NUM_STREAMS 3"),
        ({"PERFORMANCE_HINT": "THROUGHPUT"}, "THROUGHPUT makes several streams"),
        ({properties.hint.performance_mode(): properties.hint.PerformanceMode.THROUGHPUT},
         "THROUGHPUT makes several streams"),
    ],
)  # fmt: skip
def test_more_than_one_stream(queue: Any, config: Any, message: str) -> None:
    context = ClContext.from_queue(queue)
    with pytest.raises(LayoutError, match=message):
        compile_model(adding_one(), context, config)
    plain = {str(k): str(v) if type(v) is int else v for k, v in config.items()}
    with pytest.raises(RuntimeError, match="shared queue"):  # what OpenVINO says of it
        context.core.compile_model(adding_one(), context.native, plain)


@pytest.mark.parametrize(
    ("setting", "cure"),
    [
        ({"PERFORMANCE_HINT": "THROUGHPUT"}, {"PERFORMANCE_HINT": "LATENCY"}),
        ({"PERFORMANCE_HINT": "THROUGHPUT"}, {"NUM_STREAMS": 1}),
        ({"NUM_STREAMS": "2"}, {"NUM_STREAMS": 1}),
    ],
)
def test_more_than_one_stream_by_settings_of_the_core(queue: Any, setting: Any, cure: Any) -> None:
    context = ClContext.from_queue(queue)
    core = openvino.Core()
    core.set_property("GPU", setting)
    with pytest.raises(LayoutError, match=r"the Core's .* exactly one stream"):
        compile_model(adding_one(), context, core=core)
    assert compile_model(adding_one(), context, cure, core).get_property("NUM_STREAMS") == 1


def test_one_stream_is_enough_said(queue: Any) -> None:
    context = ClContext.from_queue(queue)
    for config in ({"NUM_STREAMS": 1}, {"NUM_STREAMS": 1, "PERFORMANCE_HINT": "THROUGHPUT"}):
        compile_model(adding_one(), context, config)


def test_operations_that_wait_for_the_device(queue: Any) -> None:
    boxes = ops.parameter([1, 6, 4], np.float32, name="boxes")
    scores = ops.parameter([1, 2, 6], np.float32, name="scores")
    chosen = ops.non_max_suppression(boxes, scores, ops.constant(np.int64(3)))
    chosen.set_friendly_name("nms")
    total = ops.reduce_sum(chosen.output(0), ops.constant(np.array([0, 1])), keep_dims=False)
    model = openvino.Model([ops.result(total)], [boxes, scores], "detector")
    with pytest.warns(HostBlockingWarning, match=r"operation 'nms' \(NonMaxSuppression\) waits"):
        compile_model(model, ClContext.from_queue(queue))


FAILED_START = """
import numpy as np, openvino, pyopencl as cl, pytest
from samebytes.errors import ClosedError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext
from remote.models import N, adding_one, native

default = ClContext.default()
cl_context = cl.Context(cl.Context.from_int_ptr(default.get()).devices[:1])
queue = cl.CommandQueue(cl_context)
context = ClContext.from_queue(queue)
other = ClContext.from_cl_context(cl_context)
model = compile_model(adding_one(), context)
request, second = InferRequest(model), InferRequest(model)
# A native tensor over the same cl_context, which looks like one of this context.
request.set_tensor("x", native(other))
with pytest.raises(RuntimeError, match="different engine"):
    request.start_async()
for use in (request.start_async, request.infer, second.start_async, second.infer,
            second.bindings, lambda: second.get_tensor("x"), lambda: InferRequest(model),
            model.create_infer_request):
    with pytest.raises(ClosedError, match="compile the model again"):
        use()
assert repr(second) == "<InferRequest closed>"
second.close()
again = InferRequest(compile_model(adding_one(), context))
again.set_tensor("x", native(context))
again.start_async()
assert again.wait()
print("done")
"""


@pytest.mark.usefixtures("cl")
def test_a_failed_start_closes_the_model() -> None:
    """In its own process, since otherwise the next start would wait forever."""
    ran = subprocess.run(
        [sys.executable, "-c", FAILED_START], cwd=Path(__file__).parent.parent,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout.split()) == (0, ["done"]), ran.stderr


def test_a_failed_start_on_the_plugins_own_queue_is_not_end(gpu: Any, cl_context: Any) -> None:
    other = ClContext.from_cl_context(cl_context)
    request = InferRequest(compile_model(adding_one(), gpu))
    request.set_tensor("x", gpu.allocate((1, N), "float32"))
    request.start_async()
    assert request.wait()
    with pytest.raises(ValueError, match="the model was compiled on"):
        request.set_tensor("x", other.allocate((1, N), "float32"))


def test_closing_says_which(gpu: Any) -> None:
    request = InferRequest(compile_model(adding_one(), gpu))
    request.close()
    with pytest.raises(ClosedError, match="this InferRequest was closed"):
        request.start_async()
