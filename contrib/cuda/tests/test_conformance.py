# SPDX-License-Identifier: Apache-2.0
"""The CUDA backend in the suites that every backend inherits."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver

import samebytes
import samebytes_cuda
from samebytes import Fd, Frame, ImageInfo, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    DeviceMemory,
    FrameSuite,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
    array_at,
    array_in,
)

Array = np.ndarray[Any, Any]


def ok(answer: tuple[Any, ...]) -> Any:
    """Check the result code of a call of the driver, and return what comes with it."""
    assert int(answer[0]) == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]


@cache
def primary() -> Any:
    """The primary context of the first device, retained to the end."""
    ok(driver.cuInit(0))
    return ok(driver.cuDevicePrimaryCtxRetain(0))


def do(function: str, *arguments: Any) -> Any:
    """Call the driver in that context."""
    ok(driver.cuCtxPushCurrent(primary()))
    try:
        return ok(getattr(driver, function)(*arguments))
    finally:
        driver.cuCtxPopCurrent()


class UsersMemory:
    """Memory that the application allocates, and frees when it is gone."""

    def __init__(self, nbytes: int, kind: str) -> None:
        nbytes = max(nbytes, 1)
        if kind == "device":
            self.address = int(do("cuMemAlloc", nbytes))
            self.free = "cuMemFree"
        elif kind == "managed":
            self.address = int(do("cuMemAllocManaged", nbytes, 1))
            self.free = "cuMemFree"
        else:
            self.address = int(do("cuMemHostAlloc", nbytes, 1))
            self.free = "cuMemFreeHost"

    def __del__(self) -> None:
        if not sys.is_finalizing():  # what is left then ends with the process
            do(self.free, self.address)


class ExportableMemory:
    """Device memory that the application makes for others to import."""

    step = 2 << 20  # in what the driver makes it

    def __init__(self, nbytes: int) -> None:
        location = driver.CUmemLocation()
        location.type, location.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, 0
        how = driver.CUmemAllocationProp()
        how.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        how.requestedHandleTypes = (
            driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        )
        how.location = location
        how.allocFlags.gpuDirectRDMACapable = 1
        access = driver.CUmemAccessDesc()
        access.location = location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        self.size = -(-max(nbytes, 1) // self.step) * self.step
        self.handle = do("cuMemCreate", self.size, how, 0)
        self.address = int(do("cuMemAddressReserve", self.size, self.step, 0, 0))
        do("cuMemMap", self.address, self.size, 0, self.handle, 0)
        do("cuMemSetAccess", self.address, self.size, [access], 1)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            do("cuMemUnmap", self.address, self.size)
            do("cuMemAddressFree", self.address, self.size)
            do("cuMemRelease", self.handle)


class UsersArray:
    """An array of the application, as CuPy's and Numba's are."""

    def __init__(
        self, memory: UsersMemory | ExportableMemory, info: TensorInfo, offset: int = 0
    ) -> None:
        self.memory = memory
        self.__cuda_array_interface__ = {
            "data": (memory.address + offset if info.size else 0, False),
            "shape": info.shape,
            "strides": info.strides,
            "typestr": info.dtype.carrier.str,
            "version": 3,
            "stream": None,
        }


def described(native: Any) -> tuple[int, TensorInfo, bool]:
    """Address and layout, as the array interface has them."""
    found = native.__cuda_array_interface__
    pointer, readonly = found["data"]
    return (
        pointer,
        TensorInfo(np.dtype(found["typestr"]), found["shape"], found["strides"]),
        readonly,
    )


class PinnedMemory(Memory):
    """Pinned memory that the application allocates."""

    memory_type = "cuda"
    readonly_enforced = False  # CUDA has no read-only memory
    fork_safe = False  # CUDA does not work in a forked child
    kind = "pinned"

    def make(self, info: TensorInfo) -> UsersArray:
        return UsersArray(UsersMemory(info.extent[1], self.kind), info)

    def view(self, native: Any) -> Array:
        pointer, info, readonly = described(native)
        do("cuCtxSynchronize")
        return array_at(pointer, info, native, readonly=readonly)

    def tensor(self, native: Any) -> samebytes.Tensor:
        return samebytes_cuda.tensor(native)

    def make_frame(self, image: ImageInfo) -> tuple[UsersArray, ...]:
        layouts = image.packed_layouts()
        memory = UsersMemory(max(p.offset + p.span for p in layouts), self.kind)
        return tuple(
            UsersArray(memory, TensorInfo(p.dtype, p.shape, p.strides), p.offset) for p in layouts
        )

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        return samebytes_cuda.frame(native, image.format, image.width, image.height)

    def queue(self) -> Any:
        return _stream()


@cache
def _stream() -> Any:
    return do("cuStreamCreate", 1)


class ManagedMemory(PinnedMemory):
    """Managed memory of the application."""

    dlpack_device = 2  # kDLCUDA, which array libraries know; numpy asks for the CPU
    kind = "managed"


class GpuMemory(DeviceMemory):
    """Device memory, read and written by copies that samebytes does not know."""

    memory_type = "cuda"
    dlpack_device = 2  # kDLCUDA
    allocates = True
    allocates_frames = True
    fork_safe = False

    make = PinnedMemory.make
    tensor = PinnedMemory.tensor
    make_frame = PinnedMemory.make_frame
    frame = PinnedMemory.frame
    queue = PinnedMemory.queue
    kind = "device"

    def layout(self, native: Any) -> TensorInfo:
        return described(native)[1]

    def bytes_of(self, native: Any) -> Array:
        pointer, info, _ = described(native)
        data = np.empty(info.extent[1], np.uint8)
        do("cuCtxSynchronize")
        if data.size:
            do("cuMemcpyDtoH", data.ctypes.data, pointer, data.nbytes)
        return data

    def elements(self, native: Any, data: Array) -> Array:
        info = self.layout(native)
        return np.ndarray(info.shape, info.dtype.carrier, data, 0, info.strides)

    def read(self, native: Any) -> Array:
        return self.elements(native, self.bytes_of(native)).copy()

    def write(self, native: Any, values: Array) -> None:
        data = self.bytes_of(native)
        self.elements(native, data)[...] = values
        if data.size:
            do("cuMemcpyHtoD", described(native)[0], data.ctypes.data, data.nbytes)
            do("cuCtxSynchronize")

    def handle_of(self, native: Any) -> int:
        return described(native)[0]


class ExportableGpuMemory(GpuMemory):
    """Device memory that has a descriptor."""

    memory_type = "cuda"
    allocates = False  # not without being asked to
    allocates_frames = False

    def make(self, info: TensorInfo) -> UsersArray:
        return UsersArray(ExportableMemory(info.extent[1]), info)


class BufferMemory(Memory):
    """Planes of memfds, which stand for DMA-BUFs, as the CPU sees them by Python's mmap."""

    memory_type = "dma"
    host_visible = False
    readonly_enforced = False  # descriptors have one access mode for all who hold them
    fork_safe = False  # what it is mapped from, or to, is CUDA's

    def make(self, info: TensorInfo) -> Any:
        import samebytes_dma

        fd = Fd(os.memfd_create("test"))
        os.ftruncate(fd.fileno(), max(info.extent[1], 1))
        return samebytes_dma.DMABuffer(fd).plane(info)

    def view(self, native: Any) -> Array:
        do("cuCtxSynchronize")
        buffer = native.buffer
        return array_in(buffer.fileno(), buffer.size, native.info, native.offset, native)


