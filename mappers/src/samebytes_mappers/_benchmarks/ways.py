# SPDX-License-Identifier: Apache-2.0
"""The edges that join two backends."""

from __future__ import annotations

from typing import Any

import numpy as np

import samebytes as sb
from samebytes.benchmarks import Ways, along, check_way

__all__ = ["joined", "to_umat", "two_hops", "wrapped_and_joined"]


def _by_hand(frame: Any) -> list[Any]:
    """Three OpenVINO tensors over the planes; each pair keeps the whole tensor of its ROI."""
    import openvino as ov

    tensors = []
    for plane in frame.planes:
        full = np.frombuffer(plane, np.uint8).reshape(1, plane.height, plane.line_size, 1)
        whole = ov.Tensor(full, shared_memory=True)
        if plane.line_size == plane.width:
            tensors.append((whole, whole))
        else:
            roi = ov.Tensor(whole, [0, 0, 0, 0], [1, plane.height, plane.width, 1])
            tensors.append((whole, roi))
    return tensors


def _by_copying(frame: Any) -> list[Any]:
    """The usual idiom: one array of all planes, and a tensor over it."""
    import openvino as ov

    return [ov.Tensor(frame.to_ndarray()[None])]


def _frame(width: int, height: int) -> Any:
    import av

    return av.VideoFrame(width, height, "yuv420p")


def joined(width: int, height: int) -> Ways:
    """A frame that is already wrapped."""
    native = _frame(width, height)
    frame = sb.frame(native)
    check_way("ffmpeg -> openvino frame alias", frame, "openvino")
    return Ways(
        ours=lambda: list(frame.map("openvino")),
        by_hand=lambda: _by_hand(native),
        copying=lambda: _by_copying(native),
    )


def wrapped_and_joined(width: int, height: int) -> Ways:
    """A frame as the decoder gives it."""
    native = _frame(width, height)
    return Ways(
        ours=lambda: list(sb.frame(native).map("openvino")),
        by_hand=lambda: _by_hand(native),
        copying=lambda: _by_copying(native),
    )


def two_hops(width: int, height: int) -> Ways:
    """The same mapping in two hops through the CPU, to show what the joined edge saves."""
    native = _frame(width, height)
    frame = sb.frame(native)
    route = sb.route("ffmpeg", "openvino", level="frame", via=[sb.context("cpu")])
    return Ways(
        ours=lambda: list(route.map(frame)),
        by_hand=lambda: _by_hand(native),
        copying=lambda: _by_copying(native),
    )


def to_umat(width: int, height: int) -> Ways:
    """A copy by the device. cv2 has no call that takes a cl_mem."""
    target: Any = sb.context("opencv_umat")
    cl = target.derive("opencl")
    buffer = cl.allocate((height, width, 3))
    go = along("opencl -> opencv_umat tensor copy", buffer, target)
    return Ways(ours=lambda: go(buffer))
