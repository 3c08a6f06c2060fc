# SPDX-License-Identifier: Apache-2.0
"""Batches: one tensor for each item. Surfaces are used in place, all else is merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import CopyRequiredError, LayoutError, UnsupportedObjectError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext

from .models import adding_one, named, native, numbers, nv12_model

HEIGHT, WIDTH = 16, 32


def pictures(count: int) -> list[tuple[Any, Any]]:
    random = np.random.default_rng(0)
    return [
        (
            random.integers(16, 235, (1, HEIGHT, WIDTH, 1), np.uint8),
            random.integers(16, 240, (1, HEIGHT // 2, WIDTH // 2, 2), np.uint8),
        )
        for _ in range(count)
    ]


def on_the_cpu(planes: list[tuple[Any, Any]]) -> Any:
    model = compile_model(nv12_model(HEIGHT, WIDTH, None, len(planes)), "CPU")
    y, uv = (np.concatenate([p[i] for p in planes]) for i in range(2))
    return np.asarray(InferRequest(model).infer([y, uv]).planes[0])


@pytest.fixture
def shared(cl_context: Any) -> ClContext:
    return ClContext.from_cl_context(cl_context)


def images(cl: Any, cl_context: Any, y: Any, uv: Any) -> tuple[Any, Any]:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    made = []
    for plane, order in ((y, cl.channel_order.R), (uv, cl.channel_order.RG)):
        form = cl.ImageFormat(order, cl.channel_type.UNORM_INT8)
        size = plane.shape[2], plane.shape[1]
        made.append(cl.create_image(cl_context, flags, form, shape=size, hostbuf=plane))
    return made[0], made[1]


@pytest.mark.parametrize("count", [1, 3])
def test_surfaces(cl: Any, cl_context: Any, shared: ClContext, count: int) -> None:
    planes = pictures(count)
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, "GPU_SURFACE", count), shared))
    pairs = [shared.create_tensor_nv12(*images(cl, cl_context, y, uv)) for y, uv in planes]
    samebytes.reset_stats()
    names = [port.name for port in request.input_ports]
    for index, name in enumerate(names):
        request.set_tensors(name, [pair[index] for pair in pairs])
    del pairs
    np.testing.assert_allclose(request.infer().planes[0], on_the_cpu(planes), atol=2)
    assert samebytes.stats().copies == 0
    for binding in request.bindings()[:2]:
        assert binding.placement == "in place"
        assert len(binding.batch) == (count if count > 1 else 0)
    if count > 1:
        with pytest.raises(LayoutError, match="set as a batch"):
            request.get_tensor(names[0])


def test_single_surfaces(cl: Any, cl_context: Any, shared: ClContext) -> None:
    (planes,) = pictures(1)
    request = InferRequest(compile_model(nv12_model(HEIGHT, WIDTH, "GPU_SURFACE"), shared))
    with pytest.raises(LayoutError, match="no memory of its own"):
        request.get_input_tensor(0)
    y, uv = shared.create_tensor_nv12(*images(cl, cl_context, *planes))
    np.testing.assert_allclose(request.infer([y, uv]).planes[0], on_the_cpu([planes]), atol=2)


@pytest.mark.parametrize("by_openvino", [False, True])
def test_buffers_are_merged_by_the_plugin(gpu: Any, by_openvino: bool) -> None:
    model = adding_one((2, 8))
    plain = InferRequest(compile_model(model, gpu))
    model.get_parameters()[0].layout = openvino.Layout("N...")
    request = InferRequest(compile_model(model, gpu))
    parts = [native(gpu, (1, 8)) for _ in range(2)]
    with pytest.raises(LayoutError, match=r"N\(batch\) dimension 'layout'"):
        plain.set_tensors("x", parts, copy=True)
    for part, start in zip(parts, (0, 8), strict=True):
        part.copy_from(openvino.Tensor(numbers((1, 8), start)))
    given = parts if by_openvino else [gpu.wrap_tensor(part) for part in parts]
    with pytest.raises(CopyRequiredError, match="merges 2 buffers"):
        request.set_tensors("x", given)
    request.set_input_tensors(0, given, copy=True)
    assert request.bindings()[0].placement == "copied"
    samebytes.reset_stats()
    for _ in range(2):
        (y,) = request.infer()
    np.testing.assert_array_equal(y, numbers((2, 8)) + 1)
    assert samebytes.stats().by_edge["openvino -> input 'x'"].copies == 2
    assert samebytes.stats().copied_bytes == 2 * 64
    whole = native(gpu, (2, 8))
    request.set_tensor("x", whole)
    assert request.bindings()[0].batch == ()


def test_no_remote_batch_on_the_npu(npu: Any) -> None:
    request = InferRequest(compile_model(adding_one((2, 8)), npu))
    with pytest.raises(UnsupportedObjectError, match="takes no batch of remote tensors"):
        request.set_tensors("x", [native(npu, (1, 8)) for _ in range(2)], copy=True)


def test_a_batch_of_booleans_on_the_gpu(gpu: Any) -> None:
    """The plugin fails at the inference, as with one tensor."""
    from openvino import opset13 as ops

    x = ops.parameter([2, 8], openvino.Type.boolean, name="x")
    x.set_layout(openvino.Layout("NC"))
    y = ops.logical_not(x)
    y.set_friendly_name("y")
    request = InferRequest(compile_model(named([x], [y]), gpu))
    items = [native(gpu, (1, 8), "boolean") for _ in range(2)]
    with pytest.raises(LayoutError, match=r"input 'x' is bool.*no remote tensors"):
        request.set_tensors("x", items)
    request.set_tensors("x", [np.ones((1, 8), bool), np.zeros((1, 8), bool)], copy=True)
    assert np.asarray(request.infer().planes[0]).tolist() == [[False] * 8, [True] * 8]


def test_mixed_batches(gpu: Any) -> None:
    request = InferRequest(compile_model(adding_one((2, 8)), gpu))
    with pytest.raises(LayoutError, match="device memory or in CPU memory, not in both"):
        request.set_tensors("x", [native(gpu, (1, 8)), numbers((1, 8))], copy=True)


@pytest.mark.parametrize("device", ["CPU", "GPU", "NPU"])
def test_memory_of_the_cpu_is_merged_here(request: pytest.FixtureRequest, device: str) -> None:
    where = device if device == "CPU" else request.getfixturevalue(device.lower())
    infer = InferRequest(compile_model(adding_one((2, 8)), where))
    parts = [numbers((1, 8)), samebytes.tensor(numbers((1, 8), 8)).map("openvino")]
    with pytest.raises(CopyRequiredError, match="become one piece of memory"):
        infer.set_tensors("x", parts)
    samebytes.reset_stats()
    infer.set_tensors("x", parts, copy=True)
    assert samebytes.stats().copied_bytes == 64
    (binding, _) = infer.bindings()
    assert (binding.placement, len(binding.batch)) == ("copied", 2)
    (y,) = infer.infer()
    np.testing.assert_array_equal(y, numbers((2, 8)) + 1)
    assert samebytes.stats().copies == 1
    np.testing.assert_array_equal(infer.get_tensor("x"), numbers((2, 8)))
    infer.set_tensor("x", numbers((2, 8), 5), copy=True)
    assert infer.bindings()[0].batch == ()
