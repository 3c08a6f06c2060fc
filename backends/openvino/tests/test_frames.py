# SPDX-License-Identifier: Apache-2.0
"""Frames: planes become NHWC in OpenVINO, and planes again in CPU memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, ImageInfo
from samebytes.errors import NoRouteError, RouteError
from samebytes.formats import ImageFormat, known_formats

Array = np.ndarray[Any, Any]


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def frame_of(info: ImageInfo, padding: int) -> Frame:
    """A frame whose rows have `padding` more pixels than they show."""
    planes = []
    for layout in info.plane_layouts():
        rows, columns, *channels = layout.shape
        whole = np.zeros((rows, columns + padding, *channels), layout.dtype)
        planes.append(whole[:, :columns])
    return samebytes.frame(planes, format=info.format, width=info.width, height=info.height)


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("format_", known_formats(), ids=str)
def test_every_format_both_ways(format_: ImageFormat, padding: int) -> None:
    info = ImageInfo.of(format_, 34, 18)
    frame = frame_of(info, padding)
    mapped = frame.map("openvino", "rw")
    assert mapped.meta is frame.meta
    back = mapped.map("cpu", "rw")
    assert back.meta is frame.meta
    for seed, (source, there, again) in enumerate(zip(frame, mapped, back, strict=True)):
        rows, columns, *channels = source.shape
        assert there.shape == (1, rows, columns, *(channels or [1]))
        assert tuple(there.native.shape) == there.shape
        assert address(there.native.data) == address(source.native)
        there.native.data[0, rows - 1, columns - 1, -1] = seed + 1
        assert source.native[(-1,) * source.native.ndim] == seed + 1
        assert again.shape == source.shape
        assert address(again.native) == address(source.native)
        again.native[0] = seed + 5
        assert (source.native[0] == seed + 5).all()


def test_rows_that_are_not_whole_pixels() -> None:
    pitched = np.ndarray((4, 10, 3), np.uint8, np.zeros(4 * 32, np.uint8), 0, (32, 3, 1))
    frame = samebytes.frame([pitched], format="BGR", width=10, height=4)
    with pytest.raises(RouteError, match="32 bytes are not a multiple of the 3 bytes"):
        frame.map("openvino")
    samebytes.reset_stats()
    copied = frame.map("openvino", copy=True)
    assert copied.planes[0].shape == (1, 4, 10, 3)
    assert samebytes.stats().copies == 1


def test_allocated_frames() -> None:
    frame = samebytes.context("openvino").allocate_frame("NV12", 32, 16)
    assert [p.shape for p in frame] == [(1, 16, 32, 1), (1, 8, 16, 2)]
    held = frame.planes[1].host_array()
    assert frame.close() is False
    held[...] = 3
    assert (held == 3).all()


def test_lists_of_tensors_that_numpy_cannot_carry() -> None:
    tensor = samebytes.context("openvino").allocate((2, 2), "bfloat16")
    frame = Frame.borrowed((tensor.native,), tensor.context, samebytes.FrameMeta(None), keep=tensor)
    with pytest.raises(NoRouteError, match="bfloat16 is not a numpy type"):
        frame.map("cpu")
