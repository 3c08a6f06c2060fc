# SPDX-License-Identifier: Apache-2.0
"""A model of 300x300 pixels on decoded frames: image_model beside what is written by hand.

`python3 -m tests.bench.images` prints by how much the pixels of each way differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import av
import cv2
import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

import samebytes as sb
import samebytes_opencv
import samebytes_openvino as sbo

from .measure import Row, interleaved

__all__ = ["differences", "image_rows"]

SIZES = ((640, 360), (1920, 1080), (3840, 2160))
FORMATS = ("yuv420p", "nv12")
_SIDE = 300
# One thread: what a way costs, not how well it spreads.
_CONFIG = {"INFERENCE_NUM_THREADS": 1}
# Of PrePostProcessor's time; of the copying idiom's, for planes resized by OpenCV.
_TARGETS = {640: (1.0, 1.0), 1920: (0.35, 1.0), 3840: (0.15, 1.0)}
Array = np.ndarray[Any, Any]


@cache
def core() -> Any:
    """One for all."""
    return ov.Core()


def network(echo: bool = False) -> Any:
    """A small convolution, about 1 ms of work; or the image itself."""
    x = ops.parameter([1, 3, _SIDE, _SIDE], np.float32, name="image")
    if echo:
        end = ops.relu(x)
    else:
        kernel = np.random.default_rng(0).standard_normal((8, 3, 8, 8)).astype(np.float32)
        seen = ops.convolution(x, ops.constant(kernel), [8, 8], [0, 0], [0, 0], [1, 1])
        end = ops.reduce_mean(ops.relu(seen), ops.constant(np.array([2, 3])))
    model = ov.Model([ops.result(end)], [x])
    model.inputs[0].tensor.set_names({"image"})
    return model


def noise(width: int, height: int, format_: str) -> av.VideoFrame:
    """A frame of random planes."""
    frame = av.VideoFrame(width, height, format_)
    random = np.random.default_rng(1)
    for plane in frame.planes:
        plane.update(random.integers(0, 256, plane.buffer_size, np.uint8).tobytes())
    return frame


def smooth(width: int, height: int, format_: str) -> av.VideoFrame:
    """A frame of slow gradients with some text, as pictures are."""
    x, y = np.arange(width) / width, np.arange(height)[:, None] / height
    channels = (90 + 120 * x + 0 * y, 60 + 100 * y + 0 * x, 200 - 80 * x * y)
    image = np.stack(channels, -1).astype(np.uint8)
    scale = height / 200
    cv2.putText(image, "samebytes", (width // 10, height // 2), cv2.FONT_HERSHEY_SIMPLEX, scale,
                (230, 240, 250), max(1, height // 90))  # fmt: skip
    return av.VideoFrame.from_ndarray(image, format="bgr24").reformat(format=format_)


def by_preprocessor(frame: av.VideoFrame, model: Any) -> Callable[[], Array]:
    """OpenVINO's PrePostProcessor on the planes, without samebytes."""
    color, names, channels = {
        "nv12": (ColorFormat.NV12_TWO_PLANES, ["y", "uv"], (1, 2)),
        "yuv420p": (ColorFormat.I420_THREE_PLANES, ["y", "u", "v"], (1, 1, 1)),
    }[frame.format.name]
    processor = PrePostProcessor(model)
    image = processor.input()
    tensor = image.tensor().set_element_type(ov.Type.u8).set_color_format(color, names)
    tensor.set_spatial_static_shape(frame.height, frame.width)
    steps = image.preprocess().convert_color(ColorFormat.BGR)
    steps.convert_element_type(ov.Type.f32).resize(ResizeAlgorithm.RESIZE_LINEAR)
    image.model().set_layout(ov.Layout("NCHW"))
    request = core().compile_model(processor.build(), "CPU", _CONFIG).create_infer_request()

    def run() -> Array:
        tensors = []
        for plane, count in zip(frame.planes, channels, strict=True):
            buffer: Any = plane
            rows = np.frombuffer(buffer, np.uint8).reshape(1, plane.height, -1, count)
            tensors.append(ov.Tensor(rows, shared_memory=True))
        for index, tensor in enumerate(tensors):
            request.set_input_tensor(index, tensor)
        request.infer()
        result: Array = request.get_output_tensor(0).data
        return result

    return run


def by_copying(frame: av.VideoFrame, model: Any) -> Callable[[], Array]:
    """The usual idiom: to BGR, resized, float, transposed."""
    request = core().compile_model(model, "CPU", _CONFIG).create_infer_request()

    def run() -> Array:
        image = cv2.resize(frame.to_ndarray(format="bgr24"), (_SIDE, _SIDE))
        batch = np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32)
        request.infer([batch], share_inputs=True)
        result: Array = request.get_output_tensor(0).data
        return result

    return run


def by_image_model(frame: av.VideoFrame, model: Any, resize: Any = None) -> Callable[[], Array]:
    """samebytes, from the decoder's frame on."""
    made = sbo.image_model(model, sb.frame(frame), config=_CONFIG, resize=resize)

    def run() -> Array:
        return made.infer(sb.frame(frame)).planes[0].host_array()

    return run


def image_rows() -> list[Row]:
    """Milliseconds of CPU time for each frame, the minima of rounds taken in turns."""
    rows = []
    for width, height in SIZES:
        for format_ in FORMATS:
            frame = noise(width, height, format_)
            ways = {
                "preprocessor": by_preprocessor(frame, network()),
                "copying": by_copying(frame, network()),
                "ours": by_image_model(frame, network()),
                "resize": by_image_model(frame, network(), samebytes_opencv.resize),
            }
            least = {name: 1e3 * seconds for name, seconds in interleaved(ways).items()}
            name = f"{frame.format.name} {width}x{height}"
            inside, resized = _TARGETS[width]
            rows += [
                _row(f"image_model, against PrePostProcessor, {name}", least, "preprocessor",
                     "ours", inside),
                _row(f"image_model, against to_ndarray + resize, {name}", least, "copying", "ours"),
                _row(f"resize=, against to_ndarray + resize, {name}", least, "copying", "resize",
                     resized),
            ]  # fmt: skip
    return rows


def _row(
    name: str, least: dict[str, float], other: str, mine: str, target: float | None = None
) -> Row:
    theirs, ours = least[other], least[mine]
    return Row(name, theirs, ours, ours / theirs, target, "ms")


def differences() -> list[str]:
    """By how much the pixels differ from PrePostProcessor's, at 1080p, a line for each way."""
    lines = []
    for format_ in FORMATS:
        for what, make in (("picture", smooth), ("noise", noise)):
            frame = make(1920, 1080, format_)
            want = by_preprocessor(frame, network(True))().copy()
            ways = {
                "image_model": by_image_model(frame, network(True)),
                "resize=": by_image_model(frame, network(True), samebytes_opencv.resize),
                "copying": by_copying(frame, network(True)),
            }
            for name, run in ways.items():
                away = np.abs(run() - want)
                lines.append(
                    f"{format_:8} {what:8} {name:12} max {away.max():6.2f}  mean {away.mean():6.3f}"
                )
    return lines


if __name__ == "__main__":
    print("\n".join(differences()))
