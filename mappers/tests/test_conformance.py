# SPDX-License-Identifier: Apache-2.0
"""The edges between two backends in the suites that every backend inherits."""

from __future__ import annotations

from typing import Any

import av
import numpy as np

from samebytes import ImageInfo
from samebytes.testing import MapperSuite, Memory, PluginSuite

Array = np.ndarray[Any, Any]

NAMES = {"NV12": "nv12", "I420": "yuv420p", "GRAY8": "gray", "BGRX": "bgr0", "P010": "p010le"}
FORMATS = {name: ours for ours, name in NAMES.items()}


class FFmpegMemory(Memory):
    """Frames that FFmpeg allocated, as PyAV shows them."""

    memory_type = "ffmpeg"
    readonly_enforced = False

    def make_frame(self, image: ImageInfo) -> Any:
        return av.VideoFrame(image.width, image.height, NAMES[str(image.format)])

    def views(self, native: Any) -> tuple[Array, ...]:
        image = ImageInfo.of(FORMATS[native.format.name], native.width, native.height)
        return tuple(
            np.ndarray(p.shape, p.dtype, plane, strides=(plane.line_size, *p.strides[1:]))
            for plane, p in zip(native.planes, image.plane_layouts(), strict=True)
        )


class OpenVINOMemory(Memory):
    """Planes as tensors [1, rows, columns, channels]."""

    memory_type = "openvino"
    readonly_enforced = False

    def plane_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (1, *shape) if len(shape) == 3 else (1, *shape, 1)

    def views(self, native: Any) -> tuple[Array, ...]:
        arrays: list[Array] = [tensor.data for tensor in native]
        return tuple(a[0, :, :, 0] if a.shape[-1] == 1 else a[0] for a in arrays)


class TestPlugin(PluginSuite):
    plugin = "mappers"
    probes = False


class TestFFmpegToOpenVINO(MapperSuite):
    source = FFmpegMemory()
    target = OpenVINOMemory()
    cases = (
        ImageInfo.of("NV12", 64, 32),
        ImageInfo.of("I420", 47, 31),
        ImageInfo.of("P010", 16, 8),
        ImageInfo.of("BGRX", 40, 24),
        ImageInfo.of("GRAY8", 5, 3),
    )
