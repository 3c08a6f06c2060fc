# SPDX-License-Identifier: Apache-2.0
"""Regions of remote tensors: right bytes, or refused by name, as OpenVINO hides their offset."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest

import samebytes
from samebytes.errors import (
    CopyRequiredError,
    LayoutError,
    NoRouteError,
    NotHostVisibleError,
    SamebytesError,
)
from samebytes_openvino import InferRequest, compile_model

from .models import adding_one

Array = np.ndarray[Any, Any]
Box = tuple[tuple[int, int], tuple[int, int]]

VALUES = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)
CONTIGUOUS: list[Box] = [((4, 0), (6, 8)), ((1, 0), (2, 8)), ((0, 0), (3, 8)), ((63, 0), (64, 8))]
WITH_GAPS: list[Box] = [((0, 2), (64, 6)), ((3, 1), (9, 5))]
BOXES = [*CONTIGUOUS, *WITH_GAPS]
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}

KINDS: dict[str, dict[str, str]] = {
    "buffer": {},
    "USM host": {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"},
    "USM device": {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"},
}


def part(box: Box) -> Array:
    (top, left), (bottom, right) = box
    return VALUES[top:bottom, left:right]


def native_of(context: Any, properties: dict[str, str] | None = None) -> Any:
    """A tensor of OpenVINO's own, with VALUES."""
    make = openvino.RemoteContext.create_tensor
    native = make(context.native, openvino.Type.f32, openvino.Shape(VALUES.shape), properties or {})
    native.copy_from(openvino.Tensor(VALUES))
    return native


def region_of(native: Any, box: Box) -> Any:
    return openvino.RemoteTensor(native, openvino.Coordinate(box[0]), openvino.Coordinate(box[1]))


def values_of(native: Any) -> Array:
    whole = openvino.Tensor(openvino.Type.f32, openvino.Shape(VALUES.shape))
    native.copy_to(whole)
    return np.array(whole.data)


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def whole(gpu: Any, request: pytest.FixtureRequest) -> Any:
    """Memory of the GPU plugin of every kind."""
    return native_of(gpu, request.param)


def uses(tensor: Any, opencl: Any) -> dict[str, Callable[[], Any]]:
    """Every way to the bytes of a GPU tensor, or to a number that stands for them."""
    from samebytes_openvino.intel_gpu import ClBufferTensor, USMTensor

    key = "cl_mem" if tensor.is_(ClBufferTensor) else "usm_ptr"
    kind = ClBufferTensor if tensor.is_(ClBufferTensor) else USMTensor
    return {
        "handle": lambda: tensor.handle(key),
        "get": lambda: tensor.as_().get(),
        "get of its class": lambda: tensor.as_(kind).get(),
        "host_array": tensor.host_array,
        "array": lambda: np.asarray(tensor),
        "cpu": lambda: tensor.map("cpu"),
        "cpu, writing": lambda: tensor.map("cpu", "w"),
        "openvino": lambda: tensor.map("openvino"),
        "opencl": lambda: tensor.map(opencl),
        "opencl, writing": lambda: tensor.map(opencl, "rw"),
    }


@pytest.mark.parametrize("box", BOXES)
def test_a_region_of_a_gpu_tensor_has_no_handle_and_no_array(
    gpu: Any, cl: Any, whole: Any, box: Box
) -> None:
    assert cl.VERSION
    opencl = gpu.derive("opencl")
    tensor: Any = samebytes.tensor(region_of(whole, box))
    assert tensor.shape == part(box).shape
    for name, use in uses(tensor, opencl).items():
        with pytest.raises(SamebytesError) as caught:
            use()
        if name in ("handle", "get", "get of its class"):
            assert isinstance(caught.value, LayoutError)
            assert isinstance(caught.value, NotHostVisibleError)
            assert "may be a region of another one" in str(caught.value)
    # The same of what maps to the same context, and of what a request gives back.
    same: Any = tensor.map(gpu, "rw")
    with pytest.raises(SamebytesError):
        same.handle()
    assert (values_of(whole) == VALUES).all()


