# SPDX-License-Identifier: Apache-2.0
"""Mapping against the native call that a user would write by hand."""

from __future__ import annotations

import av
import numpy as np
import openvino as ov

import samebytes as sb

from .measure import Row, compare

__all__ = ["frame_rows", "tensor_rows"]

SIZES = ((64, 64), (318, 238), (1920, 1080), (7680, 4320))


def tensor_rows() -> list[Row]:
    """Tensors: identity, map, and tensor() with map()."""
    rows = []
    array = np.zeros((1, 1080, 1920, 3), np.uint8)
    tensor = sb.tensor(array)
    rows.append(compare("cpu -> cpu (identity), against ndarray.view()",
                        array.view, lambda: tensor.map("cpu", "rw")))  # fmt: skip
    rows.append(Row("cpu -> cpu (identity)", None, rows[0].ours, None, 0.5))
    for height, width in ((64, 64), (1080, 1920), (4320, 7680)):
        big = np.zeros((1, height, width, 3), np.uint8)
        wrapped = sb.tensor(big)
        native = lambda a=big: ov.Tensor(a, shared_memory=True)  # noqa: E731 - bound per size
        rows.append(
            compare(
                f"cpu -> openvino, {width}x{height}",
                native,
                lambda t=wrapped: t.map("openvino"),
                1.5,
            )  # fmt: skip
        )
        rows.append(
            compare(
                f"tensor() + map(), {width}x{height}",
                native,
                lambda a=big: sb.tensor(a).map("openvino"),
                1.7,
            )  # fmt: skip
        )
    made = ov.Tensor(array, shared_memory=True)
    back = sb.tensor(made)
    rows.append(compare("openvino -> cpu", lambda: made.data, lambda: back.map("cpu")))
    rows.append(compare("cpu -> opencv, against ndarray.view()", array[0].view,
                        lambda t=sb.tensor(array[0]): t.map("opencv")))  # fmt: skip
    return rows


def by_hand(frame: av.VideoFrame) -> list[tuple[ov.Tensor, ov.Tensor]]:
    """Three OpenVINO tensors over the planes; each pair keeps what its ROI lies in."""
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


def frame_rows() -> list[Row]:
    """Frames: the joined edge, and the two hops it joins."""
    rows = []
    two_hops = sb.route("ffmpeg", "openvino", level="frame", via=[sb.context("cpu")])
    for width, height in SIZES:
        av_frame = av.VideoFrame(width, height, "yuv420p")
        frame = sb.frame(av_frame)
        native = lambda f=av_frame: by_hand(f)  # noqa: E731 - bound per size
        name = f"I420 {width}x{height}"
        rows += [
            compare(f"ffmpeg -> openvino joined, {name}", native,
                    lambda f=frame: list(f.map("openvino")), 1.6),
            compare(f"frame() + map(), {name}", native,
                    lambda f=av_frame: list(sb.frame(f).map("openvino"))),
            compare(f"ffmpeg -> cpu -> openvino, {name}", native,
                    lambda f=frame: list(two_hops.map(f)), 1.6),
        ]  # fmt: skip
    return rows
