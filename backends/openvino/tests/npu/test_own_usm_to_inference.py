# SPDX-License-Identifier: Apache-2.0
"""The whole way: own USM -> descriptor -> remote tensor -> inference -> own pointer, no copy.

It runs in its own process, whose driver writes a trace of the pointers that it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Traced = Callable[[str], tuple[str, list[Any]]]

SCRIPT = """
import mmap, os, subprocess, sys
import numpy as np, openvino
from openvino import opset13 as ops
import samebytes
from samebytes_openvino.intel_npu import TensorType, ZeroContext

N = 4096
context = ZeroContext()
level_zero = context.derive("level_zero")
own, result = (level_zero.allocate((1, N), exportable=True) for _ in range(2))
fds = [tensor.export_fd() for tensor in (own, result)]
x = context.create_tensor("uint8", (1, N), fds[0])
y = context.create_tensor("uint8", (1, N), fds[1], tensor_type=TensorType.OUTPUT)

i = ops.parameter([1, N], np.uint8, name="i")
model = openvino.Model([ops.result(ops.multiply(i, ops.constant(np.uint8([[2]]))))], [i], "m")
model.inputs[0].tensor.set_names({"i"})
model.outputs[0].tensor.set_names({"o"})
request = context.core.compile_model(model, context.native, {}).create_infer_request()
request.set_tensor("i", x.native)
request.set_tensor("o", y.native)

write = "import mmap, sys; mmap.mmap(int(sys.argv[1]), 4096)[:4] = bytes([1, 2, 3, 4])"
fd = fds[0].fileno()
subprocess.run([sys.executable, "-c", write, str(fd)], pass_fds=[fd], check=True)
assert list(own.host_array()[0, :4]) == [1, 2, 3, 4]
request.start_async()
request.wait()

assert list(result.host_array()[0, :5]) == [2, 4, 6, 8, 0], "through the own pointer"
assert mmap.mmap(fds[1].fileno(), N)[:4] == bytes([2, 4, 6, 8]), "through its descriptor"
assert samebytes.stats().copies == 0
print(*(t.handle("usm_ptr") for t in (own, result, x, y)), *(f.fileno() for f in fds))
"""


def test_own_usm_to_inference_and_back(traced: Traced) -> None:
    pytest.importorskip(
        "samebytes_npu_level_zero",
        reason="missing package samebytes-npu-level-zero: pip install samebytes-npu-level-zero",
    )
    printed, trace = traced(SCRIPT)
    own, result, x, y, *fds = (int(word) for word in printed.split())
    (run,) = [record for record in trace if record.call == "graph_execute"]
    assert run.pointers() == (x, y), "the graph got the imports' own pointers"
    made = {record.number("pointer"): record for record in trace if record.call == "mem_alloc"}
    assert [made[p].number("fd") for p in (x, y)] == fds
    exported = {record.number("pointer") for record in trace if record.call == "mem_export"}
    assert {own, result} <= exported
    assert not [record for record in trace if record.call == "copy"]


MAPPED = """
import numpy as np, openvino
from openvino import opset13 as ops
import samebytes
from samebytes_openvino import InferRequest

cpu = samebytes.context("cpu")
frame = cpu.allocate_frame("NV12", 64, 32)
for plane, value in zip(frame, (3, 4)): plane.native[...] = value
y = ops.parameter([1, 32, 64, 1], np.uint8, name="y")
uv = ops.parameter([1, 16, 32, 2], np.uint8, name="uv")
two = ops.constant(np.uint8([[[[2]]]]))
results = [ops.result(ops.multiply(node, two)) for node in (y, uv)]
model = openvino.Model(results, [y, uv], "m")
for port, name in zip(model.inputs, ("y", "uv")): port.tensor.set_names({name})
request = InferRequest(openvino.Core().compile_model(model, "NPU", {}))
outputs = cpu.allocate_frame("NV12", 64, 32)
given = [p for f, access in ((frame, "r"), (outputs, "w"))
    for p in f.map("openvino:NPU", access).planes]
samebytes.reset_stats()
request.set_tensor("y", given[0])
request.set_tensor("uv", given[1])
for index in range(2): request.set_output_tensor(index, given[2 + index])
request.infer()
assert samebytes.stats().copies == 0
assert [int(p.native.min()) for p in outputs] == [6, 8]
print(*(p.handle("data") for f in (frame, outputs) for p in f))
"""


def test_planes_of_the_cpus_are_the_arguments(traced: Traced) -> None:
    """Frames mapped to the NPU: the graph works on the very bytes of the CPU's frames."""
    printed, trace = traced(MAPPED)
    (run,) = [record for record in trace if record.call == "graph_execute"]
    assert run.pointers() == tuple(int(word) for word in printed.split())
