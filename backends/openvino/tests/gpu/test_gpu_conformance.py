# SPDX-License-Identifier: Apache-2.0
"""GPU memory that the CPU reads, in the suites that every edge inherits."""

from __future__ import annotations

import mmap
import re
from typing import Any

import numpy as np
import openvino
import pytest

from samebytes import Context, Frame, FrameMeta, ImageInfo, Storage, Tensor, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    DeviceMemory,
    FrameSuite,
    MapperSuite,
    Memory,
    TensorSuite,
)
from samebytes_openvino.intel_gpu import ClContext

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("core")
# Whole pages, since the suites place arrays at the end of pages, and CPU_VA needs whole lines.
CASES = (
    TensorInfo("uint8", (1, 64, 64, 1)),
    TensorInfo("float32", (1, 3, 32, 32)),
    TensorInfo("float16", (2, 2048)),
)


ELEMENTS = {
    "boolean": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "f32": "float32", "f64": "float64",
}  # fmt: skip


def planes_of(views: list[Array]) -> tuple[Array, ...]:
    """Without the axes that NHWC adds."""
    return tuple(a[0, :, :, 0] if a.shape[-1] == 1 else a[0] for a in views)


class Bytes:
    """Memory at an address, and the native object that owns it."""

    def __init__(self, native: Any, address: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.native = native
        self.__array_interface__ = {
            "shape": shape, "typestr": np.dtype(dtype).str, "data": (address, False), "version": 3,
        }  # fmt: skip


class AlignedArrays(ArrayMemory):
    """Arrays that begin with a cache line."""

    def make(self, info: TensorInfo) -> Array:
        pages = np.frombuffer(mmap.mmap(-1, max(info.extent[1], mmap.PAGESIZE)), np.uint8)
        return np.ndarray(info.shape, info.dtype.carrier, pages, 0, info.strides)

    def make_frame(self, image: ImageInfo) -> Any:
        return tuple(self.make(TensorInfo(p.dtype, p.shape)) for p in image.plane_layouts())


class HostGpuMemory(Memory):
    """USM of the host, and memory of the CPU that was given to the GPU plugin."""

    memory_type = "openvino"
    node = "openvino:GPU"
    readonly_enforced = False

    def context(self) -> Context:
        return ClContext.default()

    def region(self, native: Any, begin: int, end: int) -> Any:
        shape = list(native.get_shape())
        corners = [begin, *[0] * (len(shape) - 1)], [end, *shape[1:]]
        return openvino.RemoteTensor(native, *map(openvino.Coordinate, corners))

    def plane_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """NHWC."""
        return (1, *shape) if len(shape) == 3 else (1, *shape, 1)

    def make_frame(self, image: ImageInfo) -> Any:
        return tuple(
            self.make(TensorInfo(p.dtype, self.plane_shape(p.shape))) for p in image.plane_layouts()
        )

    def views(self, native: Any) -> tuple[Array, ...]:
        """The planes as the format shapes them."""
        return planes_of([self.view(plane) for plane in native])

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        context = ClContext.default()
        storage = Storage(keep=native)
        return context.frame_class.borrowed(native, context, FrameMeta(image), keep=storage)

    def make(self, info: TensorInfo) -> Any:
        element = next(k for k, v in ELEMENTS.items() if v == str(info.dtype))
        return ClContext.default().native.create_tensor(
            getattr(openvino.Type, element),
            openvino.Shape(info.shape),
            {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"},
        )

    def tensor(self, native: Any) -> Tensor:
        return ClContext.default().wrap_tensor(native)

    def view(self, native: Any) -> Array:
        params = {key: value.astype(str) for key, value in native.get_params().items()}
        key = "CPU_VA" if params["SHARED_MEM_TYPE"] == "CPU_VA" else "MEM_HANDLE"
        element = re.findall(r"type: (\w+)", repr(native))[0]
        shape = tuple(native.get_shape())
        return np.asarray(Bytes(native, int(params[key], 16), shape, ELEMENTS[element]))


GPU = HostGpuMemory()


class TestCpuToGpu(MapperSuite):
    source = AlignedArrays()
    target = GPU
    cases = CASES
    refused = (
        (TensorInfo("uint8", (20, 32), (64, 1)), "would give wrong numbers"),
        (TensorInfo("complex64", (8, 8)), "no element type for complex64"),
    )


class TestGpuToCpu(MapperSuite):
    source = GPU
    target = ArrayMemory()
    cases = CASES


IMAGES = (ImageInfo.of("NV12", 64, 64), ImageInfo.of("BGRX", 64, 16))


class PluginMemory(DeviceMemory):
    """Buffers of the plugin's, which OpenVINO copies to and from its own tensors."""

    memory_type = "openvino"
    node = "openvino:GPU"
    allocates = True
    allocates_frames = True
    fork_safe = False  # a driver's threads do not live in the child

    context = HostGpuMemory.context
    tensor = HostGpuMemory.tensor
    frame = HostGpuMemory.frame
    region = HostGpuMemory.region
    plane_shape = HostGpuMemory.plane_shape
    make_frame = HostGpuMemory.make_frame

    def make(self, info: TensorInfo) -> Any:
        element = next(k for k, v in ELEMENTS.items() if v == str(info.dtype))
        native = ClContext.default().native.create_tensor(
            getattr(openvino.Type, element), openvino.Shape(info.shape), {}
        )
        self.write(native, np.zeros(info.shape, info.dtype.carrier))
        return native

    def layout(self, native: Any) -> TensorInfo:
        element = re.findall(r"type: (\w+)", repr(native))[0]
        return TensorInfo(ELEMENTS[element], tuple(native.get_shape()))

    def read(self, native: Any) -> Array:
        info = self.layout(native)
        values = np.empty(info.shape, info.dtype.carrier)
        native.copy_to(openvino.Tensor(values, shared_memory=True))
        return values

    def write(self, native: Any, values: Array) -> None:
        native.copy_from(openvino.Tensor(np.ascontiguousarray(values), shared_memory=True))

    def handle_of(self, native: Any) -> int:
        return int(native.get_params()["MEM_HANDLE"].astype(str), 16)

    def views(self, native: Any) -> tuple[Array, ...]:
        """The planes as the format shapes them."""
        return planes_of([self.view(plane) for plane in native])


PLUGIN_MEMORY = PluginMemory()


class TestContext(ContextSuite):
    memory = PLUGIN_MEMORY
    singleton = False


class TestTensor(TensorSuite):
    memory = PLUGIN_MEMORY
    cases = CASES


class TestHostTensor(TensorSuite):
    memory = GPU
    cases = CASES


class TestFrame(FrameSuite):
    memory = GPU
    cases = IMAGES


class TestGpuFramesToCpu(MapperSuite):
    source = GPU
    target = ArrayMemory()
    cases = IMAGES


class TestGpuCopiedToCpu(MapperSuite):
    source = GPU
    target = ArrayMemory()
    mapper = "samebytes_openvino.intel_gpu._mappers:GpuToCpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = CASES


class TestGpuFramesCopiedToCpu(MapperSuite):
    source = GPU
    target = ArrayMemory()
    mapper = "samebytes_openvino.intel_gpu._mappers:GpuFrameToCpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IMAGES


class TestCopiedToGpu(MapperSuite):
    source = ArrayMemory()
    target = PLUGIN_MEMORY
    mapper = "samebytes_openvino.intel_gpu._mappers:CpuToGpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = CASES


class TestFramesCopiedToGpu(MapperSuite):
    source = ArrayMemory()
    target = PLUGIN_MEMORY
    mapper = "samebytes_openvino.intel_gpu._mappers:CpuFrameToGpuCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = IMAGES


class TestCpuFramesToGpu(MapperSuite):
    source = AlignedArrays()
    target = GPU
    mapper = "samebytes_openvino.intel_gpu._mappers:CpuFrameToGpu"
    cases = IMAGES