class WholePages(ArrayMemory):
    """numpy arrays on whole pages, which can be registered."""

    allocates = False
    allocates_frames = False

    def make(self, info: TensorInfo) -> Array:
        whole = samebytes.context("cpu").allocate((max(info.extent[1], 1),)).native
        return np.ndarray(info.shape, info.dtype.carrier, whole, 0, info.strides)

    over = Memory.over

    def tensor(self, native: Any) -> samebytes.Tensor:
        # Of the core's own memory, whose owner has the rest of its pages.
        base = native
        while isinstance(base.base, np.ndarray):
            base = base.base
        return super().tensor(native)


class ArraysInPinnedMemory(WholePages):
    """numpy arrays that lie in pinned memory of the application."""

    def make(self, info: TensorInfo) -> Array:
        memory = UsersMemory(info.extent[1], "pinned")
        return array_at(memory.address, info, memory)


PINNED, MANAGED, DEVICE, CPU = PinnedMemory(), ManagedMemory(), GpuMemory(), ArrayMemory()
DENSE = (TensorInfo("uint8", (6, 8, 3)), TensorInfo("float32", (1, 3, 4, 4)))
PITCHED = TensorInfo("uint8", (20, 30), (64, 1))
PAGES = (TensorInfo("uint8", (4096,)), TensorInfo("float32", (4, 2048)))


