# SPDX-License-Identifier: Apache-2.0
"""Frames with a negative linesize, as FFmpeg's own vflip filter makes them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.filter
import numpy as np
import pytest

import samebytes as sb


def _flipped(native: av.VideoFrame) -> av.VideoFrame:
    graph = av.filter.Graph()
    source = graph.add_buffer(
        width=native.width, height=native.height, format=native.format, time_base=Fraction(1, 30)
    )
    flip, sink = graph.add("vflip"), graph.add("buffersink")
    source.link_to(flip)
    flip.link_to(sink)
    graph.configure()
    graph.push(native)
    flipped = graph.pull()
    assert isinstance(flipped, av.VideoFrame)
    return flipped


def _filled(name: str, width: int = 37, height: int = 22) -> tuple[av.VideoFrame, list[Any]]:
    native = av.VideoFrame(width, height, name)
    noise = np.random.default_rng(0)
    copies = []
    for array in sb.frame(native).map("cpu", "w").native:
        array[...] = noise.integers(0, 250, array.shape)
        copies.append(array.copy())
    return native, copies


@pytest.mark.parametrize("name", ["yuv420p", "nv12", "rgb24", "gray16le", "gbrp", "yuyv422"])
class TestVflip:
    def test_rows_come_in_falling_order(self, name: str) -> None:
        native, copies = _filled(name)
        flipped = _flipped(native)
        assert all(p.line_size < 0 for p in flipped.planes)
        arrays = sb.frame(flipped).map("cpu").native
        for array, copy, plane in zip(arrays, copies, flipped.planes, strict=True):
            assert array.strides[0] == plane.line_size
            assert array.ctypes.data == plane.buffer_ptr
            np.testing.assert_array_equal(array, copy[::-1])

    @pytest.mark.pyav17
    def test_it_is_the_memory_of_the_frame_before(self, name: str) -> None:
        native, copies = _filled(name)
        flipped = _flipped(native)
        upright = sb.frame(native).map("cpu").native
        del native
        for array, before in zip(sb.frame(flipped).map("cpu").native, upright, strict=True):
            assert array[-1].ctypes.data == before[0].ctypes.data
        assert len(copies) == len(upright)

    def test_it_goes_back_as_it_came(self, name: str) -> None:
        native, copies = _filled(name)
        flipped = _flipped(native)
        mapped = sb.frame(flipped).map("cpu").map("ffmpeg")
        assert [p.line_size for p in mapped.native.planes] == [p.line_size for p in flipped.planes]
        assert [p.buffer_ptr for p in mapped.native.planes] == [
            p.buffer_ptr for p in flipped.planes
        ]
        twice = sb.frame(_flipped(mapped.native)).map("cpu").native
        for array, copy in zip(twice, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_the_last_byte_of_a_decoded_frame_is_reached(clip: Path) -> None:
    with av.open(str(clip)) as container:
        native = next(container.decode(video=0))
    upright = [a.copy() for a in sb.frame(native).map("cpu").native]
    arrays = sb.frame(_flipped(native)).map("cpu").native
    for array, copy in zip(arrays, upright, strict=True):
        np.testing.assert_array_equal(array[::-1], copy)
