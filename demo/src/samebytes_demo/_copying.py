# SPDX-License-Identifier: Apache-2.0
"""The same pipeline in the idiom that the frameworks' documentation shows, which copies.

`to_ndarray()` copies the frame, `openvino.Tensor(array)` copies the array, and
`from_ndarray()` copies the drawn picture into a new frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import av
import numpy as np
import openvino

from ._boxes import Array, Box, draw_boxes
from ._detector import Detector
from ._loop import LoopWay
from ._reader import Picture

__all__ = ["CopyingWay", "why_not"]

_ONE_ARRAY = ("yuv420p", "yuvj420p", "yuv422p", "nv12", "gray")


def why_not(picture: Picture) -> str | None:
    """None if PyAV turns such frames into arrays and back, else the reason why not."""
    image, name = picture.image, picture.format
    if name not in _ONE_ARRAY:
        return f"PyAV does not turn frames of {name} into one array and back"
    if name != "gray" and (image.width % 2 or image.height % 2):
        return f"PyAV's to_ndarray() takes no odd sizes of {name}"
    return None


@dataclass(slots=True)
class _Held:
    """A copy of a frame, and OpenVINO's copies of the planes that the model reads."""

    frame: av.VideoFrame
    array: Array
    planes: list[Array]
    tensors: dict[int, Any]


class CopyingWay(LoopWay[_Held]):
    """The way that copies between every two steps. Its frames are its own, so none has to wait."""

    name = "copying"

    def __init__(self, detector: Detector, picture: Picture, *, allow_copy: bool = True) -> None:
        super().__init__(detector, picture, allow_copy=allow_copy)
        self._request = detector.compiled.create_infer_request()
        self._layouts = self.image.packed_layouts()
        self._read = {entry.plane for entry in detector.inputs}

    def take(self, frame: av.VideoFrame) -> _Held:
        """Make two copies: the frame, and then each plane that the model reads."""
        array: Array = frame.to_ndarray()
        if self.picture.format == "gray":
            # PyAV does not copy a single plane: it gives a view of the decoder's frame.
            array = array.copy()
        planes: list[Array] = [
            np.ndarray(p.shape, p.dtype, array, p.offset, p.strides) for p in self._layouts
        ]
        tensors = {}
        for number in self._read:
            plane = planes[number]
            image = plane[None] if plane.ndim == 3 else plane[None, :, :, None]
            tensors[number] = openvino.Tensor(image)
            self.copied_bytes += plane.nbytes
        self.copied_bytes += array.nbytes
        return _Held(frame, array, planes, tensors)

    def infer(self, now: _Held, before: _Held) -> Array:
        """Run the model, and copy its output, as is usual."""
        for entry in self.detector.inputs:
            held = before if entry.age else now
            self._request.set_tensor(entry.name, held.tensors[entry.plane])
        self._request.infer(share_outputs=True)
        output: Array = self._request.get_output_tensor(self.detector.output).data.copy()
        self.copied_bytes += output.nbytes
        return output

    def free(self, held: _Held) -> bool:
        """True: the frame is a copy."""
        return True

    def draw(self, held: _Held, boxes: Sequence[Box]) -> av.VideoFrame:
        """Draw into the copy, and copy it into a new frame."""
        draw_boxes(held.planes, self.image, boxes)
        frame = av.VideoFrame.from_ndarray(held.array, format=self.picture.format)
        frame.pts, frame.time_base = held.frame.pts, held.frame.time_base
        self.copied_bytes += held.array.nbytes
        return frame
