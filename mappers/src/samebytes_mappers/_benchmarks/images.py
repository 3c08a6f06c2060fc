# SPDX-License-Identifier: Apache-2.0
"""A model of 300x300 pixels on decoded frames: image_model beside handwritten code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
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
from samebytes.benchmarks import Ways

__all__ = [
    "by_copying", "by_image_model", "by_preprocessor", "inside_i420", "inside_nv12", "network",
    "noise", "resized_i420", "resized_nv12",
]  # fmt: skip

_SIDE = 300
# One thread, to measure what a way costs and not how well it scales.
_CONFIG = {"INFERENCE_NUM_THREADS": 1}
Array = np.ndarray[Any, Any]


@cache
def _core() -> Any:
    return ov.Core()


def network(echo: bool = False) -> Any:
    """A model with a small convolution, about 1 ms of work; or one that returns the image."""
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
    request = _core().compile_model(processor.build(), "CPU", _CONFIG).create_infer_request()

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
    request = _core().compile_model(model, "CPU", _CONFIG).create_infer_request()

    def run() -> Array:
        image = cv2.resize(frame.to_ndarray(format="bgr24"), (_SIDE, _SIDE))
        batch = np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32)
        request.infer([batch], share_inputs=True)
        result: Array = request.get_output_tensor(0).data
        return result

    return run


def by_image_model(frame: av.VideoFrame, model: Any, resize: Any = None) -> Callable[[], Array]:
    """samebytes' image_model on the decoder's frame."""
    made = sbo.image_model(model, sb.frame(frame), config=_CONFIG, resize=resize)

    def run() -> Array:
        return made.infer(sb.frame(frame)).planes[0].host_array()

    return run


def _inside(format_: str, width: int, height: int) -> Ways:
    """Conversion of colour and size, both inside the model."""
    frame = noise(width, height, format_)
    return Ways(
        ours=by_image_model(frame, network()),
        by_hand=by_preprocessor(frame, network()),
        copying=by_copying(frame, network()),
        cpu_time=True,
    )


def _resized(format_: str, width: int, height: int) -> Ways:
    """Planes resized outside the model. By hand and copying are the same: nothing else is usual."""
    frame = noise(width, height, format_)
    return Ways(
        ours=by_image_model(frame, network(), samebytes_opencv.resize),
        by_hand=by_copying(frame, network()),
        cpu_time=True,
    )


inside_i420, inside_nv12 = partial(_inside, "yuv420p"), partial(_inside, "nv12")
resized_i420, resized_nv12 = partial(_resized, "yuv420p"), partial(_resized, "nv12")
