# SPDX-License-Identifier: Apache-2.0
"""PyAV as producer and as consumer: legacy capsules, and calls without arguments."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from samebytes import CpuTensor, dtype
from samebytes.errors import ExportError

if TYPE_CHECKING:
    import av
else:
    av = pytest.importorskip("av", reason="missing package av: pip install av")

U8 = dtype("uint8")


def nv12(width: int = 62, height: int = 46) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pitched planes of one frame."""
    y = np.zeros((height, 64), np.uint8)[:, :width]
    uv = np.zeros((height // 2, 32, 2), np.uint8)[:, : width // 2]
    return y, uv


@pytest.mark.parametrize("index", [0, 1])
def test_the_planes_of_a_frame(index: int) -> None:
    frame = av.VideoFrame(62, 46, "nv12")
    plane = frame.planes[index]
    got = CpuTensor.wrap(plane)
    assert got.native.ctypes.data == plane.buffer_ptr
    assert got.shape == ((46, 62), (23, 31, 2))[index]
    assert got.native.strides[0] == plane.line_size
    assert got.dtype is U8
    assert got.readonly
    plane.update(bytes(plane.buffer_size))
    memoryview(plane)[plane.line_size] = 77
    assert got.native[0].reshape(-1)[0] == 0
    assert got.native[1].reshape(-1)[0] == 77


def test_a_plane_outlives_its_frame() -> None:
    frame = av.VideoFrame(62, 46, "gray")
    memoryview(frame.planes[0])[0] = 55
    kept = CpuTensor.wrap(frame.planes[0]).native[:1]
    del frame
    gc.collect()
    for _ in range(10):
        memoryview(av.VideoFrame(62, 46, "gray").planes[0])[0] = 99
    assert kept[0, 0] == 55


def test_a_frame_over_exported_planes(exporter: Callable[..., Any]) -> None:
    y, uv = nv12()
    frame = av.VideoFrame.from_dlpack((exporter(y, U8), exporter(uv, U8)), format="nv12")
    assert [p.buffer_ptr for p in frame.planes] == [y.ctypes.data, uv.ctypes.data]
    assert [p.line_size for p in frame.planes] == [64, 64]
    memoryview(frame.planes[1])[65] = 7
    assert uv[1, 0, 1] == 7
    y[1, 0] = 9
    assert memoryview(frame.planes[0])[64] == 9


def test_exported_planes_live_as_long_as_the_frame(exporter: Callable[..., Any]) -> None:
    y, uv = nv12()
    alive = [weakref.ref(a) for a in (y, uv)]
    frame = av.VideoFrame.from_dlpack((exporter(y, U8), exporter(uv, U8)), format="nv12")
    del y, uv
    gc.collect()
    assert all(a() is not None for a in alive)
    plane = frame.planes[0]
    del frame
    gc.collect()
    memoryview(plane)[0] = 1
    del plane
    gc.collect()
    assert [a() for a in alive] == [None, None]


def test_read_only_planes_do_not_become_a_writable_frame(exporter: Callable[..., Any]) -> None:
    y, uv = nv12()
    with pytest.raises(ExportError, match="read-only"):
        av.VideoFrame.from_dlpack((exporter(y, U8, readonly=True), exporter(uv, U8)), format="nv12")
