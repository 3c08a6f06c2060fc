# SPDX-License-Identifier: Apache-2.0
"""The OpenCV backend in the suites that every backend inherits."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from samebytes import ImageInfo, TensorInfo, Transfer
from samebytes.testing import (
    ArrayMemory,
    ContextSuite,
    DeviceMemory,
    FrameSuite,
    Layouts,
    MapperSuite,
    PluginSuite,
    TensorSuite,
)

Array = np.ndarray[Any, Any]
Mat: Any = cv2.Mat  # untyped in OpenCV's stubs


DTYPES = (
    "int8", "uint8", "int16", "uint16", "int32", "float16", "float32", "float64",
    *(("bool", "uint32") if hasattr(cv2, "CV_32U") else ()),
)  # fmt: skip


class OpenCVMemory(ArrayMemory):
    """Native tensors are cv2.Mat objects."""

    memory_type = "opencv"
    dtypes = DTYPES

    def over(self, array: Array) -> Any:
        return Mat(array, wrap_channels=array.ndim == 3)


CPU = ArrayMemory()
OPENCV = OpenCVMemory()

LAYOUTS = (
    TensorInfo("uint8", (6, 8, 3)),
    TensorInfo("uint8", (6, 8), (24, 1)),
    TensorInfo("uint8", (6, 8, 4), (40, 4, 1)),
    TensorInfo("float16", (5, 7)),
    TensorInfo("float32", (2, 3, 4, 5)),
    TensorInfo("int32", (9,)),
)
IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 47, 31),
    ImageInfo.of("P010", 16, 8),
    ImageInfo.of("BGR", 40, 24),
    ImageInfo.of("GRAY8", 5, 3),
)


class TestPlugin(PluginSuite):
    plugin = "opencv"


class TestContext(ContextSuite):
    memory = OPENCV


class TestTensor(TensorSuite):
    memory = OPENCV
    cases = LAYOUTS


class TestCpuToOpenCV(MapperSuite):
    source = CPU
    target = OPENCV
    cases = LAYOUTS
    layouts = Layouts(
        pitched=True, gaps=False, transposed=False, negative=False, overlapping=False,
        empty=False, scalar=False, offset=True, readonly=True,
    )  # fmt: skip
    refused = (
        (TensorInfo("uint8", (6, 8, 3), (-24, 3, 1)), "negative strides"),
        (TensorInfo("uint8", (6, 8, 3), (48, 6, 1)), "pixels in a row"),
        (TensorInfo("uint8", (6, 8), (1, 6)), "elements of a row"),
        (TensorInfo("uint8", (8, 8, 3), (8, 1, 64)), "channels of a pixel"),
        (TensorInfo("uint8", (0, 8)), "at least one axis and one element"),
        (TensorInfo("int64", (6, 8)), "no Mat of int64"),
        (TensorInfo("complex64", (6, 8)), "no Mat of complex64"),
    )


class TestOpenCVToCpu(MapperSuite):
    source = OPENCV
    target = CPU
    cases = LAYOUTS


class TestCpuFramesToOpenCV(MapperSuite):
    source = CPU
    target = OPENCV
    cases = IMAGES


class OpenCVPlanes(OpenCVMemory):
    """Frames: tuples of plain arrays, since OpenCV has no frame type."""

    def over(self, array: Array) -> Any:
        return array


class TestOpenCVFramesToCpu(MapperSuite):
    source = OpenCVPlanes()
    target = CPU
    cases = IMAGES


class TestOpenCVFrames(FrameSuite):
    memory = OpenCVPlanes()
    cases = IMAGES


class TestTransposedCpuToOpenCV(MapperSuite):
    """Memory that no Mat can describe is copied into dense memory if copy=True allows it."""

    source = CPU
    target = OPENCV
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = (
        TensorInfo("uint8", (6, 8), (1, 6)),
        TensorInfo("float32", (6, 8, 3), (-96, 12, 4)),
    )


_ACCESS_READ = 1 << 24  # cv::ACCESS_READ, opencv2/core/mat.hpp


class UMatMemory(DeviceMemory):
    """UMats, read and written by OpenCV's own functions."""

    memory_type = "opencv_umat"
    device = "GPU"
    allocates = True
    natives_hold = False  # OpenCV counts who holds a UMat
    dtypes = DTYPES
    fork_safe = False

    def make(self, info: TensorInfo) -> Any:
        return cv2.UMat(np.zeros(info.shape, info.dtype.carrier))  # type: ignore[call-overload]  # its stubs refuse arrays

    def layout(self, native: Any) -> TensorInfo:
        return TensorInfo.of(native.get())

    def read(self, native: Any) -> Array:
        values: Array = native.get()
        return values

    def write(self, native: Any, values: Array) -> None:
        copy_to: Any = cv2.copyTo  # untyped: its stubs want a mask
        copy_to(values, None, native)

    def region(self, native: Any, begin: int, end: int) -> Any:
        columns = native.get().shape[1]
        return cv2.UMat(native, (begin, end), (0, columns))

    def handle_of(self, native: Any) -> int:
        return int(native.handle(_ACCESS_READ))


UMATS = UMatMemory()
PICTURES = (TensorInfo("uint8", (6, 8, 3)), TensorInfo("float32", (5, 7)))


class TestUMatContext(ContextSuite):
    memory = UMATS
    singleton = False


class TestUMat(TensorSuite):
    memory = UMATS
    cases = PICTURES


class TestCpuToUMat(MapperSuite):
    source = CPU
    target = UMATS
    mapper = "samebytes_opencv._umat_mappers:CpuToUMat"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = PICTURES


class TestUMatToCpu(MapperSuite):
    source = UMATS
    target = CPU
    mapper = "samebytes_opencv._umat_mappers:UMatToCpu"
    transfer = Transfer.COPY
    accesses = ("r",)
    cases = PICTURES