class TestPlugin(PluginSuite):
    plugin = "cuda"
    frameworks = ("cuda", "samebytes_dma")


@pytest.mark.usefixtures("gpu")
class TestContext(ContextSuite):
    memory = DEVICE
    singleton = False


@pytest.mark.usefixtures("gpu")
class TestDeviceTensor(TensorSuite):
    memory = DEVICE
    cases = (*DENSE, PITCHED)


@pytest.mark.usefixtures("gpu")
class TestPinnedTensor(TensorSuite):
    memory = PINNED
    cases = (*DENSE, PITCHED)


@pytest.mark.usefixtures("gpu")
class TestManagedTensor(TensorSuite):
    memory = MANAGED
    cases = DENSE


@pytest.mark.usefixtures("gpu")
class TestFrame(FrameSuite):
    memory = DEVICE


@pytest.mark.usefixtures("gpu")
class TestPinnedToCpu(MapperSuite):
    source = PINNED
    target = CPU
    cases = (DENSE[0], PITCHED)


@pytest.mark.usefixtures("gpu")
class TestManagedToCpu(MapperSuite):
    source = MANAGED
    target = CPU
    cases = DENSE[1:2]


@pytest.mark.usefixtures("gpu")
class TestDeviceToCpu(MapperSuite):
    source = DEVICE
    target = CPU
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = (DENSE[0], PITCHED)


@pytest.mark.usefixtures("gpu")
class TestFramesToCpu(MapperSuite):
    source = PINNED
    target = CPU
    cases = (ImageInfo.of("NV12", 64, 32),)


@pytest.mark.usefixtures("gpu")
class TestPinnedArraysToCuda(MapperSuite):
    source = ArraysInPinnedMemory()
    target = PINNED
    cases = (DENSE[0], PITCHED)


@pytest.mark.usefixtures("gpu")
class TestPagesToCuda(MapperSuite):
    source = WholePages()
    target = PINNED
    transfer = Transfer.IMPORT
    cases = PAGES


@pytest.mark.usefixtures("gpu")
class TestCpuCopies(MapperSuite):
    source = CPU
    target = DEVICE
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = DENSE


@pytest.mark.usefixtures("buffers")
class TestCudaToDma(MapperSuite):
    source = ExportableGpuMemory()
    target = BufferMemory()
    transfer = Transfer.IMPORT
    cases = (*DENSE, PITCHED)
    mapper = "samebytes_cuda._dma_edges:CudaToDma"


@pytest.mark.usefixtures("buffers", "imports_buffers")
class TestDmaToCuda(MapperSuite):
    source = BufferMemory()
    target = DEVICE
    transfer = Transfer.IMPORT
    cases = (*DENSE, PITCHED)
    mapper = "samebytes_cuda._dma_edges:DmaToCuda"
