# SPDX-License-Identifier: Apache-2.0
"""Mapping against the native call that a user would write by hand."""

from __future__ import annotations

from typing import Any

import av
import numpy as np
import openvino as ov
from openvino import opset13 as ops

import samebytes as sb
import samebytes_openvino as sbo

from .measure import Row, compare, plain

__all__ = ["frame_rows", "tensor_rows"]

SIZES = ((64, 64), (318, 238), (1920, 1080), (7680, 4320))


def tensor_rows() -> list[Row]:
    """Tensors: identity, map, and tensor() with map()."""
    array = np.zeros((1, 1080, 1920, 3), np.uint8)
    tensor = sb.tensor(array)
    identity = compare(
        "cpu -> cpu (identity), against ndarray.view()",
        array.view,
        lambda: tensor.map("cpu", "rw"),
    )
    rows = [identity, Row("cpu -> cpu (identity)", None, identity.ours, None, 0.5)]
    for height, width in ((64, 64), (1080, 1920), (4320, 7680)):
        rows += _to_openvino(np.zeros((1, height, width, 3), np.uint8), f"{width}x{height}")
    made = ov.Tensor(array, shared_memory=True)
    back = sb.tensor(made)
    scores = ov.Tensor(np.zeros((1, 1000), np.float32), shared_memory=True)
    output = sb.tensor(scores)
    rows += [
        compare("openvino -> cpu, uint8, against tensor.data", lambda: made.data,
                lambda: back.map("cpu", "rw"), 2),
        compare("openvino -> cpu, float32, against tensor.data", lambda: scores.data,
                lambda: output.map("cpu", "rw"), 2),
    ]  # fmt: skip
    picture = array[0]
    mat = sb.tensor(picture)
    rows.append(
        compare("cpu -> opencv, against ndarray.view()", picture.view, lambda: mat.map("opencv"))
    )
    rows.append(plain("cpu -> opencv", lambda: mat.map("opencv"), 1))
    return [*rows, *_exchanged(), *_bound()]


def _bound() -> list[Row]:
    """A tensor as an input of a request."""
    array = np.zeros((1, 1080, 1920, 3), np.uint8)
    x = ops.parameter(array.shape, np.uint8, name="x")
    x.output(0).set_names({"x"})
    model = ov.Model([ops.result(ops.reduce_max(x, ops.constant(np.array([1, 2, 3]))))], [x])
    compiled = ov.Core().compile_model(model, "CPU")
    native, ours = compiled.create_infer_request(), sbo.InferRequest(compiled)
    made = ov.Tensor(array, shared_memory=True)
    tensor, host = sb.tensor(made), sb.tensor(array)

    def by_hand() -> None:
        native.set_tensor("x", ov.Tensor(array, shared_memory=True))

    return [
        compare("set_tensor() by name", lambda: native.set_tensor("x", made),
                lambda: ours.set_tensor("x", tensor), 1.2),
        compare("set_input_tensor() by index", lambda: native.set_input_tensor(0, made),
                lambda: ours.set_input_tensor(0, tensor), 1.2),
        compare("set_tensor() of an openvino.Tensor", lambda: native.set_tensor("x", made),
                lambda: ours.set_tensor("x", made)),
        compare("set_tensor() of a CPU tensor", by_hand, lambda: ours.set_tensor("x", host), 1.2),
        compare("set_tensor() of an array", by_hand, lambda: ours.set_tensor("x", array)),
    ]  # fmt: skip


