# SPDX-License-Identifier: Apache-2.0
"""The DMA backend in the suites that every backend inherits, on the stand-in for DMA-BUFs.

What DMA-BUFs of the kernel add is in test_dma_bufs.py.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

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
    array_in,
)

Array = np.ndarray[Any, Any]


class DMAMemory(Memory):
    """Planes of memfds; the CPU sees them by a mapping that Python's mmap makes."""

    memory_type = "dma"
    host_visible = False
    readonly_enforced = False  # descriptors have one access mode for all who hold them
    allocates = True
    allocates_frames = True

    def context(self) -> Context:
        return samebytes.context("dma:memfd")

    def buffer(self, nbytes: int) -> samebytes_dma.DMABuffer:
        fd = Fd(os.memfd_create("test"))
        os.ftruncate(fd.fileno(), nbytes)
        return samebytes_dma.DMABuffer(fd)

    def make(self, info: TensorInfo) -> Any:
        low, high = info.extent
        return self.buffer(high - low).plane(info, offset=-low)

    def view(self, native: Any) -> Array:
        buffer = native.buffer
        return array_in(buffer.fileno(), buffer.size, native.info, native.offset, native)

    def make_frame(self, image: ImageInfo) -> Any:
        buffer = self.buffer(image.nbytes)
        return tuple(
            buffer.plane(TensorInfo(p.dtype, p.shape, p.strides), offset=p.offset)
            for p in image.packed_layouts()
        )

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        return samebytes_dma.frame_of_planes(native, image)


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
    memory = DMA
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
