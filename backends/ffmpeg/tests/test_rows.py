# SPDX-License-Identifier: Apache-2.0
"""Planes as whole rows."""

from __future__ import annotations

import gc
from collections.abc import Callable
from ctypes import sizeof
from typing import Any

import av
import pytest

import samebytes as sb
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Refused
from samebytes_ffmpeg import whole_rows

pytestmark = pytest.mark.pyav17


@pytest.mark.parametrize("format_", ["yuv420p", "nv12", "rgb24", "bgra", "p010le", "gbrp", "gray"])
@pytest.mark.parametrize("size", [(318, 238), (64, 64), (5, 3)])
def test_rows(format_: str, size: tuple[int, int]) -> None:
    native = av.VideoFrame(*size, format_)
    found = whole_rows(native)
    assert len(found) == len(native.planes)
    for (rows, info), plane in zip(found, native.planes, strict=True):
        assert rows.shape == (plane.height, plane.line_size)
        assert rows.__array_interface__["data"][0] == plane.buffer_ptr
        assert info.shape[:2] == (plane.height, plane.width)
        assert info.strides is not None
        assert info.strides[0] == plane.line_size
        rows[-1, -1] = 3
        assert memoryview(plane)[-1] == 3


def test_they_outlive_the_frame(references: Callable[[], int]) -> None:
    native = av.VideoFrame(318, 238, "yuv420p")
    rows = [rows for rows, _ in whole_rows(native)]
    for seed, array in enumerate(rows):
        array[...] = seed + 1
    native.make_writable()
    del native
    gc.collect()
    others = [av.VideoFrame(318, 238, "yuv420p") for _ in range(4)]
    for other in others:
        for array, _ in whole_rows(other):
            array[...] = 200
    assert [array.min() for array in rows] == [array.max() for array in rows] == [1, 2, 3]
    del rows, array, others, other
    assert references() == 0


@pytest.fixture
def first_buffer(
    av_frame: Callable[[Any], Any], buffers: Callable[[Any], list[Any]]
) -> Callable[[av.VideoFrame], Any]:
    """Give the first reference of a frame to a buffer of FFmpeg, whose size can be set."""
    return lambda native: buffers(av_frame(native))[0]


def test_images_stored_bottom_up(av_frame: Callable[[Any], Any]) -> None:
    native = av.VideoFrame(64, 32, "gray")
    there = av_frame(native)
    there.data[0] += 31 * there.linesize[0]
    there.linesize[0] *= -1
    with pytest.raises(Refused, match="bottom up"):
        whole_rows(native)


def test_rows_that_reach_past_their_buffer(first_buffer: Callable[[Any], Any]) -> None:
    native = av.VideoFrame(318, 238, "yuv420p")
    reference = first_buffer(native)
    size = reference.size
    reference.size = native.planes[2].buffer_ptr - reference.data + 119 * 160 - 1
    try:
        with pytest.raises(Refused, match="plane 2 has 119 rows of 160 bytes"):
            whole_rows(native)
        reference.size += 1
        assert len(whole_rows(native)) == 3
    finally:
        reference.size = size


def test_the_memory_of_an_array_ends_with_its_buffer(
    first_buffer: Callable[[Any], Any],
) -> None:
    """A further mapping may take whole rows, and would read past the end."""
    native = av.VideoFrame(318, 238, "yuv420p")
    reference = first_buffer(native)
    size, rows = reference.size, 119 * 160
    reference.size = native.planes[2].buffer_ptr - reference.data + rows
    try:
        for missing in (0, 1):
            reference.size -= missing
            memory: Any = sb.frame(native).map("cpu").planes[2].native.base
            assert sizeof(memory) == (rows if missing == 0 else 118 * 160 + 159)
    finally:
        reference.size = size


def test_sound_has_none() -> None:
    with pytest.raises(UnsupportedObjectError, match="only images have rows"):
        whole_rows(av.AudioFrame("s16", "stereo", 64))  # type: ignore[arg-type]  # the point


def test_frames_without_planes_of_elements() -> None:
    with pytest.raises(Refused):
        whole_rows(av.VideoFrame())
