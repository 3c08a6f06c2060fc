# SPDX-License-Identifier: Apache-2.0
"""The built-in CPU backend, in the suites that every backend inherits."""

from __future__ import annotations

from typing import Any

from samebytes import ImageInfo, TensorInfo, Transfer
from samebytes.formats import known_formats
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    Layouts,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
    array_of,
)

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


class CpuMemory(ArrayMemory):
    """All layouts and element types that numpy has, and all image formats."""

    layouts = Layouts(
        pitched=True, gaps=True, transposed=True, negative=True, overlapping=True, empty=True,
        scalar=True, offset=True, readonly=True,
    )  # fmt: skip
    dtypes = DTYPES
    formats = tuple(str(known) for known in known_formats())


CPU = CpuMemory()


class TestCpuPlugin(PluginSuite):
    plugin = "cpu"
    probes = False

    def module_name(self) -> str:
        return "samebytes._cpu.plugin"  # built in: it has no entry point


class TestCpuContext(ContextSuite):
    memory = CPU


class TestCpuTensor(TensorSuite):
    memory = CPU
    cases = (
        TensorInfo("uint8", (6, 8, 3)),
        TensorInfo("float32", (1, 3, 4, 4)),
        TensorInfo("uint16", (6, 5), (16, 2)),
        TensorInfo("int32", (7,), (8,)),
        TensorInfo("bool", (4, 4)),
        TensorInfo("complex64", (2, 3)),
    )


class TestCpuFrame(FrameSuite):
    memory = CPU
    cases = (
        ImageInfo.of("NV12", 64, 32),
        ImageInfo.of("I420", 47, 31),
        ImageInfo.of("P010", 16, 8),
        ImageInfo.of("GRAY8", 5, 3),
        ImageInfo.of("BGRA", 40, 24),
    )


class TestDenseCopy(MapperSuite):
    source = CPU
    target = CPU
    mapper = "samebytes._cpu.dense:DenseCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = (
        TensorInfo("uint8", (6, 8), (1, 6)),
        TensorInfo("float32", (6, 8, 3), (-96, 12, 4)),
    )


class PaddedRows(CpuMemory):
    """Frames whose rows end with padding: there is something to copy."""

    frame_over = Memory.frame_over

    def make_frame(self, image: ImageInfo) -> Any:
        pitches = [p.pitch + 8 for p in image.plane_layouts()]
        layouts = image.plane_layouts(pitches)
        return tuple(array_of(TensorInfo(p.dtype, p.shape, p.strides)) for p in layouts)


class TestDenseFrameCopy(MapperSuite):
    source = PaddedRows()
    target = CPU
    mapper = "samebytes._cpu.dense:DenseFrameCopy"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = (ImageInfo.of("NV12", 64, 32), ImageInfo.of("I420", 47, 31))
