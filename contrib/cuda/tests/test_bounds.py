# SPDX-License-Identifier: Apache-2.0
"""Memory that reaches out of its allocation, also where another one begins there."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import samebytes
from samebytes.errors import LayoutError, NoRouteError
from samebytes_cuda import CudaContext, CudaTensor, _pointers

from .conftest import Gpu

BLOCK = 1 << 16
STEP = 2 << 20  # the granularity of cuMemCreate


@pytest.fixture
def neighbours(gpu: Gpu) -> Iterator[tuple[int, int]]:
    """Two allocations of BLOCK bytes, as near to each other as the driver puts them."""
    blocks = sorted(gpu.allocate(BLOCK) for _ in range(8))
    yield min(pairwise(blocks), key=lambda pair: pair[1] - pair[0])
    for block in blocks:
        gpu.free(block)


class Segment:
    """Addresses that were reserved, of which some have memory: torch's expandable segments."""

    def __init__(self, gpu: Gpu, steps: int) -> None:
        self.gpu, self.size = gpu, steps * STEP
        self.address = int(gpu.do("cuMemAddressReserve", self.size, STEP, 0, 0))
        self.mapped: dict[int, Any] = {}
        self.properties = gpu.driver.CUmemAllocationProp()
        self.properties.type = gpu.driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        self.properties.location.type = gpu.driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        self.properties.location.id = gpu.ordinal

    def map(self, step: int) -> None:
        """Put memory at a step, of an allocation of its own."""
        where = self.address + step * STEP
        handle = self.gpu.do("cuMemCreate", STEP, self.properties, 0)
        self.gpu.do("cuMemMap", where, STEP, 0, handle, 0)
        access = self.gpu.driver.CUmemAccessDesc()
        access.location = self.properties.location
        access.flags = self.gpu.driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        self.gpu.do("cuMemSetAccess", where, STEP, [access], 1)
        self.mapped[where] = handle

    def unmap(self, where: int) -> None:
        """Take the memory away from an address."""
        self.gpu.do("cuMemUnmap", where, STEP)
        self.gpu.do("cuMemRelease", self.mapped.pop(where))

    def free(self) -> None:
        """Give all of it back."""
        self.gpu.synchronize()
        for where in list(self.mapped):
            self.unmap(where)
        self.gpu.do("cuMemAddressFree", self.address, self.size)


@pytest.fixture
def segment(gpu: Gpu) -> Iterator[Segment]:
    """Four steps of addresses, of which the first two have memory."""
    made = Segment(gpu, 4)
    made.map(0)
    made.map(1)
    yield made
    made.free()


def _array(lend: Any, by: str, address: int, nbytes: int) -> CudaTensor:
    array = lend(16, None, by)
    own = array.address, array.nbytes
    array.address, array.nbytes = address, nbytes
    try:
        found = samebytes.tensor(array)
    finally:
        array.address, array.nbytes = own
    assert isinstance(found, CudaTensor)
    return found


@pytest.mark.parametrize("by", ["dlpack", "interface"])
def test_what_reaches_into_the_next_allocation(
    lend: Any, neighbours: tuple[int, int], by: str
) -> None:
    first, second = neighbours
    reaches = second - first + 16
    assert _array(lend, by, first, BLOCK).shape == (BLOCK,)
    assert _array(lend, by, second + BLOCK - 16, 16).shape == (16,)
    for address, nbytes in ((first, reaches), (first, BLOCK + 1), (first + BLOCK - 8, 16)):
        with pytest.raises(LayoutError, match="extends beyond the end of the CUDA allocation"):
            _array(lend, by, address, nbytes)


def test_what_begins_before_its_allocation(lend: Any) -> None:
    """By negative strides: its first element lies within, and its last does not."""
    array = lend(BLOCK, None, "interface")

    described = {**array.interface(), "shape": (1 << 20,), "strides": (-64,)}
    backwards = type("Backwards", (), {"__cuda_array_interface__": described})()
    with pytest.raises(LayoutError, match=r"CUDA does not know|extends beyond"):
        samebytes.tensor(backwards)


@pytest.mark.parametrize("by", ["dlpack", "interface"])
@pytest.mark.parametrize("answer", ["as the driver says", "of each mapping", "unknown"])
def test_a_segment_of_several_mappings(
    lend: Any, segment: Segment, by: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA documents that the range is that of the reserved addresses. No driver has to be
    believed: one may answer with the mapping, or not at all."""
    real = _pointers._function()

    def function(count: int, questions: int, places: int, address: int) -> int:
        code = int(real(count, questions, places, address))
        start, size = (
            ctypes.c_uint64.from_address(place)
            for place in (ctypes.c_uint64 * count).from_address(places)[-2:]
        )
        if size.value:
            start.value = address // STEP * STEP if answer == "of each mapping" else 0
            size.value = STEP if answer == "of each mapping" else 0
        return code

    if answer != "as the driver says":
        monkeypatch.setattr(_pointers, "_function", lambda: function)
    whole = _array(lend, by, segment.address, 2 * STEP)
    assert whole.handle("cuda_ptr") == segment.address
    assert _array(lend, by, segment.address + STEP - 8, 16).shape == (16,)
    for nbytes in (2 * STEP + 1, 4 * STEP, 4 * STEP + 1):
        with pytest.raises(LayoutError, match="extends beyond the end of the CUDA allocation"):
            _array(lend, by, segment.address, nbytes)


def test_asking_for_a_segment_leaves_nothing(gpu: Gpu, segment: Segment) -> None:
    """cuMemRetainAllocationHandle, by which mapped memory is known, holds what it answers."""
    assert _pointers._is_mapped(segment.address)
    block = gpu.allocate(BLOCK)
    assert not _pointers._is_mapped(block)
    gpu.free(block)
    for _ in range(20):
        _pointers._is_mapped(segment.address)
    free = gpu.do("cuMemGetInfo")[0]
    segment.unmap(segment.address)
    assert _pointers.look_up(segment.address) is None
    if not gpu.is_software:  # which does not count the memory of mappings
        assert gpu.do("cuMemGetInfo")[0] >= free + STEP


def test_two_registrations_side_by_side(context: CudaContext) -> None:
    """An array over both would outlive the second, which nothing would hold."""
    pages = samebytes.context("cpu").allocate((2 * BLOCK,))
    halves = [samebytes.tensor(pages.native[at : at + BLOCK]) for at in (0, BLOCK)]
    mapped = [half.map(context, "rw") for half in halves]
    assert [part.handle() - pages.handle("data") for part in mapped] == [0, BLOCK]
    if context.supports("PAGEABLE_MEMORY_ACCESS"):
        pytest.skip("the device uses all memory of the host, registered or not")
    with pytest.raises(NoRouteError, match="extends beyond the CUDA allocation that it begins in"):
        pages.map(context, "rw")
    assert samebytes.tensor(pages.native[16:64]).map(context).handle() == mapped[0].handle() + 16
