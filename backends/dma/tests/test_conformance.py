# SPDX-License-Identifier: Apache-2.0
"""The DMA backend in the suites that every backend inherits: on the stand-in, and on DMA-BUFs."""

from __future__ import annotations

import mmap
import os
from typing import Any, ClassVar

import numpy as np
import pytest

import samebytes
import samebytes_dma
from samebytes import Context, Fd, Frame, ImageInfo, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
)

Array = np.ndarray[Any, Any]


class Mapping(mmap.mmap):
    """A mapping of one's own, which holds the plane as arrays of samebytes do."""

    plane: Any


class DMAMemory(Memory):
    """Planes of memfds; the CPU sees them by a mapping that Python's mmap makes."""

    memory_type = "dma"
    host_visible = False
    readonly_enforced = False  # descriptors have one access mode for all who hold them
    allocates = True
    allocates_frames = True
    allocator: ClassVar[str] = "memfd"

    def context(self) -> Context:
        return samebytes.context(f"dma:{self.allocator}")

    def buffer(self, nbytes: int) -> samebytes_dma.DMABuffer:
        fd = Fd(os.memfd_create("test"))
        os.ftruncate(fd.fileno(), nbytes)
        return samebytes_dma.DMABuffer(fd)

    def make(self, info: TensorInfo) -> Any:
        low, high = info.extent
        return self.buffer(high - low).plane(info, offset=-low)

    def view(self, native: Any) -> Array:
        mapping = Mapping(native.buffer.fileno(), native.buffer.size)
        mapping.plane = native
        info = native.info
        return np.ndarray(info.shape, info.dtype.carrier, mapping, native.offset, info.strides)

    def make_frame(self, image: ImageInfo) -> Any:
        buffer = self.buffer(image.nbytes)
        return tuple(
            buffer.plane(TensorInfo(p.dtype, p.shape, p.strides), offset=p.offset)
            for p in image.packed_layouts()
        )

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        return samebytes_dma.frame_of_planes(native, image)


class DMABufMemory(DMAMemory):
    """Planes of DMA-BUFs that samebytes allocated, through its one public way."""

    def buffer(self, nbytes: int) -> samebytes_dma.DMABuffer:
        buffer: samebytes_dma.DMABuffer = self.context().allocate((nbytes,)).native.buffer
        return buffer


class UdmabufMemory(DMABufMemory):
    allocator = "udmabuf"


class HeapMemory(DMABufMemory):
    allocator = "heap"


class Unowned(DMAMemory):
    """For TensorSuite, which asks owned memory for a "data" handle: see test_close.py."""

    allocates = False


CPU = ArrayMemory()
DMA = DMAMemory()

LAYOUTS = (
    TensorInfo("uint8", (6, 8, 3)),
    TensorInfo("uint8", (6, 8), (24, 1)),
    TensorInfo("uint8", (6, 8), (-24, 1)),
    TensorInfo("float32", (2, 3, 4, 5)),
    TensorInfo("int32", (9,)),
)
IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 47, 31),
    ImageInfo.of("P010", 16, 8),
    ImageInfo.of("BGR", 40, 24),
)


class TestPlugin(PluginSuite):
    plugin = "dma"


class TestContext(ContextSuite):
    memory = DMA


class TestTensor(TensorSuite):
    memory = Unowned()
    cases = LAYOUTS


class TestFrame(FrameSuite):
    memory = DMA
    cases = IMAGES


class TestToCpu(MapperSuite):
    source = DMA
    target = CPU
    transfer = Transfer.MAP
    cases = LAYOUTS


class TestFramesToCpu(MapperSuite):
    source = DMA
    target = CPU
    transfer = Transfer.MAP
    cases = IMAGES


# The lab emulates its processor: what the layout alone decides is shown on the stand-in.
FEW_LAYOUTS = LAYOUTS[1:3]
FEW_IMAGES = IMAGES[:1]

needs_udmabuf = pytest.mark.skipif(
    not os.path.exists("/dev/udmabuf"),  # noqa: PTH110 - one word in a marker
    reason="this kernel has no /dev/udmabuf: sudo modprobe udmabuf",
)
needs_heap = pytest.mark.skipif(
    not os.path.exists("/dev/dma_heap/system"),  # noqa: PTH110 - one word in a marker
    reason="this kernel has no /dev/dma_heap/system: CONFIG_DMABUF_HEAPS_SYSTEM=y",
)


@pytest.mark.dmabuf
@needs_udmabuf
class TestUdmabufContext(ContextSuite):
    memory = UdmabufMemory()


@pytest.mark.dmabuf
@needs_udmabuf
class TestUdmabufToCpu(MapperSuite):
    source = UdmabufMemory()
    target = CPU
    transfer = Transfer.MAP
    cases = FEW_LAYOUTS


@pytest.mark.dmabuf
@needs_udmabuf
class TestUdmabufFramesToCpu(MapperSuite):
    source = UdmabufMemory()
    target = CPU
    transfer = Transfer.MAP
    cases = FEW_IMAGES


@pytest.mark.dmabuf
@needs_heap
class TestHeapContext(ContextSuite):
    memory = HeapMemory()


@pytest.mark.dmabuf
@needs_heap
class TestHeapToCpu(MapperSuite):
    source = HeapMemory()
    target = CPU
    transfer = Transfer.MAP
    cases = FEW_LAYOUTS


@pytest.mark.dmabuf
@needs_heap
class TestHeapFramesToCpu(MapperSuite):
    source = HeapMemory()
    target = CPU
    transfer = Transfer.MAP
    cases = FEW_IMAGES
