# SPDX-License-Identifier: Apache-2.0
"""The toy in the suites. Run by test_faults.py, with one fault at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from toy_framework import Buffer  # type: ignore[import-not-found]  # on the path when it is run

from samebytes import TensorInfo
from samebytes.testing import ArrayMemory, ContextSuite, MapperSuite, PluginSuite, TensorSuite

Array = np.ndarray[Any, Any]


class ToyMemory(ArrayMemory):
    memory_type = "toy"
    allocates = False
    allocates_frames = False

    def over(self, array: Array) -> Any:
        return Buffer(array)

    def view(self, native: Any) -> Array:
        array: Array = native.array
        return array


class TestPlugin(PluginSuite):
    plugin = "toy"
    probes = False
    frameworks = ("toy_framework",)


class TestContext(ContextSuite):
    memory = ToyMemory()


class TestTensor(TensorSuite):
    memory = ToyMemory()


class TestCpuToToy(MapperSuite):
    source = ArrayMemory()
    target = ToyMemory()
    cases = (TensorInfo("uint8", (6, 8)), TensorInfo("float32", (2, 3, 4)))
    refused = ((TensorInfo("uint8", (6, 8), (16, 1)), "a Buffer has no gaps"),)
