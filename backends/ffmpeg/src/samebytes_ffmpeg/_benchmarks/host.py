# SPDX-License-Identifier: Apache-2.0
"""Frames in memory."""

from __future__ import annotations

from typing import Any

import av
import numpy as np
from av.video.reformatter import VideoReformatter

import samebytes as sb
from samebytes.benchmarks import Ways, check_way

__all__ = [
    "asked",
    "asked_while_mapped",
    "from_cpu",
    "plane_to_cpu",
    "to_cpu",
    "to_half_rgb",
    "to_rgb",
]


def _array_of(plane: Any) -> np.ndarray[Any, Any]:
    rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
    return rows[:, : plane.width]


def to_cpu(width: int, height: int) -> Ways:
    """All planes."""
    native = av.VideoFrame(width, height, "yuv420p")
    frame = sb.frame(native)
    check_way("ffmpeg -> cpu frame alias", frame, "cpu")
    return Ways(
        ours=lambda: frame.map("cpu").close(),
        by_hand=lambda: [_array_of(plane) for plane in native.planes],
        copying=native.to_ndarray,
    )


def plane_to_cpu(width: int, height: int) -> Ways:
    """One plane."""
    native = av.VideoFrame(width, height, "yuv420p")
    plane = sb.frame(native).planes[0]
    check_way("ffmpeg -> cpu tensor alias", plane, "cpu")
    return Ways(
        ours=lambda: plane.map("cpu"),
        by_hand=lambda: _array_of(native.planes[0]),
        copying=lambda: _array_of(native.planes[0]).copy(),
    )


def from_cpu(width: int, height: int) -> Ways:
    """A frame over planes that may be anywhere. By hand they must follow each other."""
    whole = np.ones((height * 3 // 2, width), np.uint8)
    planes = [whole[:height], whole[height:].reshape(height // 2, width // 2, 2)]
    frame = sb.frame(planes, format="NV12", width=width, height=height)
    check_way("cpu -> ffmpeg frame alias", frame, "ffmpeg")
    return Ways(
        ours=lambda: frame.map("ffmpeg"),
        by_hand=lambda: av.VideoFrame.from_numpy_buffer(whole, format="nv12"),
        copying=lambda: av.VideoFrame.from_ndarray(whole, format="nv12"),
    )


def asked(width: int, height: int) -> Ways:
    """The attribute `readonly`, which a pipeline reads of each frame."""
    frame = sb.frame(av.VideoFrame(width, height, "yuv420p"))
    return Ways(ours=lambda: frame.readonly)


def asked_while_mapped(width: int, height: int) -> Ways:
    """The same while samebytes itself has references to the planes."""
    frame = sb.frame(av.VideoFrame(width, height, "yuv420p"))
    mapped = frame.map("cpu")
    return Ways(ours=lambda: (frame.readonly, mapped))


def to_rgb(width: int, height: int) -> Ways:
    """A conversion to RGB of the same size."""
    return _converting(width, height, width, height)


def to_half_rgb(width: int, height: int) -> Ways:
    """A conversion to RGB of half the size."""
    return _converting(width, height, width // 2, height // 2)


def _converting(width: int, height: int, new_width: int, new_height: int) -> Ways:
    native = av.VideoFrame(width, height, "yuv420p")
    for plane in sb.frame(native).map("cpu", "w"):
        plane.native[...] = np.random.default_rng(0).integers(0, 256, plane.shape)
    kept = VideoReformatter()
    size = new_width, new_height
    # Older versions have one thread, and no argument for it.
    one: dict[str, Any] = {"threads": 1} if "threads" in (kept.reformat.__doc__ or "") else {}
    return Ways(
        ours=lambda: sb.frame(native).convert("RGB24", *size),
        by_hand=lambda: kept.reformat(native, *size, "rgb24", **one),
        copying=lambda: kept.reformat(native, *size, "rgb24", **one).to_ndarray(),
        cpu_time=True,
    )
