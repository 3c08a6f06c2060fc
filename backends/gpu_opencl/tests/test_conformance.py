# SPDX-License-Identifier: Apache-2.0
"""The OpenCL backend in the suites that every backend inherits."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
import pytest

import samebytes
import samebytes_gpu_opencl
from samebytes import Context, Frame, ImageInfo, TensorInfo, Transfer
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
)

Array = np.ndarray[Any, Any]


def devices() -> list[cl.Device]:
    """All devices of all drivers, as pyopencl lists them."""
    found = []
    with suppress(cl.Error):  # the loader's, if there is no driver
        for platform in cl.get_platforms():
            with suppress(cl.Error):  # of a driver without its device
                found += platform.get_devices()
    return found


DEVICES = devices()
DEVICE = DEVICES[0] if len(DEVICES) == 1 else None
needs_unified_memory = pytest.mark.skipif(
    DEVICE is None or not DEVICE.host_unified_memory,
    reason="device has its own memory: nothing on the host is shared with it",
)
needs_usm = pytest.mark.skipif(
    DEVICE is None or "cl_intel_unified_shared_memory" not in DEVICE.extensions.split(),
    reason="device has no cl_intel_unified_shared_memory",
)
needs_images = pytest.mark.skipif(
    DEVICE is None or not DEVICE.image_support,
    reason="device has no images: pytest --softdevices=gpu has some",
)
# Held, so that natives and tensors of a test are of one cl_context.
_held: list[Any] = []


def opencl() -> Any:
    context: Any = samebytes.context("opencl")
    if not _held or _held[0] is not context:
        _held[:] = [context, cl.CommandQueue(context.native)]
    return context


class BufferMemory(DeviceMemory):
    """Buffers, read and written by commands of a queue that samebytes does not know."""

    memory_type = "opencl"
    device = "GPU"
    allocates = True
    allocates_frames = True
    fork_safe = False  # a driver's threads do not live in the child

    def context(self) -> Context:
        context: Context = opencl()
        return context

    def make(self, info: TensorInfo) -> Any:
        context = opencl()
        native = cl.Buffer(context.native, cl.mem_flags.READ_WRITE, info.extent[1])
        native.layout = info  # type: ignore[attr-defined]  # as a user notes it
        cl.enqueue_copy(_held[1], native, np.zeros(native.size, np.uint8))
        _held[1].finish()
        return native

    def layout(self, native: Any) -> TensorInfo:
        return getattr(native, "layout", None) or TensorInfo("uint8", (native.size,))

    def read(self, native: Any) -> Array:
        return self.elements(native, self.bytes_of(native)).copy()

    def write(self, native: Any, values: Array) -> None:
        data = self.bytes_of(native)
        self.elements(native, data)[...] = values
        cl.enqueue_copy(_held[1], native, data)
        _held[1].finish()

    def bytes_of(self, native: Any) -> Array:
        data = np.empty(native.size, np.uint8)
        cl.enqueue_copy(_held[1], data, native)
        _held[1].finish()
        return data

    def elements(self, native: Any, data: Array) -> Array:
        info = self.layout(native)
        return np.ndarray(info.shape, info.dtype.carrier, data, 0, info.strides)

    def region(self, native: Any, begin: int, end: int) -> Any:
        # buffer[1:4] are bytes, which know no rows; and they may not begin just anywhere, which
        # NVIDIA's OpenCL does not refuse.
        return None

    def handle_of(self, native: Any) -> int:
        handle: int = native.int_ptr
        return handle

    def make_frame(self, image: ImageInfo) -> Any:
        return tuple(self.make(TensorInfo(p.dtype, p.shape)) for p in image.plane_layouts())

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        return samebytes_gpu_opencl.frame(native, image.format, image.width, image.height)

    def queue(self) -> Any:
        opencl()
        return _held[1]


class ImageMemory(BufferMemory):
    """2-D images."""

    opaque = True
    allocates = False
    allocates_frames = False

    def make(self, info: TensorInfo) -> Any:
        context = opencl()
        orders = {1: cl.channel_order.R, 4: cl.channel_order.RGBA}
        types = {"uint8": cl.channel_type.UNORM_INT8, "float32": cl.channel_type.FLOAT}
        channels = info.shape[2] if len(info.shape) == 3 else 1
        native = cl.create_image(
            context.native, cl.mem_flags.READ_WRITE,
            cl.ImageFormat(orders[channels], types[str(info.dtype)]), shape=info.shape[1::-1],
        )  # fmt: skip
        self.write(native, np.zeros(info.shape, info.dtype.carrier))
        return native

    def layout(self, native: Any) -> TensorInfo:
        format_ = native.format
        channels = {cl.channel_order.R: 1, cl.channel_order.RGBA: 4}[format_.channel_order]
        dtype = np.float32 if format_.channel_data_type == cl.channel_type.FLOAT else np.uint8
        shape = (native.height, native.width, channels)[: 3 if channels > 1 else 2]
        return TensorInfo(dtype, shape, opaque=True)

    def read(self, native: Any) -> Array:
        info = self.layout(native)
        data = np.empty(info.shape, info.dtype.carrier)
        cl.enqueue_copy(_held[1], data, native, origin=(0, 0), region=(native.width, native.height))
        _held[1].finish()
        return data

    def write(self, native: Any, values: Array) -> None:
        data = np.ascontiguousarray(values)
        cl.enqueue_copy(_held[1], native, data, origin=(0, 0), region=(native.width, native.height))
        _held[1].finish()


class HostBufferMemory(BufferMemory):
    """Buffers over host memory on a device that works on it: seen in place, by their address."""

    address = Memory.address

    def view(self, native: Any) -> Array:
        queue = _held[1]
        flags: Any = cl.map_flags.READ | cl.map_flags.WRITE
        shape: Any = (native.size,)
        found: Any = cl.enqueue_map_buffer(queue, native, flags, 0, shape, np.dtype("uint8"))
        address = found[0].__array_interface__["data"][0]
        found[0].base.release(queue)
        queue.finish()
        return array_at(address, self.layout(native), native)


class PageMemory(ArrayMemory):
    """Arrays at the beginning of a page."""

    def make(self, info: TensorInfo) -> Array:
        whole = np.frombuffer(mmap.mmap(-1, max(info.extent[1], 1)), np.uint8)
        return np.ndarray(info.shape, info.dtype.carrier, whole, 0, info.strides)

    def make_frame(self, image: ImageInfo) -> Any:
        return tuple(self.make(TensorInfo(p.dtype, p.shape)) for p in image.plane_layouts())


class USMMemory(BufferMemory):
    """Host USM, which the CPU reads in place."""

    host_visible = True
    allocates = False
    allocates_frames = False
    address = Memory.address
    kind: ClassVar[str] = "usm_host"

    def make(self, info: TensorInfo) -> Any:
        native = opencl().allocate(info.shape, info.dtype, self.kind).native
        self.view(native)[...] = 0
        return native

    def view(self, native: Any) -> Array:
        return array_at(native.pointer, self.layout(native), native)


CPU = ArrayMemory()
BUFFERS = BufferMemory()
LAYOUTS = (
    TensorInfo("uint8", (6, 8, 3)),
    TensorInfo("float32", (1, 3, 4, 4)),
    TensorInfo("int16", (5, 6), (20, 2)),
    TensorInfo("float16", (9,)),
)
WHOLE_LINES = (
    TensorInfo("uint8", (16, 16, 3)),
    TensorInfo("float32", (1, 4, 4, 4)),
    TensorInfo("int32", (4096,)),
)
IMAGES = (ImageInfo.of("NV12", 64, 32), ImageInfo.of("I420", 48, 32), ImageInfo.of("BGR", 40, 24))


class TestPlugin(PluginSuite):
    plugin = "opencl"


class TestContext(ContextSuite):
    memory = BUFFERS
    singleton = False


class TestTensor(TensorSuite):
    memory = BUFFERS
    cases = LAYOUTS


@needs_images
class TestImageTensor(TensorSuite):
    memory = ImageMemory()
    cases = (
        TensorInfo("uint8", (6, 8), opaque=True),
        TensorInfo("float32", (5, 7, 4), opaque=True),
    )


@needs_usm
class TestUSMTensor(TensorSuite):
    memory = USMMemory()
    cases = WHOLE_LINES


class TestFrame(FrameSuite):
    memory = BUFFERS
    cases = IMAGES


class TestBufferToCpu(MapperSuite):
    source = BUFFERS
    target = CPU
    transfer = Transfer.MAP
    cases = (LAYOUTS[0], LAYOUTS[2])


class TestFrameToCpu(MapperSuite):
    source = BUFFERS
    target = CPU
    transfer = Transfer.MAP
    cases = IMAGES[:1]


@needs_images
class TestImageToCpu(MapperSuite):
    source = ImageMemory()
    target = CPU
    transfer = Transfer.MAP
    cases = TestImageTensor.cases


@needs_usm
class TestHostUSMToCpu(MapperSuite):
    source = USMMemory()
    target = CPU
    cases = WHOLE_LINES[:2]


class SharedUSM(USMMemory):
    kind = "usm_shared"


@needs_usm
class TestSharedUSMToCpu(MapperSuite):
    source = SharedUSM()
    target = CPU
    cases = WHOLE_LINES[:1]


@needs_unified_memory
class TestCpuToOpenCL(MapperSuite):
    source = PageMemory()
    target = HostBufferMemory()
    cases = WHOLE_LINES[:2]
    refused = (
        (TensorInfo("uint8", (7, 3)), "is 21 bytes long"),
        (TensorInfo("uint8", (64, 64), (0, 1)), "overlap"),
    )


@needs_unified_memory
class TestCpuFramesToOpenCL(MapperSuite):
    source = PageMemory()
    target = HostBufferMemory()
    cases = (ImageInfo.of("GRAY8", 64, 32), ImageInfo.of("BGRX", 64, 16))


class TestCpuCopiedToOpenCL(MapperSuite):
    """Memory that cannot be shared is copied into the device's memory if copy=True allows it."""

    source = CPU
    target = BUFFERS
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = (
        TensorInfo("uint8", (7, 3, 3)),
        TensorInfo("float32", (5, 7)),
        TensorInfo("uint16", (6, 9), (20, 2)),
    )
