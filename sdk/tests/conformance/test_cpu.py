# SPDX-License-Identifier: Apache-2.0
"""The built-in CPU backend, in the suites that every backend inherits."""

from __future__ import annotations

from samebytes import ImageInfo, TensorInfo
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    PluginSuite,
    TensorSuite,
)

CPU = ArrayMemory()


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
