# SPDX-License-Identifier: Apache-2.0
"""The FFmpeg backend in the suites that every backend inherits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import av
import numpy as np
import pytest

from samebytes import ImageInfo, TensorInfo
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

NAMES = {"NV12": "nv12", "I420": "yuv420p", "GRAY8": "gray", "BGR": "bgr24", "P010": "p010le",
         "BGRA": "bgra", "I444": "yuv444p"}  # fmt: skip
FORMATS = {name: ours for ours, name in NAMES.items()}


class FFmpegMemory(Memory):
    """Frames in memory that FFmpeg allocated, as PyAV shows them."""

    memory_type = "ffmpeg"
    readonly_enforced = False
    allocates_frames = True
    natives_hold = False  # FFmpeg counts who holds a buffer
    counters: ClassVar[dict[str, Callable[[], int]]] = {}

    def native_counts(self) -> dict[str, int]:
        return {name: count() for name, count in self.counters.items()}

    def make_frame(self, image: ImageInfo) -> Any:
        return av.VideoFrame(image.width, image.height, NAMES[str(image.format)])

    def views(self, native: Any) -> tuple[Array, ...]:
        image = ImageInfo.of(native.format.name, native.width, native.height)
        return tuple(
            np.ndarray(
                layout.shape,
                layout.dtype,
                memoryview(plane),
                strides=(plane.line_size, *layout.strides[1:]),
            )
            for plane, layout in zip(native.planes, image.plane_layouts(), strict=True)
        )


@pytest.fixture(autouse=True)
def counters(references: Callable[[], int], lent: Callable[[], int]) -> None:
    """The suites find leaks by these."""
    FFmpegMemory.counters = {"references": references, "lent buffers": lent}


class LentMemory(FFmpegMemory):
    """Frames over memory of somebody else's, by PyAV's own ways."""

    def make_frame(self, image: ImageInfo) -> Any:
        return Memory.make_frame(self, image)

    def frame_over(self, arrays: Sequence[Array], image: ImageInfo) -> Any:
        name = NAMES[str(image.format)]
        if name == "bgr24":
            return av.VideoFrame.from_numpy_buffer(arrays[0], name)
        return av.VideoFrame.from_dlpack(
            tuple(arrays), format=name, width=image.width, height=image.height
        )


class PlaneMemory(FFmpegMemory):
    """Single planes: those of grey images."""

    def make(self, info: TensorInfo) -> Any:
        rows, columns = info.shape
        return av.VideoFrame(columns, rows, "gray").planes[0]

    def view(self, native: Any) -> Array:
        rows, columns = native.height, native.width
        return np.ndarray((rows, columns), np.uint8, native, strides=(native.line_size, 1))


CPU = ArrayMemory()
OWN = FFmpegMemory()
LENT = LentMemory()
IMAGES = (
    ImageInfo.of("NV12", 64, 32),
    ImageInfo.of("I420", 48, 32),
    ImageInfo.of("BGR", 40, 24),
    ImageInfo.of("GRAY8", 5, 3),
)
MORE_IMAGES = (
    *IMAGES,
    ImageInfo.of("I420", 47, 31),
    ImageInfo.of("P010", 16, 8),
    ImageInfo.of("BGRA", 40, 24),
    ImageInfo.of("I444", 9, 7),
)
GREY = (TensorInfo("uint8", (6, 8)), TensorInfo("uint8", (31, 47)))


class TestPlugin(PluginSuite):
    plugin = "ffmpeg"


class TestFrames(FrameSuite):
    memory = OWN
    cases = MORE_IMAGES


class TestLentFrames(FrameSuite):
    memory = LENT
    cases = IMAGES


class TestPlanes(TensorSuite):
    memory = PlaneMemory()
    cases = GREY


class TestFFmpegToCpu(MapperSuite):
    source = OWN
    target = CPU
    cases = MORE_IMAGES


class TestLentFFmpegToCpu(MapperSuite):
    source = LENT
    target = CPU
    cases = IMAGES


class TestCpuToFFmpeg(MapperSuite):
    source = CPU
    target = OWN
    cases = MORE_IMAGES


class TestPlaneToCpu(MapperSuite):
    source = PlaneMemory()
    target = CPU
    cases = GREY


class TestContext(ContextSuite):
    memory = OWN
