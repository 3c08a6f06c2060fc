# SPDX-License-Identifier: Apache-2.0
"""Write a toy video, and a model that finds the object in it, to try the samples.

python3 samples/toy_inputs.py video.mp4 detector.xml
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import openvino
from openvino import opset13 as ops

__all__ = ["FRAMES", "HEIGHT", "WIDTH", "make_model", "make_video", "place"]

WIDTH, HEIGHT = 256, 192
FRAMES = 24


def place(number: int) -> tuple[int, int, int, int]:
    """Left, top, width and height of the bright square, which covers whole pixels of the model."""
    return 16 + 4 * number, 48, 64, 48


def make_video(path: Path) -> None:
    """Write a video of a bright square that moves over a dark background."""
    with av.open(str(path), "w") as container:
        options = {"crf": "10", "g": "250", "bf": "3"}
        stream = container.add_stream("libx264", rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(FRAMES):
            picture = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
            picture[:HEIGHT] = 30
            x, y, width, height = place(number)
            picture[y : y + height, x : x + width] = 220
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def make_model(path: Path) -> None:
    """Write a model that finds one bright rectangle, with an SSD's output: float32 [1, 1, 1, 7]."""
    size = 64
    image = ops.parameter([1, 3, size, size], np.float32, name="image")
    bright = ops.convert(
        ops.greater(ops.reduce_mean(image, ops.constant([0, 1])), ops.constant(np.float32(128))),
        "f32",
    )
    edges = []
    for other in (0, 1):  # columns, then rows
        hit = ops.greater(
            ops.reduce_max(bright, ops.constant([other])), ops.constant(np.float32(0))
        )
        start = ops.constant(np.arange(size, dtype=np.float32) / size)
        end = ops.constant((np.arange(size, dtype=np.float32) + 1) / size)
        axis = ops.constant([0])
        first = ops.select(hit, start, ops.constant(np.float32(1)))
        last = ops.select(hit, end, ops.constant(np.float32(0)))
        edges.append((ops.reduce_min(first, axis, True), ops.reduce_max(last, axis, True)))
    head = ops.constant(np.array([0, 1, 0.875], np.float32))
    (left, right), (top, bottom) = edges
    row = ops.concat([head, left, top, right, bottom], 0)
    shape = ops.constant(np.array([1, 1, 1, 7]))
    model = openvino.Model([ops.result(ops.reshape(row, shape, False))], [image], "detector")
    model.set_rt_info("ssd", ["model_info", "model_type"])  # as Model API marks the output
    openvino.save_model(model, path)


def main() -> None:
    """Write the video and the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("model", type=Path)
    args = parser.parse_args()

    make_video(args.video)
    make_model(args.model)


if __name__ == "__main__":
    main()
