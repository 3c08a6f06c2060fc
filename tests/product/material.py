# SPDX-License-Identifier: Apache-2.0
"""Pictures, a video of them, and a model that finds the bright rectangle in each."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import openvino
from openvino import opset13 as ops

__all__ = [
    "FRAMES", "HEIGHT", "RATE", "WIDTH", "Planes", "in_format", "make_model", "make_video",
    "picture",
]  # fmt: skip

Planes = list[np.ndarray[Any, np.dtype[np.uint8]]]

WIDTH, HEIGHT = 148, 64
"""Of frames: rows of chroma are 74 bytes, which FFmpeg and GStreamer pad, and with the padding each
plane is a multiple of 64 bytes, which a GPU wants of memory of the CPU."""
FRAMES = 6
RATE = 25


def picture(number: int) -> Planes:
    """I420: a bright rectangle that moves over a dark ground, both with a texture."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    luma = 24 + (3 * columns + 5 * rows + 7 * number) % 32
    left, top = 8 + 6 * number, 30
    bright = np.s_[top : top + 28, left : left + 44]
    luma[bright] = 200 + (columns + rows)[bright] % 24
    rows, columns = np.mgrid[: HEIGHT // 2, : WIDTH // 2]
    chroma = [124 + (columns + number) % 8, 124 + (rows + number) % 8]
    return [plane.astype(np.uint8) for plane in (luma, *chroma)]


def in_format(planes: Planes, name: str) -> Planes:
    """The planes of an I420 picture as those of another format.

    Args:
        name: "I420", "NV12", or "BGR", whose three components are all the luma.
    """
    y, u, v = planes
    if name == "NV12":
        return [y, np.stack((u, v), -1)]
    if name == "BGR":
        return [np.repeat(y[..., None], 3, -1)]
    assert name == "I420"
    return planes


def make_video(path: Path, codec: str, container: str, frames: int = FRAMES) -> None:
    """The pictures as a video; a decoder of libx264's predicts frames from others."""
    options = {"crf": "8", "bf": "2", "g": "250"} if codec == "libx264" else {"b": "4000000"}
    with av.open(str(path), "w", format=container) as output:
        stream: Any = output.add_stream(codec, rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(frames):
            stacked = np.concatenate([plane.ravel() for plane in picture(number)])
            whole = stacked.reshape(HEIGHT * 3 // 2, WIDTH)
            frame = av.VideoFrame.from_ndarray(whole, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def make_model(width: int, height: int) -> openvino.Model:
    """Gives left, top, right and bottom of what is bright, from 0 to 1, for each image.

    Args:
        width, height: at which the model works.
    """
    image = ops.parameter([1, 3, height, width], np.float32, name="image")
    mean = ops.reduce_mean(image, ops.constant([1]))
    bright = ops.convert(ops.greater(mean, ops.constant(np.float32(128))), "f32")
    found = []
    for size, other in ((width, 1), (height, 2)):  # columns, whose maximum is over rows; then rows
        hit = ops.reduce_max(bright, ops.constant([other]))
        hit = ops.greater(hit, ops.constant(np.float32(0)))
        places = np.arange(size, dtype=np.float32)
        start, end = ops.constant(places / size), ops.constant((places + 1) / size)
        axis = ops.constant([1])
        first = ops.select(hit, start, ops.constant(np.float32(1)))
        last = ops.select(hit, end, ops.constant(np.float32(0)))
        found.append((ops.reduce_min(first, axis, True), ops.reduce_max(last, axis, True)))
    (left, right), (top, bottom) = found
    edges = ops.concat([left, top, right, bottom], 1)
    edges.set_friendly_name("edges")
    made = openvino.Model([ops.result(edges)], [image], "brightest")
    made.outputs[0].tensor.set_names({"edges"})
    return made
