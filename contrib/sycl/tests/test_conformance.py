# SPDX-License-Identifier: Apache-2.0
"""The SYCL backend in the suites that every backend inherits."""

from __future__ import annotations

from typing import Any, cast

import dpctl.memory
import numpy as np

import samebytes
import samebytes_sycl
from samebytes import Frame, FrameMeta, ImageInfo, Storage, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
    array_at,
)

Array = np.ndarray[Any, Any]


class UsersArray:
    """An array of the application in memory of dpctl's, as dpnp's arrays are."""

    def __init__(self, memory: Any, info: TensorInfo, offset: int = 0) -> None:
        assert info.strides is not None
        size = info.dtype.carrier.itemsize
        self.memory = memory
        self.__sycl_usm_array_interface__ = {
            "data": (memory._pointer + offset, False),
            "shape": info.shape,
            "strides": tuple(s // size for s in info.strides),
            "typestr": info.dtype.carrier.str,
            "version": 1,
            "syclobj": memory.sycl_queue,
            "offset": 0,
        }


class SharedUSM(Memory):
    """Shared USM that the application allocates through dpctl."""

    memory_type = "sycl"
    device = "GPU"
    readonly_enforced = False  # SYCL has no read-only memory
    fork_safe = False  # a driver's threads do not live in the child
    allocates = True
    allocates_frames = True
    memory_class: Any = dpctl.memory.MemoryUSMShared

    def make(self, info: TensorInfo) -> UsersArray:
        return UsersArray(self.memory_class(max(info.extent[1], 1)), info)

    def view(self, native: Any) -> Array:
        reported = native.__sycl_usm_array_interface__
        element, (pointer, readonly) = np.dtype(reported["typestr"]), reported["data"]
        strides = tuple(s * element.itemsize for s in reported["strides"])
        info = TensorInfo(element, reported["shape"], strides)
        return array_at(pointer, info, native, readonly=readonly)

    def tensor(self, native: Any) -> samebytes.Tensor:
        return samebytes_sycl.tensor(native)

    def make_frame(self, image: ImageInfo) -> tuple[UsersArray, ...]:
        layouts = image.packed_layouts()
        memory = self.memory_class(max(p.offset + p.span for p in layouts))
        return tuple(
            UsersArray(memory, TensorInfo(p.dtype, p.shape, p.strides), p.offset) for p in layouts
        )

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        return Frame.borrowed(native, self.context(), FrameMeta(image), keep=Storage(keep=native))


class HostUSM(SharedUSM):
    """Host USM of the application."""

    allocates = False
    allocates_frames = False
    memory_class = dpctl.memory.MemoryUSMHost


class DeviceUSM(SharedUSM):
    """Device USM. That of the software GPU can be read to see what is there."""

    host_visible = False
    allocates = False
    allocates_frames = False
    memory_class = dpctl.memory.MemoryUSMDevice


class ArraysInUSM(ArrayMemory):
    """numpy arrays that lie in USM of the application."""

    allocates = False
    allocates_frames = False

    def make(self, info: TensorInfo) -> Array:
        memory = dpctl.memory.MemoryUSMShared(max(info.extent[1], 1))
        whole = np.frombuffer(cast("Any", memory), np.uint8)
        return np.ndarray(info.shape, info.dtype.carrier, whole, 0, info.strides)

    over = Memory.over


SHARED = SharedUSM()
CPU = ArrayMemory()
DENSE = (TensorInfo("uint8", (6, 8, 3)), TensorInfo("float32", (1, 3, 4, 4)))
PITCHED = TensorInfo("uint8", (20, 30), (64, 1))


class TestPlugin(PluginSuite):
    plugin = "sycl"
    frameworks = ("dpctl", "samebytes_gpu_opencl", "samebytes_npu_level_zero")


class TestContext(ContextSuite):
    memory = SHARED
    singleton = False


class TestSharedTensor(TensorSuite):
    memory = SHARED
    cases = (*DENSE, PITCHED)


class TestHostTensor(TensorSuite):
    memory = HostUSM()
    cases = DENSE


class TestFrame(FrameSuite):
    memory = SHARED


class TestSharedToCpu(MapperSuite):
    source = SHARED
    target = CPU
    cases = (DENSE[0], PITCHED)


class TestHostToCpu(MapperSuite):
    source = HostUSM()
    target = CPU
    cases = DENSE[1:2]


class TestDeviceToCpu(MapperSuite):
    source = DeviceUSM()
    target = CPU
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = (DENSE[0],)


class TestFramesToCpu(MapperSuite):
    source = SHARED
    target = CPU
    cases = (ImageInfo.of("NV12", 64, 32),)


class TestCpuToSYCL(MapperSuite):
    source = ArraysInUSM()
    target = SHARED
    cases = (DENSE[0], PITCHED)


class TestCpuCopies(MapperSuite):
    source = CPU
    target = SHARED
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = DENSE
