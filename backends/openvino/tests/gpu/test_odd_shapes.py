# SPDX-License-Identifier: Apache-2.0
"""Tensors without axes are copied like others; tensors without elements are refused by name."""

from __future__ import annotations

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import samebytes
from samebytes.errors import CopyRequiredError, LayoutError, NoRouteError
from samebytes_openvino import InferRequest, compile_model
from samebytes_openvino.intel_gpu import ClContext

EMPTY = (2, 0, 3)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        ("create_tensor", "cl_mem"),
        ("create_usm_host_tensor", "usm_ptr"),
        ("create_usm_device_tensor", "usm_ptr"),
    ],
)
def test_memory_of_every_kind_without_axes(context: ClContext, make: str, key: str) -> None:
    remote = getattr(context, make)("float32", ())
    one = context.create_tensor("float32", (1,), remote.handle(key))
    one.native.copy_from(openvino.Tensor(np.array([7], np.float32)))
    back = remote.map("cpu", copy=True)
    assert back.shape == ()
    assert back.native == 7
    region = openvino.RemoteTensor(remote.native, openvino.Coordinate([]), openvino.Coordinate([]))
    assert context.wrap_tensor(region).map("cpu", copy=True).native == 7
    x = ops.parameter([], np.float32)
    model = openvino.Model([ops.result(ops.add(x, ops.constant(np.float32(1))))], [x])
    request = InferRequest(compile_model(model, "CPU"))
    request.set_input_tensor(0, remote, copy=True)
    assert np.asarray(request.infer().planes[0]) == 8


@pytest.mark.parametrize(
    "make", ["create_tensor", "create_usm_host_tensor", "create_usm_device_tensor"]
)
def test_more_axes_than_the_plugin_knows(context: ClContext, make: str) -> None:
    """It allocates too little memory for them, which nothing notices."""
    most, more = (2,) * 8, (2,) * 9
    tensor = getattr(context, make)("uint8", most)
    assert tensor.native.get_byte_size() == tensor.info.nbytes
    assert tensor.map("cpu", copy=True).shape == most
    with pytest.raises(LayoutError, match="a tensor of 9 axes"):
        getattr(context, make)("uint8", more)
    host = samebytes.context("cpu").allocate(more)
    for copy in (False, True):
        with pytest.raises(NoRouteError, match="8 axes at most, not 9"):
            host.map(context, copy=copy)


@pytest.mark.parametrize("memory_type", ["cpu", "opencl"])
def test_what_is_empty_is_refused_by_name(context: ClContext, memory_type: str) -> None:
    source = samebytes.context("cpu")
    if memory_type == "opencl":
        package = pytest.importorskip(
            "samebytes_gpu_opencl", reason="missing package samebytes-gpu-opencl: pip install it"
        )
        source = package.context(context.handle("cl_context"))
    empty = source.allocate(EMPTY, "float32")
    refused = f"{memory_type} -> openvino:GPU: the tensor is empty"
    for use in (empty.map, lambda to: samebytes.route(empty, to)):
        with pytest.raises((CopyRequiredError, NoRouteError), match=refused):
            use(context)
