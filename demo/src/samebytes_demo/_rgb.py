# SPDX-License-Identifier: Apache-2.0
"""Three ways to run an RGB model on decoded frames, as a reader would write them.

Each way takes a decoded frame and returns the model's output. They differ in how the frame becomes
the small picture that the model takes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import av
import cv2
import numpy as np
import openvino
from av.video.reformatter import ColorRange
from openvino.preprocess import PrePostProcessor

import samebytes as sb
import samebytes_opencv
import samebytes_openvino as sbo
from samebytes.formats import COLOR_MATRICES

from ._boxes import Array
from ._net import Network
from ._reader import Picture

__all__ = ["ByHandRgb", "CopyingRgb", "RgbWay", "SamebytesRgb", "why_not_by_hand"]

_TO_BGR = np.array(
    [
        [1.164, 2.018, 0, -1.164 * 16 - 2.018 * 128],
        [1.164, -0.391, -0.813, -1.164 * 16 + (0.391 + 0.813) * 128],
        [1.164, 0, 1.596, -1.164 * 16 - 1.596 * 128],
    ],
    np.float32,
)
"""BT.601 in limited range, which FFmpeg and OpenVINO assume for frames without a declaration."""

_UNSPECIFIED = 2
_BT_601 = (_UNSPECIFIED, COLOR_MATRICES["bt470bg"], COLOR_MATRICES["smpte170m"])


class RgbWay(ABC):
    """One way to run the model.

    Attributes:
        name: the name of the way.
        made_bytes: the bytes of the pictures that it made between decoder and model so far.
    """

    name: str
    made_bytes: int = 0

    @abstractmethod
    def __init__(self, network: Network, picture: Picture) -> None:
        """Compile the model for such frames."""

    @abstractmethod
    def infer(self, frame: av.VideoFrame) -> Array:
        """The model's first output for a frame, valid until the next call."""


class SamebytesRgb(RgbWay):
    """With samebytes: planes are resized in place; the colour conversion is part of the model."""

    name = "samebytes"

    def __init__(self, network: Network, picture: Picture) -> None:
        self.model = sbo.image_model(
            network.model,
            sb.frame(picture.blank()),
            device=network.device,
            layout=network.layout,
            resize=samebytes_opencv.resize,
            config=network.config,
        )
        ports = self.model.compiled.inputs
        self._nbytes = sum(port.get_element_type().size * math.prod(port.shape) for port in ports)

    def infer(self, frame: av.VideoFrame) -> Array:
        """Run the model, in one call."""
        self.made_bytes += self._nbytes  # the resized planes are the model's inputs
        output: Array = self.model.infer(sb.frame(frame)).planes[0].map("cpu").native
        return output


class ByHandRgb(RgbWay):
    """The same without samebytes: views on the planes, resized, and converted when they are small.

    It is for Y, U and V in limited range of BT.601; others need other code.
    """

    name = "by hand"

    def __init__(self, network: Network, picture: Picture) -> None:
        self._size = network.size
        self._channels = [plane.channels for plane in picture.image.format.planes]
        self._request = _compile(network).create_infer_request()

    def infer(self, frame: av.VideoFrame) -> Array:
        """Run the model after np.frombuffer, cv2.resize of each plane, cv2.merge, cv2.transform."""
        small = []
        planes: list[Any] = list(frame.planes)  # PyAV's stubs do not declare that they are buffers
        for plane, channels in zip(planes, self._channels, strict=True):
            rows = np.frombuffer(plane, np.uint8).reshape(plane.height, -1, channels)
            small.append(cv2.resize(rows[:, : plane.width], self._size))
        yuv = cv2.merge(small)
        bgr = cv2.transform(yuv, _TO_BGR)
        self.made_bytes += sum(plane.nbytes for plane in small) + yuv.nbytes + bgr.nbytes
        tensor = openvino.Tensor(bgr[None], shared_memory=True)
        self._request.set_input_tensor(tensor)
        self._request.infer()
        output: Array = self._request.get_output_tensor(0).data
        return output


class CopyingRgb(RgbWay):
    """The usual idiom: the whole frame becomes a BGR picture, which is then resized."""

    name = "copying"

    def __init__(self, network: Network, picture: Picture) -> None:
        self._size = network.size
        self._request = _compile(network).create_infer_request()

    def infer(self, frame: av.VideoFrame) -> Array:
        """Run the model on the array from to_ndarray and cv2.resize."""
        bgr = frame.to_ndarray(format="bgr24")
        small = cv2.resize(bgr, self._size)
        self.made_bytes += bgr.nbytes + small.nbytes
        self._request.infer({0: small[None]}, share_inputs=True)
        output: Array = self._request.get_output_tensor(0).data
        return output


def why_not_by_hand(picture: Picture) -> str | None:
    """None if `ByHandRgb` takes such frames, else the reason why not."""
    names = "".join(picture.image.format.plane_names)
    if names != "yuv" or picture.format.startswith("yuvj"):
        return f"it was written for Y, U and V in limited range, and these are {picture.format}"
    range_, matrix = picture.colors
    if range_ == ColorRange.JPEG or matrix not in _BT_601:
        return "it was written for BT.601 in limited range, and these frames say something else"
    return None


def _compile(network: Network) -> Any:
    """Compile for pictures of 8-bit BGR and of the model's own size, as OpenCV makes them."""
    processor = PrePostProcessor(network.model.clone())
    image = processor.input()
    image.tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
    image.model().set_layout(openvino.Layout(network.layout))
    return openvino.Core().compile_model(processor.build(), network.device, network.config)