@pytest.mark.parametrize("box", BOXES)
def test_a_region_of_a_gpu_tensor_is_copied_as_it_is(whole: Any, box: Box) -> None:
    tensor = samebytes.tensor(region_of(whole, box))
    with pytest.raises(CopyRequiredError):
        tensor.map("cpu")
    samebytes.reset_stats()
    np.testing.assert_array_equal(tensor.map("cpu", copy=True).native, part(box))
    assert samebytes.stats().copied_bytes == part(box).nbytes


@pytest.mark.parametrize("box", BOXES)
def test_regions_in_inferences_on_the_gpu(gpu: Any, whole: Any, box: Box) -> None:
    request = InferRequest(compile_model(adding_one(part(box).shape), gpu, EXACT))
    (y,) = request.infer(region_of(whole, box))
    np.testing.assert_allclose(y.host_array(), part(box) + 1)
    assert request.bindings()[0].placement == "unknown"
    with pytest.raises(SamebytesError, match="region"):
        request.get_input_tensor().as_().get()  # type: ignore[attr-defined]
    request.set_output_tensor(0, region_of(whole, box))
    request.infer(np.full(part(box).shape, 1000, np.float32), copy=True)
    expected = VALUES.copy()
    expected[box[0][0] : box[1][0], box[0][1] : box[1][1]] = 1001
    np.testing.assert_array_equal(values_of(whole), expected)


def test_a_region_of_the_gpu_in_a_model_of_the_cpu(whole: Any) -> None:
    """It read the beginning of the whole tensor."""
    region = region_of(whole, CONTIGUOUS[0])
    request = InferRequest(compile_model(adding_one((2, 8)), "CPU", EXACT))
    with pytest.raises(CopyRequiredError):
        request.infer(region)
    (y,) = request.infer(region, copy=True)
    np.testing.assert_array_equal(y.host_array(), part(CONTIGUOUS[0]) + 1)


def test_no_batch_of_regions(gpu: Any, whole: Any) -> None:
    model = adding_one((2, 8))
    model.inputs[0].node.set_layout(openvino.Layout("NC"))
    request = InferRequest(compile_model(model, gpu, EXACT))
    rows = [region_of(whole, ((row, 0), (row + 1, 8))) for row in (3, 9)]
    with pytest.raises(LayoutError, match="a batch takes whole tensors"):
        request.set_input_tensors(0, rows, copy=True)


def test_a_region_of_what_samebytes_made(gpu: Any) -> None:
    whole = gpu.create_usm_host_tensor("float32", VALUES.shape)
    whole.host_array()[...] = VALUES
    region: Any = samebytes.tensor(region_of(whole.native, CONTIGUOUS[0]))
    with pytest.raises(LayoutError, match="may be a region"):
        region.host_array()
    np.testing.assert_array_equal(region.map("cpu", copy=True).native, part(CONTIGUOUS[0]))
    assert whole.get() == whole.handle("usm_ptr")


def test_the_whole_of_a_users_tensor_is_as_before(whole: Any) -> None:
    tensor: Any = samebytes.tensor(whole)
    handle = tensor.as_().get()
    assert handle == tensor.params["MEM_HANDLE"]
    everything = region_of(whole, ((0, 0), (64, 8)))
    assert samebytes.tensor(everything).as_().get() == handle  # type: ignore[attr-defined]


def test_the_callers_word_that_it_is_not_a_region(gpu: Any, cl: Any) -> None:
    """A tensor of the user's over the beginning of a larger buffer."""
    context = cl.Context.from_int_ptr(gpu.handle("cl_context"))
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    properties = {"SHARED_MEM_TYPE": "OCL_BUFFER", "MEM_HANDLE": hex(buffer.int_ptr)}
    native = native_of(gpu, properties)
    with pytest.raises(LayoutError, match="whole=True"):
        gpu.wrap_tensor(native).get()
    tensor = gpu.wrap_tensor(native, whole=True)
    assert tensor.get() == tensor.handle("cl_mem") == buffer.int_ptr
    assert samebytes.tensor(native).handle("cl_mem") == buffer.int_ptr
    np.testing.assert_array_equal(tensor.map(gpu.derive("opencl")).map("cpu").native, VALUES)


