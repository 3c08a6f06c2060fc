# SPDX-License-Identifier: Apache-2.0
"""The OpenVINO backend in the suites that every backend inherits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino

import samebytes
from samebytes import Frame, FrameMeta, ImageInfo, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    FrameSuite,
    Layouts,
    MapperSuite,
    Memory,
    PluginSuite,
    TensorSuite,
)

Array = np.ndarray[Any, Any]


class OpenVINOMemory(Memory):
    """Dense tensors, as openvino.Tensor makes them over arrays."""

    memory_type = "openvino"
    readonly_enforced = False
    allocates = True
    allocates_frames = True
    layouts = Layouts(
        pitched=False, gaps=False, transposed=False, negative=False, overlapping=False,
        scalar=True, offset=True,
    )  # fmt: skip
    dtypes = (
        "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "float32", "float64",
    )  # fmt: skip

    def over(self, array: Array) -> Any:
        if not array.flags.c_contiguous:
            raise LayoutError("openvino.Tensor shares the memory of dense arrays only")
        return openvino.Tensor(array, shared_memory=True)

    def region(self, native: Any, begin: int, end: int) -> Any:
        shape = list(native.get_shape())
        corners = [begin, *[0] * (len(shape) - 1)], [end, *shape[1:]]
        return openvino.Tensor(native, *map(openvino.Coordinate, corners))

    def plane_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """NHWC."""
        return (1, *shape) if len(shape) == 3 else (1, *shape, 1)

    def view(self, native: Any) -> Array:
        view: Array = native.data
        return view

    def views(self, native: Any) -> tuple[Array, ...]:
        """The planes as the format shapes them, without the axes that NHWC adds."""
        return tuple(a[0, :, :, 0] if a.shape[-1] == 1 else a[0] for a in map(self.view, native))

    def frame_over(self, arrays: Sequence[Array], image: ImageInfo) -> Any:
        return tuple(
            openvino.Tensor(a[None, :, :, None] if a.ndim == 2 else a[None], shared_memory=True)
            for a in arrays
        )

    def frame(self, native: Any, image: ImageInfo) -> Frame:
        context = self.context()
        return Frame.borrowed(native, context, FrameMeta(image), keep=Storage(keep=native))


class PaddedArrays(ArrayMemory):
    """Arrays whose memory ends with a whole row, padding included."""

    def make(self, info: TensorInfo) -> Array:
        assert info.strides is not None
        assert info.dtype.itemsize is not None
        whole = np.zeros(info.strides[0] * info.shape[0], np.uint8)
        return np.ndarray(info.shape, info.dtype.carrier, whole, 0, info.strides)


CPU = ArrayMemory()
OPENVINO = OpenVINOMemory()
DENSE = (
    TensorInfo("uint8", (1, 6, 8, 3)),
    TensorInfo("float32", (1, 3, 4, 4)),
    TensorInfo("int64", (7,)),
    TensorInfo("bool", (4, 4)),
    TensorInfo("float16", (2, 1, 3)),
)


class TestPlugin(PluginSuite):
    plugin = "openvino"


class TestContext(ContextSuite):
    memory = OPENVINO


class TestTensor(TensorSuite):
    memory = OPENVINO
    cases = DENSE


class TestCpuToOpenVINO(MapperSuite):
    source = CPU
    target = OPENVINO
    cases = DENSE
    layouts = Layouts(
        negative=False, transposed=False, overlapping=False, scalar=True, offset=True,
        readonly=True,
    )  # fmt: skip
    refused = (
        (TensorInfo("uint8", (20, 32), (-32, 1)), "are negative"),
        (TensorInfo("uint8", (20, 32), (0, 1)), "overlap"),
        (TensorInfo("uint8", (20, 32), (1, 20)), "transposed"),
        (TensorInfo("uint8", (20, 30, 3), (100, 3, 1)), "not a multiple of the 3 bytes"),
        (TensorInfo("uint8", (20, 32), (40, 1)), "8 bytes before a whole number of padded rows"),
        (TensorInfo("complex64", (4, 4)), "no element type for complex64"),
    )


class TestPaddedCpuToOpenVINO(MapperSuite):
    source = PaddedArrays()
    target = OPENVINO
    cases = (
        TensorInfo("uint8", (20, 32), (40, 1)),
        TensorInfo("uint8", (5, 4, 2), (16, 2, 1)),
        TensorInfo("float32", (5, 6, 3), (128, 16, 4)),
        TensorInfo("uint16", (6, 4, 1), (24, 4, 2)),
    )


class TestOpenVINOToCpu(MapperSuite):
    source = OPENVINO
    target = CPU
    cases = DENSE


IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 47, 31),
    ImageInfo.of("P010", 16, 8),
    ImageInfo.of("BGRX", 40, 24),
)


class TestCpuFramesToOpenVINO(MapperSuite):
    source = CPU
    target = OPENVINO
    cases = IMAGES


class TestOpenVINOFramesToCpu(MapperSuite):
    source = OPENVINO
    target = CPU
    cases = IMAGES


class TestFrame(FrameSuite):
    memory = OPENVINO
    cases = IMAGES


def test_tensors_of_other_plugins_are_left_alone() -> None:
    made = samebytes.tensor(np.zeros(3, np.float32))
    assert isinstance(made, Tensor)
    assert made.memory_type == "cpu"
