# SPDX-License-Identifier: Apache-2.0
"""Models on the NPU: fixed shapes, own tensors, states, latencies, callbacks, many requests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops
from openvino.op.util import Variable, VariableInfo

from samebytes.errors import LayoutError, NativeError, UnknownNameError, UnsupportedObjectError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_npu import (
    NpuPropertyError,
    check_static,
    get_states,
    measure_latency,
    reset_states,
    set_states,
)


def test_dynamic_shapes(doubling: Callable[..., Any]) -> None:
    check_static(doubling((1, 4)))
    with pytest.raises(LayoutError, match=r"input 'x' \[\?,4\], output 'y' .*reshape"):
        check_static(doubling((-1, 4)))
    x = ops.parameter(openvino.PartialShape([openvino.Dimension(1, 3), 4]), np.float32)
    with pytest.raises(LayoutError, match=r"input .* \[1\.\.3,4\]"):
        check_static(openvino.Model([ops.result(x)], [x], "unnamed"))
    for device in ("NPU", "NPU.4000"):
        with pytest.raises(LayoutError, match=r"input 'x' \[\?,4\]"):
            compile_model(doubling((-1, 4)), device)
    reshaped = doubling((-1, 4))
    reshaped.reshape({"x": [2, 4]})
    check_static(reshaped)


def test_a_requests_own_tensors(traced: Callable[[str], tuple[str, list[Any]]]) -> None:
    """The document's recommended way: fill and read them in place, and nothing is copied."""
    printed, trace = traced("""
        import numpy as np, openvino
        from openvino import opset13 as ops
        from samebytes_openvino import InferRequest, compile_model
        x = ops.parameter([1, 100], np.uint8, name="x")
        model = openvino.Model([ops.result(ops.multiply(x, ops.constant(np.uint8([2]))))], [x], "m")
        request = InferRequest(openvino.Core().compile_model(model, "NPU", {}))
        own, result = request.get_input_tensor(0), request.get_output_tensor(0)
        own.host_array()[...] = 21
        print(own.handle("data"), result.handle("data"))
        request.infer()
        assert (result.host_array() == 42).all()
    """)
    (run,) = [record for record in trace if record.call == "graph_execute"]
    assert run.pointers() == tuple(int(word) for word in printed.split())


@pytest.fixture
def adding_up(core: Any) -> Any:
    """A request of a stateful model: "sum" grows by the input at each inference."""
    info = VariableInfo()
    info.data_shape, info.data_type = openvino.PartialShape([1, 4]), openvino.Type.f32
    info.variable_id = "sum"
    variable = Variable(info)
    x = ops.parameter([1, 4], np.float32, name="x")
    before = ops.read_value(ops.constant(np.zeros((1, 4), np.float32)), variable)
    after = ops.add(before, x)
    model = openvino.Model(
        results=[ops.result(after)], sinks=[ops.assign(after, variable)], parameters=[x], name="s"
    )
    return core.compile_model(model, "NPU", {}).create_infer_request()


def test_states(adding_up: Any) -> None:
    """Query, get, set and reset, on the NPU; values are copied both ways."""
    ones = np.ones((1, 4), np.float32)
    adding_up.infer([ones])
    adding_up.infer([ones])
    (before,) = get_states(adding_up).values()
    assert (before == 2).all()
    set_states(adding_up, {"sum": 5 * ones})
    adding_up.infer([ones])
    assert (get_states(adding_up)["sum"] == 6).all()
    assert (before == 2).all(), "a copy, which later inferences do not change"
    reset_states(adding_up)
    adding_up.infer([ones])
    assert (get_states(adding_up)["sum"] == 1).all()
    reset_states(adding_up, ["sum"])
    assert list(get_states(InferRequest(adding_up))) == ["sum"]


def test_a_state_is_one_buffer_of_the_device(
    traced: Callable[[str], tuple[str, list[Any]]],
) -> None:
    """The document has the plugin copy it at each inference; this version does not."""
    _, trace = traced("""
        import numpy as np, openvino
        from openvino import opset13 as ops
        from openvino.op.util import Variable, VariableInfo
        info = VariableInfo()
        info.data_shape, info.data_type = openvino.PartialShape([1, 4]), openvino.Type.f32
        info.variable_id = "sum"
        variable = Variable(info)
        x = ops.parameter([1, 4], np.float32, name="x")
        before = ops.read_value(ops.constant(np.zeros((1, 4), np.float32)), variable)
        after = ops.add(before, x)
        model = openvino.Model([ops.result(after)], [ops.assign(after, variable)], [x], "m")
        request = openvino.Core().compile_model(model, "NPU", {}).create_infer_request()
        for _ in range(2): request.infer()
    """)
    kinds = [record.fields["kind"] for record in trace if record.call == "graph_argument"]
    runs = [record.pointers() for record in trace if record.call == "graph_execute"]
    assert len(runs) == 2
    read, written = kinds.index("state_input"), kinds.index("state_output")
    assert {run[read] for run in runs} == {run[written] for run in runs} == {runs[0][read]}


