# SPDX-License-Identifier: Apache-2.0
"""Memory of other backends, set as it is: the request maps it to the model's context."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import CopyRequiredError
from samebytes_openvino import InferRequest, compile_model

from .models import N, adding_one


def backend(name: str) -> None:
    module = f"samebytes_{name}"
    package = module.replace("_", "-")
    pytest.importorskip(module, reason=f"missing package {package}: pip install {package}")


def check(request: InferRequest, x: Any, y: Any) -> None:
    samebytes.reset_stats()
    request.set_tensor("x", x)
    request.set_tensor("y", y)
    assert [b.placement for b in request.bindings()] == ["in place"] * 2
    for value in (3, 5):
        with x.map("cpu", "w") as view:
            view.native[...] = value
        request.infer()
        with y.map("cpu") as view:
            assert (np.asarray(view) == value + 1).all()
    assert samebytes.stats().copies == 0


def test_opencl_to_the_gpu(gpu: Any) -> None:
    """Of the cl_context that the model was compiled on."""
    backend("gpu_opencl")
    context = gpu.derive("opencl")
    x, y = (context.allocate((1, N), "float32") for _ in range(2))
    check(InferRequest(compile_model(adding_one(), gpu)), x, y)


def test_level_zero_to_the_npu(npu: Any) -> None:
    backend("npu_level_zero")
    context = npu.derive("level_zero")
    x, y = (context.allocate((1, N), "float32", exportable=True) for _ in range(2))
    check(InferRequest(compile_model(adding_one(), npu)), x, y)


def test_level_zero_memory_that_cannot_be_exported(npu: Any) -> None:
    """The plugin would copy it, though it lies in the plugin's own context."""
    backend("npu_level_zero")
    x = npu.derive("level_zero").allocate((1, N), "float32")
    request = InferRequest(compile_model(adding_one(), npu))
    with pytest.raises(CopyRequiredError, match="exportable=True"):
        request.set_tensor("x", x)
    with x.map("cpu", "w") as view:
        view.native[...] = 2
    assert (np.asarray(request.infer(x, copy=True).planes[0]) == 3).all()
    assert request.bindings()[0].placement == "copied"


def test_dma_bufs_to_the_npu(npu: Any) -> None:
    backend("dma")
    context = samebytes.context("dma")
    x, y = (context.allocate((1, N), "float32") for _ in range(2))
    check(InferRequest(compile_model(adding_one(), npu)), x, y)
