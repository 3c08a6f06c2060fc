# SPDX-License-Identifier: Apache-2.0
"""pyopencl.array.Array in every memory that pyopencl allocates, whole and in parts."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl as sbo
from samebytes.errors import LayoutError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyopencl.array as cla
    from pyopencl import tools

COUNT = 4096


@pytest.fixture(params=["buffer", "pool", "svm", "svm pool"])
def numbers(request: pytest.FixtureRequest, opencl: Any) -> Any:
    """Makes arrays of 0, 1, 2 ... of a dtype, in memory of each kind."""
    queue = opencl.queue
    if request.param.startswith("svm") and not opencl.native_device.svm_capabilities:
        pytest.skip("device has no SVM")
    if request.param == "buffer":
        allocator: Any = None
    elif request.param == "pool":
        allocator = tools.MemoryPool(tools.ImmediateAllocator(queue))
    else:
        allocator = tools.SVMAllocator(opencl.native, queue=queue)
        if request.param == "svm pool":
            allocator = tools.SVMPool(allocator)

    def make(dtype: str = "float32") -> Any:
        return cla.to_device(queue, np.arange(COUNT).astype(dtype), allocator=allocator)

    return make


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64"])
def test_an_array_is_taken_as_what_it_is(opencl: Any, numbers: Any, dtype: str) -> None:
    copied = samebytes.stats().copied_bytes
    array = numbers(dtype).reshape(64, 64)
    tensor = samebytes.tensor(array)
    assert (tensor.shape, str(tensor.dtype), tensor.strides) == ((64, 64), dtype, array.strides)
    assert tensor.context is opencl
    with tensor.map("cpu", "rw") as view:
        assert (view.native == np.arange(COUNT).astype(dtype).reshape(64, 64)).all()
        view.native[3] = 5
    assert (array.get()[3] == 5).all()
    assert samebytes.stats().copied_bytes == copied


def test_it_keeps_the_memory_also_of_a_pool(opencl: Any, numbers: Any) -> None:
    tensor = samebytes.tensor(numbers())
    gc.collect()
    others = [numbers("int32") for _ in range(4)]
    opencl.queue.finish()
    assert tensor.map("cpu").native.tolist() == list(range(COUNT))
    del others


def test_parts_are_taken_where_sub_buffers_may_begin(opencl: Any, alignment: int) -> None:
    array: Any = cla.to_device(opencl.queue, np.arange(COUNT, dtype=np.float32))
    step = alignment // 4
    part = samebytes.tensor(array[step : 3 * step])
    assert part.map("cpu").native.tolist() == list(range(step, 3 * step))
    columns = samebytes.tensor(array.reshape(64, 64)[:, :8])
    assert (columns.shape, columns.strides) == ((64, 8), (256, 4))
    assert columns.map("cpu").native[2].tolist() == list(range(128, 136))


def test_what_no_tensor_can_be_is_refused_with_a_remedy_that_works(opencl: Any) -> None:
    array: Any = cla.to_device(opencl.queue, np.arange(COUNT, dtype=np.float32))
    with pytest.raises(LayoutError, match=r"sub-buffers of .* or copy it, array.copy\(\)"):
        samebytes.tensor(array[1:])
    assert samebytes.tensor(array[1:].copy()).map("cpu").native[0] == 1
    for refused in (array[::-1], array[1::2]):
        with pytest.raises(LayoutError, match=r"or wrap all bytes, array\.base_data"):
            samebytes.tensor(refused)
        assert samebytes.tensor(refused.base_data).info.nbytes == 4 * COUNT
    vectors = cla.zeros(opencl.queue, 8, cl.cltypes.float4)
    with pytest.raises(LayoutError, match=r"structures.*wrap its bytes, array.base_data"):
        samebytes.tensor(vectors)
    with pytest.raises(LayoutError, match="has no memory"):
        samebytes.tensor(cla.zeros(opencl.queue, (0, 3), np.float32))
    with pytest.raises(LayoutError, match="leave shape, strides and offset out"):
        sbo.tensor(array, (4, 4))


def test_planes_of_frames(opencl: Any) -> None:
    shapes = (48, 64), (24, 32, 2)
    planes = [cla.zeros(opencl.queue, shape, np.uint8) for shape in shapes]
    frame = sbo.frame(planes, "NV12", 64, 48)
    assert [plane.shape for plane in frame] == [*shapes]
    with pytest.raises(LayoutError, match="the Array is uint8"):
        sbo.frame(planes, "NV12", 64, 46)