@pytest.mark.parametrize("box", BOXES)
def test_regions_in_inferences_on_the_npu(npu: Any, box: Box) -> None:
    whole = native_of(npu)
    request = InferRequest(compile_model(adding_one(part(box).shape), npu))
    if box in WITH_GAPS:
        for bind in (request.set_input_tensor, request.set_output_tensor):
            with pytest.raises(LayoutError, match="region that leaves gaps"):
                bind(0, region_of(whole, box))
        return
    (y,) = request.infer(region_of(whole, box))
    np.testing.assert_allclose(y.host_array(), part(box) + 1, rtol=0.01)
    with pytest.raises(LayoutError, match="region of a remote tensor"):
        request.get_input_tensor().handle("usm_ptr")


_COPY = """
import numpy as np, openvino, samebytes
from remote.test_regions import VALUES, native_of, part, region_of
npu = samebytes.context("openvino:NPU")
box = {box}
tensor = samebytes.tensor(region_of(native_of(npu), box))
for target in ("cpu", "level_zero", "openvino"):
    try:
        copied = tensor.map(target, copy=True)
        assert (np.asarray(copied.map("cpu").native) == part(box)).all()
        print("right")
    except samebytes.errors.NoRouteError as error:
        assert "address of the whole" in str(error) and "copy=True" not in str(error)
        print("refused")
"""


@pytest.mark.usefixtures("level_zero_plugin")
@pytest.mark.parametrize("box", BOXES)
def test_copies_of_regions_of_the_npu(npu: Any, box: Box, request: pytest.FixtureRequest) -> None:
    """In a child, since the plugin's own copy of a region without gaps ends the process."""
    assert npu.native
    done = subprocess.run(
        [sys.executable, "-c", _COPY.format(box=box)],
        cwd=request.path.parent.parent, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == ("right" if box in WITH_GAPS else "refused")


_STRIDES = """
import numpy as np, openvino, samebytes
from samebytes_openvino import InferRequest, compile_model
from remote.models import adding_one
from remote.test_regions import VALUES, native_of, region_of, values_of
npu = samebytes.context("openvino:NPU")
read, written = native_of(npu), native_of(npu)
request = InferRequest(compile_model(adding_one((4, 4)), npu))
expected = VALUES.copy()
for top, left in ((3, 1), (20, 3)):  # the second time in a command list that is there
    box = slice(top, top + 4), slice(left, left + 4)
    region = region_of(read, ((top, left), (top + 4, left + 4)))
    (y,) = request.infer(region)
    (copied,) = request.infer(VALUES[box].copy())
    np.testing.assert_array_equal(y.host_array(), copied.host_array())
    np.testing.assert_array_equal(y.host_array(), VALUES[box] + 1)
request = InferRequest(compile_model(adding_one((4, 4)), npu))
for top, left in ((3, 1), (20, 3)):
    request.set_output_tensor(0, region_of(written, ((top, left), (top + 4, left + 4))))
    request.infer(region_of(read, ((30, 2), (34, 6))))
    expected[top:top + 4, left:left + 4] = VALUES[30:34, 2:6] + 1
np.testing.assert_array_equal(values_of(written), expected)
print("right")
"""


@pytest.mark.usefixtures("level_zero_plugin")
def test_strides_where_the_driver_takes_them(npu: Any, request: pytest.FixtureRequest) -> None:
    """In a child, as the software NPU reads its environment once; without it they are refused."""
    assert npu.native
    done = subprocess.run(
        [sys.executable, "-c", _STRIDES], env={**os.environ, "SOFTNPU_STRIDES": "1"},
        cwd=request.path.parent.parent, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_no_error_advises_a_copy_that_is_refused(npu: Any) -> None:
    tensor = samebytes.tensor(region_of(native_of(npu), CONTIGUOUS[0]))
    for target in ("cpu", "openvino"):
        for copy in (False, True):
            with pytest.raises(NoRouteError, match=r"host_array\(\)") as caught:
                tensor.map(target, copy=copy)
            assert "copy=True" not in str(caught.value)