def test_states_that_cannot_be(adding_up: Any) -> None:
    with pytest.raises(UnknownNameError) as caught:
        set_states(adding_up, {"some": np.ones((1, 4), np.float32)})
    assert caught.value.nearest == ("sum",)
    with pytest.raises(UnknownNameError):
        reset_states(adding_up, ["some"])
    for value in (np.ones((1, 5), np.float32), np.ones((1, 4), np.float64)):
        with pytest.raises(LayoutError, match="state variable 'sum' is float32"):
            set_states(adding_up, {"sum": value})
    for values in (None, np.ones((1, 4), np.float32), ["sum"]):
        with pytest.raises(UnsupportedObjectError, match="map names of state variables"):
            set_states(adding_up, values)  # type: ignore[arg-type]


def test_first_latencies(core: Any, doubling: Callable[..., Any]) -> None:
    """FEIL compiles, FIL imports; both are sums of their parts, and the table shows them."""
    report = measure_latency(doubling((1, 8)), {"NPU_TURBO": True}, core=core)
    for latency in (report.feil, report.fil):
        parts = (latency.load, latency.request, latency.inference)
        assert all(part > 0 for part in parts)
        assert latency.total == sum(parts)
    assert report.device == core.get_property("NPU", "FULL_DEVICE_NAME")
    table = str(report)
    assert all(word in table for word in ("FEIL", "FIL", "first inference", "total"))
    with pytest.raises(LayoutError):
        measure_latency(doubling((-1, 8)), core=core)
    with pytest.raises(NpuPropertyError):
        measure_latency(doubling((1, 8)), {"NPU_TURBO": "maybe"}, core=core)


def test_latencies_do_not_use_caches(core: Any, doubling: Callable[..., Any]) -> None:
    """Neither OpenVINO's nor the driver's: it would be no first inference."""
    compiled_with: list[dict[str, Any]] = []

    class Spy:
        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def compile_model(self, model: Any, device: str, config: dict[str, Any]) -> Any:
            compiled_with.append(config)
            return core.compile_model(model, device, config)

    measure_latency(doubling((1, 8)), {"CACHE_DIR": "somewhere"}, core=Spy())
    assert compiled_with == [{"CACHE_DIR": "", "NPU_BYPASS_UMD_CACHING": True}]


def test_callbacks(core: Any, doubling: Callable[..., Any]) -> None:
    """A callback is called at the end of each asynchronous inference."""
    compiled = core.compile_model(doubling((1, 8)), "NPU", {})
    queue = openvino.AsyncInferQueue(compiled, 2)
    seen: list[int] = []
    queue.set_callback(lambda request, tag: seen.append(tag))
    for tag in range(8):
        queue.start_async({"x": np.full((1, 8), tag, np.uint8)}, tag)
    queue.wait_all()
    assert sorted(seen) == list(range(8))


# Submissions run late, so that a missing wait gives old numbers.
PARALLEL = """
import threading
import numpy as np, openvino
from openvino import opset13 as ops
from samebytes_openvino.intel_npu import ZeroContext

N = 256
context = ZeroContext()
x = ops.parameter([1, N], np.uint8, name="x")
y = ops.multiply(x, ops.constant(np.uint8([[2]])))
model = openvino.Model([ops.result(y)], [x], "m")
model.inputs[0].tensor.set_names({"x"})
model.outputs[0].tensor.set_names({"y"})
compiled = context.core.compile_model(model, context.native, {})
errors = []

def work(seed):
    try:
        requests = []
        for _ in range(3):
            pair = [context.create_l0_host_tensor("uint8", (1, N)) for _ in range(2)]
            request = compiled.create_infer_request()
            request.set_tensor("x", pair[0].native)
            request.set_tensor("y", pair[1].native)
            requests.append((request, *(t.host_array() for t in pair), pair))
        for turn in range(8):
            for number, (request, given, _, _) in enumerate(requests):
                given[...] = (seed * 30 + turn * 3 + number) % 120
                request.start_async()
            for number, (request, _, result, _) in enumerate(requests):
                request.wait()
                expected = 2 * ((seed * 30 + turn * 3 + number) % 120)
                assert (result == expected).all(), (seed, turn, number)
        own = compiled.create_infer_request()
        own.get_tensor("x").data[...] = seed
        own.infer()
        assert (own.get_tensor("y").data == 2 * seed).all()
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if errors: raise errors[0]
print("done")
"""


@pytest.mark.usefixtures("core")
def test_cancelling_is_refused_and_the_inference_runs_on() -> None:
    x = ops.parameter([1, 4096], np.float32)
    model = openvino.Model([ops.result(ops.relu(x))], [x])
    request = InferRequest(compile_model(model, "NPU"))
    request.start_async(np.ones((1, 4096), np.float32), copy=True)
    with pytest.raises(NativeError, match=r"InferRequest.cancel failed: .*wait\(\) for its end"):
        request.cancel()
    request.wait()
    request.cancel()  # nothing runs
    (y,) = request.outputs()
    assert (np.asarray(y) == 1).all()
    request.start_async()
    request.close()


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("delay", ["0", "3000"])
def test_parallel_inference(delay: str) -> None:
    """Threads with several requests each, asynchronous and synchronous, on late devices too."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PARALLEL)],
        env={**os.environ, "SOFTNPU_DELAY_US": delay},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def test_threads_make_contexts_and_tensors(core: Any) -> None:
    """There is one context, from whichever thread it is first asked."""
    from samebytes_openvino.intel_npu import ZeroContext

    found: list[Any] = []
    start = threading.Barrier(4, timeout=60)

    def work() -> None:
        start.wait()
        context = ZeroContext(core)
        found.append(context)
        for _ in range(50):
            context.allocate((1, 16)).close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(context is found[0] for context in found)
