# SPDX-License-Identifier: Apache-2.0
"""Placements on the GPU: bindings() agrees with the memory statistics of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import CopyRequiredError, LayoutError
from samebytes_openvino import InferRequest, compile_model

from .models import N, adding_one, named, native, numbers, unaligned

Staged = Callable[[Any], int]


def host_memory(context: Any, shape: Any) -> Any:
    """An openvino.Tensor in USM host memory."""
    return context.native.create_host_tensor(openvino.Type.f32, openvino.Shape(shape))


def view_at(context: Any, offset: int) -> Any:
    whole = host_memory(context, [4 * N]).data
    return openvino.Tensor(whole[offset : offset + N].reshape(1, N), shared_memory=True)


KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "remote": ("in place", native),
    "host tensor": ("in place", lambda gpu: host_memory(gpu, [1, N])),
    "view in a host tensor": ("in place", lambda gpu: view_at(gpu, 0)),
    "view at an offset": ("in place", lambda gpu: view_at(gpu, 16)),
    "unaligned array": ("copied", lambda _: unaligned()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["x", "y"])
def test_as_the_statistics_show(gpu: Any, staged: Staged, kind: str, name: str) -> None:
    placement, make = KINDS[kind]
    tensor = make(gpu)
    model = compile_model(adding_one(), gpu)
    request = InferRequest(model)
    samebytes.reset_stats()
    if placement == "copied":
        with pytest.raises(CopyRequiredError, match="the GPU plugin copies"):
            request.set_tensor(name, tensor)
    request.set_tensor(name, tensor, copy=placement == "copied")
    binding = next(b for b in request.bindings() if b.name == name)
    assert binding.placement == placement
    grown = staged(request)
    # Inputs are copied here, to memory that the plugin uses in place.
    assert grown == (4 * N if (placement, name) == ("copied", "y") else 0)
    copies = samebytes.stats().by_edge
    assert set(copies) == (
        {f"openvino -> {binding.kind} '{name}'"} if placement == "copied" else set()
    )


def test_the_plugin_would_copy_ordinary_memory(gpu: Any, staged: Staged) -> None:
    """The control: what is refused above is what the statistics show."""
    plain = compile_model(adding_one(), gpu).create_infer_request()
    held = openvino.Tensor(np.zeros((1, N), np.float32), shared_memory=True)
    plain.set_tensor("x", held)
    assert staged(plain) == 4 * N


def test_a_plugin_that_copies_outputs_is_counted_each_time(gpu: Any) -> None:
    request = InferRequest(compile_model(adding_one(), gpu))
    memory = unaligned()
    request.set_output_tensor(0, memory, copy=True)
    samebytes.reset_stats()
    for turn in range(3):
        with request.get_tensor("x").map("cpu", "w") as view:
            view.native[...] = turn
        request.infer()
        assert (memory == turn + 1).all()
    assert samebytes.stats().by_edge["openvino -> output 'y'"].copies == 3
    assert samebytes.stats().copied_bytes == 3 * 4 * N


def test_memory_of_the_requests_own(gpu: Any, staged: Staged) -> None:
    request = InferRequest(compile_model(adding_one(), gpu))
    with request.get_tensor("x").map("cpu", "w") as view:
        view.native[...] = 4
    assert [b.placement for b in request.bindings()] == ["in place"] * 2
    assert staged(request) == 0
    assert (np.asarray(request.get_tensor("y")) == 5).all()


LACKED = [("f64", True), ("u64", True), ("f16", False), ("i64", False), ("u16", False)]


def passing(type_: str) -> Any:
    """A model that gives what it takes, if that is not negative."""
    from openvino import opset13 as ops

    element = getattr(openvino.Type, type_)
    x = ops.parameter([1, N], element, name="x")
    y = ops.convert(ops.relu(ops.convert(x, "f32")), element)
    y.set_friendly_name("y")
    return named([x], [y])


@pytest.mark.parametrize(("type_", "converted"), LACKED)
def test_element_types_that_the_gpu_lacks(
    gpu: Any, staged: Staged, type_: str, converted: bool
) -> None:
    request = InferRequest(compile_model(passing(type_), gpu))
    tensor = native(gpu, type_=type_)
    if converted:
        with pytest.raises(CopyRequiredError, match="converts it at each inference"):
            request.set_tensor("x", tensor)
    samebytes.reset_stats()
    request.set_tensor("x", tensor, copy=True)
    assert request.bindings()[0].placement == ("copied" if converted else "in place")
    assert (staged(request) > 0) is converted
    assert samebytes.stats().copies == converted


@pytest.mark.parametrize(("type_", "converted"), LACKED)
def test_outputs_of_element_types_that_the_gpu_lacks(gpu: Any, type_: str, converted: bool) -> None:
    """The plugin leaves a remote tensor for them as it was."""
    compiled = compile_model(passing(type_), gpu)
    request = InferRequest(compiled)
    name = str(compiled.outputs[0].element_type.to_dtype())
    values = np.arange(N, dtype=name).reshape(1, N) % 7
    tensor = gpu.create_usm_host_tensor(name, (1, N))
    if converted:
        with pytest.raises(LayoutError, match=r"leaves remote tensors.*set memory of the CPU"):
            request.set_tensor("y", tensor, copy=True)
        tensor = samebytes.context("cpu").allocate((1, N), name)
    request.set_tensor("y", tensor, copy=converted)
    request.infer(values, copy=True)
    np.testing.assert_array_equal(np.asarray(tensor.map("cpu").native), values)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("type_", "converted"), LACKED)
def test_results_of_element_types_that_the_gpu_lacks(type_: str, converted: bool) -> None:
    """Results that outlive the inference are in memory that the plugin writes."""
    import samebytes.elements as el
    from samebytes_openvino import OpenVINOInfer

    frame = samebytes.frame(np.full((16, 16, 3), 5, np.uint8), format="BGR")
    image = openvino.opset13.parameter([1, 3, 16, 16], np.float32, name="image")
    mean = openvino.opset13.reduce_mean(image, np.array([2, 3]))
    y = openvino.opset13.convert(mean, getattr(openvino.Type, type_))
    y.set_friendly_name("y")
    model = named([image], [y])
    samebytes.reset_stats()
    with el.Pipeline([frame], OpenVINOInfer(model, "GPU", copy=True)).start(threads=0) as out:
        (frame,) = out
    assert np.asarray(frame.metadata["inference"]["y"].map("cpu").native).tolist() == [[5, 5, 5]]
    edges = samebytes.stats().by_edge
    assert ("openvino -> output 'y'" in edges) is converted


def test_remote_tensors_for_booleans(gpu: Any) -> None:
    from openvino import opset13 as ops

    x = ops.parameter([1, 8], openvino.Type.boolean, name="x")
    y = ops.logical_not(x)
    y.set_friendly_name("y")
    request = InferRequest(compile_model(named([x], [y]), gpu))
    with pytest.raises(LayoutError, match=r"input 'x' is bool.*no remote tensors"):
        request.set_tensor("x", native(gpu, (1, 8), "boolean"))
    # Whole pages, which the GPU would import as a remote tensor, and others.
    for memory in (samebytes.context("cpu").allocate((1, 8), "bool"), np.zeros((1, 8), bool)):
        np.asarray(memory)[...] = [True, False] * 4
        with pytest.raises(CopyRequiredError, match="copies ordinary memory"):
            request.set_tensor("x", memory)
        request.set_tensor("x", memory, copy=True)
        assert np.asarray(request.infer().planes[0]).tolist() == [[False, True] * 4]


def test_strided_memory_is_made_dense(gpu: Any) -> None:
    """The plugin would read it as dense, and give wrong numbers without a word."""
    x = numbers((1, 1024))[:, ::2]
    padded = numbers((4, 256 + 16))[:, :256]
    request = InferRequest(compile_model(adding_one((4, 256)), gpu))
    with pytest.raises(CopyRequiredError, match="strides"):
        request.set_tensor("x", padded)
    np.testing.assert_array_equal(request.infer(padded, copy=True).planes[0], padded + 1)
    assert request.bindings()[0].placement == "copied"
    with pytest.raises(LayoutError, match="dense memory only"):
        request.set_output_tensor(0, padded, copy=True)
    request = InferRequest(compile_model(adding_one((1, 512)), gpu))
    np.testing.assert_array_equal(request.infer(x, copy=True).planes[0], x + 1)


def test_regions_look_like_smaller_tensors(gpu: Any, staged: Staged) -> None:
    whole = native(gpu, (2, N))
    region = openvino.RemoteTensor(whole, openvino.Coordinate([1, 0]), openvino.Coordinate([2, N]))
    request = InferRequest(compile_model(adding_one(), gpu))
    request.set_tensor("x", region)
    assert request.bindings()[0].placement == "unknown"
    assert staged(request) == 4 * N, "the plugin no longer copies regions"


def test_whole_pages_of_the_cpu(gpu: Any, staged: Staged) -> None:
    """By CPU_VA: the array itself, whatever is written to it later."""
    x = samebytes.context("cpu").allocate((1, N), "float32")
    y = samebytes.context("cpu").allocate((1, N), "float32")
    request = InferRequest(compile_model(adding_one(), gpu))
    request.set_tensor("x", x)
    request.set_tensor("y", y)
    assert [b.placement for b in request.bindings()] == ["in place"] * 2
    assert staged(request) == 0
    for value in (3, 4):
        x.host_array()[...] = value
        (out,) = request.infer()
        assert (y.host_array() == value + 1).all()
    assert out.context is gpu
