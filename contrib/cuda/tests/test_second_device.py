# SPDX-License-Identifier: Apache-2.0
"""The second device: everything lies and happens there, whichever context is current."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes_cuda
from samebytes.errors import NoRouteError
from samebytes_cuda import CudaContext

from .conftest import ByDLPack, ByInterface, Gpu

BYTES = 1 << 16
KINDS: tuple[samebytes_cuda.Kind, ...] = ("device", "pinned", "managed", "exportable")


@pytest.fixture
def second(request: pytest.FixtureRequest) -> CudaContext:
    """The context of the second device."""
    request.getfixturevalue("second_gpu")
    found = samebytes.context("cuda:1")
    assert isinstance(found, CudaContext)
    return found


def test_the_context(second_gpu: Gpu, second: CudaContext, context: CudaContext) -> None:
    assert second is not context
    assert (second.ordinal, second.handle("cuda_device")) == (1, 1)
    assert second.handle("cuda_context") == int(second_gpu.context)
    assert samebytes_cuda.context(second_gpu.context) is second
    assert second.device.uuid != context.device.uuid


@pytest.mark.parametrize("kind", KINDS)
def test_allocations(second_gpu: Gpu, second: CudaContext, kind: Any) -> None:
    tensor = second.allocate((BYTES,), "uint8", kind)
    assert tensor.context is second
    second_gpu.write(tensor.handle(), np.full(BYTES, 7, np.uint8))
    assert (tensor.map("cpu", copy=True).native == 7).all()
    wanted = (1, 0) if kind == "pinned" else (2, 1)
    assert tensor.__dlpack_device__() == wanted
    assert samebytes_cuda.tensor(tensor.native).context is second


@pytest.mark.parametrize("by", [ByDLPack, ByInterface])
def test_what_lies_there(second_gpu: Gpu, second: CudaContext, by: Any) -> None:
    """Also while the first device's context is current, as an application's is."""
    stream = second_gpu.stream()
    array = by(second_gpu, BYTES, stream)
    second_gpu.set_later(array.address, 7, BYTES, stream)
    tensor = samebytes.tensor(array)
    assert tensor.context is second
    assert tensor.handle() == array.address
    assert (np.asarray(tensor.map("cpu", copy=True)) == 7).all()


def test_streams_there(second_gpu: Gpu) -> None:
    lender, queue = second_gpu.stream(), second_gpu.stream()
    target = second_gpu.allocate(BYTES)
    array = ByDLPack(second_gpu, BYTES, lender)
    samebytes.tensor(array).map("cuda:1", queue=queue)
    with second_gpu.stays_busy(lender):
        second_gpu.set_later(array.address, 7, BYTES, lender)
        mapped = samebytes.tensor(array).map("cuda:1", queue=queue)
    second_gpu.do("cuMemcpyDtoDAsync", target, mapped.handle("cuda_ptr"), BYTES, queue)
    second_gpu.do("cuStreamSynchronize", queue)
    assert (second_gpu.peek(target, BYTES) == 7).all()
    second_gpu.free(target)


def test_from_the_cpu(second_gpu: Gpu, second: CudaContext) -> None:
    pages = samebytes.context("cpu").allocate((BYTES,))
    pages.native[...] = 7
    with pages.map("cuda:1") as registered:
        assert registered.context is second
        assert (second_gpu.read(registered.handle(), BYTES) == 7).all()
        # What is registered is every device's.
        with pages.map("cuda:0") as first:
            assert first.handle() == registered.handle()
    uploaded = samebytes.tensor(np.full(BYTES, 8, np.uint8)).map("cuda:1", copy=True)
    assert uploaded.context is second
    assert (second_gpu.read(uploaded.handle(), BYTES) == 8).all()


def test_from_one_device_to_the_other(second: CudaContext, context: CudaContext) -> None:
    """Device memory stays where it is; what the host sees is used by both."""
    for tensor, other in ((second.allocate((16,)), "cuda:0"), (context.allocate((16,)), "cuda:1")):
        with pytest.raises(NoRouteError):
            tensor.map(other)
    pinned = context.allocate((BYTES,), "uint8", "pinned")
    pinned.map("cpu", "rw").native[...] = 9
    there = pinned.map("cpu").map("cuda:1")
    assert there.context is second
    assert there.handle() == pinned.handle()
