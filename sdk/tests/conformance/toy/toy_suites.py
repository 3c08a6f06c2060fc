# SPDX-License-Identifier: Apache-2.0
"""The toy in the suites. Run by run_faults.py, with one fault at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import toy_framework  # type: ignore[import-not-found]  # on the path when it is run

import samebytes
from samebytes import Context, ImageInfo, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    DeviceMemory,
    Layouts,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
)

Array = np.ndarray[Any, Any]
FAULT = os.environ.get("TOY_FAULT", "none")


def declared(capability: str, value: Any, wrong: Any) -> Any:
    """Return what is declared of a capability: the wrong value if that is the fault."""
    return wrong if f"{capability} declared wrong" == FAULT else value


class ToyMemory(ArrayMemory):
    memory_type = "toy"
    readonly_enforced = declared("readonly_enforced", True, False)
    host_visible = declared("host_visible", True, False)
    opaque = declared("opaque", False, True)
    allocates = declared("allocates", False, True)
    allocates_frames = "overlap" in FAULT
    layouts = Layouts(
        scalar=True, empty=True, offset=True, readonly=True,
        pitched=declared("a native's layout", True, False),
    )  # fmt: skip

    def over(self, array: Array) -> Any:
        return toy_framework.Buffer(array)

    def view(self, native: Any) -> Array:
        array: Array = native.array
        return array


class ChipMemory(DeviceMemory):
    memory_type = "chip"
    allocates = True
    dtypes = declared("dtypes", None, ("uint8",))

    def context(self) -> Context:
        return samebytes.context("chip:1")

    def make(self, info: TensorInfo) -> Any:
        return toy_framework.new_chip(info)[0]

    def layout(self, native: Any) -> TensorInfo:
        return TensorInfo(native.cells.dtype, native.cells.shape)

    def read(self, native: Any) -> Array:
        values: Array = native.read()
        return values

    def write(self, native: Any, values: Array) -> None:
        native.write(values)

    def native_counts(self) -> Mapping[str, int]:
        return {"chips": toy_framework.open_chips}


CASES = (TensorInfo("uint8", (6, 8)), TensorInfo("float32", (2, 3, 4)))


class TestPlugin(PluginSuite):
    plugin = "toy"
    probes = False
    frameworks = ("toy_framework",)


class TestContext(ContextSuite):
    memory = ToyMemory()
    singleton = declared("singleton", True, False)


class TestTensor(TensorSuite):
    memory = ToyMemory()


class TestCpuToToy(MapperSuite):
    source = ArrayMemory()
    target = ToyMemory()
    cases = CASES
    accesses = declared("accesses", ("r", "w", "rw"), ("r",))
    mixed_access = declared("mixed_access", True, False)
    transfer = declared("transfer", Transfer.ALIAS, Transfer.IMPORT)
    layouts = Layouts(
        pitched=declared("a mapping's layout", False, True),
        gaps=False, transposed=False, scalar=True, readonly=True,
        offset=declared("a served layout", True, False),
    )  # fmt: skip
    refused = ((TensorInfo("uint8", (6, 8), (16, 1)), "a Buffer has no gaps"),)


class TestFrames(MapperSuite):
    """Of a format with one plane: planes that changed places show in others only."""

    source = ArrayMemory()
    target = ToyMemory()
    cases = (ImageInfo.of("BGR", 8, 6),)


class Arrays(ArrayMemory):
    """Frames that samebytes makes: what is mapped apart does not show what others write."""

    frame_over = Memory.frame_over

    def make_frame(self, image: ImageInfo) -> Any:
        layouts = image.plane_layouts()
        return tuple(np.zeros(p.shape, p.dtype) for p in layouts)


class TestPlanes(MapperSuite):
    """Planes in memory of their own."""

    source = Arrays()
    target = ToyMemory()
    mapper = "toy_framework:PlanesToToy"
    transfer = Transfer.MAP
    cases = (ImageInfo.of("NV12", 64, 32), ImageInfo.of("I420", 32, 16))


class TestChipContext(ContextSuite):
    memory = ChipMemory()
    singleton = False


class TestChip(TensorSuite):
    memory = ChipMemory()
    cases = CASES


class TestCpuToChip(MapperSuite):
    source = ArrayMemory()
    target = ChipMemory()
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = CASES


class TestChipToCpu(MapperSuite):
    source = ChipMemory()
    target = ArrayMemory()
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = CASES