class _Foreign:
    """An object of a library that samebytes does not know, with DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _exchanged() -> list[Row]:
    """DLPack both ways, each with the arguments that consumers pass, and tensor() itself."""
    array = np.zeros((1080, 1920, 3), np.uint8)
    tensor, foreign = sb.tensor(array), _Foreign(array)
    asked: Any = {"max_version": (1, 0), "dl_device": None, "copy": None}
    rows = [
        compare("tensor(array), against array.view()", array.view, lambda: sb.tensor(array)),
        compare("__dlpack__ of a tensor, against the array's",
                lambda: array.__dlpack__(**asked), lambda: tensor.__dlpack__(**asked), 2),
        compare("np.from_dlpack(tensor), against that of the array",
                lambda: np.from_dlpack(array), lambda: np.from_dlpack(tensor), 2),
        compare("tensor() of a foreign object, against np.from_dlpack",
                lambda: np.from_dlpack(foreign), lambda: sb.tensor(foreign), 6),
    ]  # fmt: skip
    try:
        import torch
    except ImportError:
        return rows
    rows.append(
        compare("torch.from_dlpack(tensor), against that of the array",
                lambda: torch.from_dlpack(array), lambda: torch.from_dlpack(tensor), 2)
    )  # fmt: skip
    return rows


def _to_openvino(array: np.ndarray[Any, Any], size: str) -> list[Row]:
    tensor = sb.tensor(array)

    def native() -> object:
        return ov.Tensor(array, shared_memory=True)

    def both() -> object:
        return sb.tensor(array).map("openvino")

    return [
        compare(f"cpu -> openvino, {size}", native, lambda: tensor.map("openvino"), 1.3),
        compare(f"tensor() + map(), {size}", native, both, 1.5),
    ]


def by_hand(frame: av.VideoFrame) -> list[tuple[ov.Tensor, ov.Tensor]]:
    """Three OpenVINO tensors over the planes; each pair keeps what its ROI lies in."""
    tensors = []
    for plane in frame.planes:
        buffer: Any = plane  # the stubs of Python 3.11 cannot name the buffer protocol
        full = np.frombuffer(buffer, np.uint8).reshape(1, plane.height, plane.line_size, 1)
        whole = ov.Tensor(full, shared_memory=True)
        if plane.line_size == plane.width:
            tensors.append((whole, whole))
        else:
            roi = ov.Tensor(whole, [0, 0, 0, 0], [1, plane.height, plane.width, 1])
            tensors.append((whole, roi))
    return tensors


def frame_rows() -> list[Row]:
    """Frames: the joined edge, and the two hops it joins."""
    return [*(row for width, height in SIZES for row in _of_size(width, height)), *_of_one_frame()]


def _of_one_frame() -> list[Row]:
    """What a program asks of each frame besides."""
    frame = sb.frame(av.VideoFrame(1920, 1080, "yuv420p"))
    held = sb.frame(av.VideoFrame(1920, 1080, "yuv420p"))
    mapped = held.map("cpu")
    rows = [
        plain("FFmpegFrame.readonly", lambda: frame.readonly, 3),
        plain("FFmpegFrame.readonly, while it is mapped", lambda: held.readonly, 3),
        plain("ffmpeg -> cpu, map and close", lambda: frame.map("cpu").close(), 20),
        plain("ffmpeg -> cpu, a block with access rw", lambda: _block(frame), 20),
    ]
    mapped.close()
    return rows


def _block(frame: sb.Frame) -> None:
    with frame.map("cpu", "rw"):
        pass


def _of_size(width: int, height: int) -> list[Row]:
    av_frame = av.VideoFrame(width, height, "yuv420p")
    frame = sb.frame(av_frame)
    two_hops = sb.route("ffmpeg", "openvino", level="frame", via=[sb.context("cpu")])
    name = f"I420 {width}x{height}"

    def native() -> object:
        return by_hand(av_frame)

    return [
        compare(f"ffmpeg -> openvino joined, {name}", native,
                lambda: list(frame.map("openvino")), 1.25),
        compare(f"frame() + map(), {name}", native,
                lambda: list(sb.frame(av_frame).map("openvino")), 1.6),
        compare(f"ffmpeg -> cpu -> openvino, {name}", native,
                lambda: list(two_hops.map(frame)), 1.6),
    ]  # fmt: skip
