# SPDX-License-Identifier: Apache-2.0
"""The pipeline on one memory, with samebytes.

The decoder's planes are OpenVINO's input tensors, on the CPU, a GPU or an NPU; the output tensor
is OpenCV's mask, OpenCV draws into the decoder's planes, and the encoder reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import av
import numpy as np

import samebytes as sb
import samebytes_openvino as sbo
from samebytes import Frame, Tensor
from samebytes.errors import CopyRequiredError
from samebytes_ffmpeg import FFmpegFrame

from ._boxes import Array, Box, draw_boxes
from ._detector import Detector
from ._loop import Way, still_in_use
from ._reader import Picture

__all__ = ["Held", "SamebytesWay"]


@dataclass(slots=True)
class Held:
    """A frame, planes of it by their numbers as OpenVINO has them, and what was mapped."""

    frame: FFmpegFrame
    tensors: dict[int, Tensor]
    source: Frame | Tensor


class SamebytesWay(Way[Held]):
    """Maps, where others copy."""

    name = "samebytes"

    def __init__(self, detector: Detector, picture: Picture, *, allow_copy: bool) -> None:
        super().__init__(detector, picture, allow_copy=allow_copy)
        # A device is given its tensors in the context on which the model was compiled.
        self._memory = detector.compiled.context or "openvino"
        # An NPU imports every page once: planes that the model does not read are left out.
        context = detector.compiled.context
        on_npu = context is not None and context.node == "openvino:NPU"
        self._by_plane = picture.padded or on_npu
        self._read = sorted({entry.plane for entry in detector.inputs})
        self.request = sbo.InferRequest(detector.compiled)
        self._copied_before = sb.stats().copied_bytes
        # Plugins are found and routes are compiled once, when first used: here, as the model is.
        blank = self.take(picture.blank())
        self.routes = (
            sb.route(blank.source, self._memory),
            sb.route(self.request.get_output_tensor(detector.output), detector.read_in),
            sb.route(blank.frame, "opencv", access="rw"),
        )
        self.draw(blank, ())

    def take(self, frame: av.VideoFrame) -> Held:
        """Two calls: this is what samebytes is for. Padded rows are taken whole."""
        wrapped = sb.frame(frame)
        assert isinstance(wrapped, FFmpegFrame)
        if self._by_plane:
            rows = {number: self._whole_rows(frame, number) for number in self._read}
            tensors = {number: row.map(self._memory) for number, row in rows.items()}
            return Held(wrapped, tensors, rows[self._read[0]])
        return Held(wrapped, dict(enumerate(wrapped.map(self._memory).planes)), wrapped)

    def infer(self, now: Held, before: Held) -> Array:
        """The planes are bound, not copied; the mask is the output tensor's own memory."""
        for entry in self.detector.inputs:
            held = before if entry.age else now
            self.request.set_tensor(entry.name, held.tensors[entry.plane])
        self.request.infer()
        output = self.request.get_output_tensor(self.detector.output)
        mask: Array = output.map(self.detector.read_in).native
        return mask

    def free(self, held: Held) -> bool:
        """The decoder keeps references to the frames that it predicts others from."""
        return held.frame.writable

    def draw(self, held: Held, boxes: Sequence[Box]) -> av.VideoFrame:
        """OpenCV writes into the planes that the encoder will read."""
        frame = held.frame
        if not frame.writable:
            # A copy puts the frame elsewhere, away from the tensors.
            held.tensors, held.source = {}, frame
        try:
            frame.make_writable(copy=self.allow_copy)
        except CopyRequiredError:
            raise still_in_use() from None
        with frame.map("opencv", "rw") as picture:
            self.paint(held, [plane.native for plane in picture], boxes)
        assert isinstance(frame.native, av.VideoFrame)
        return frame.native

    def paint(self, held: Held, mats: Sequence[Array], boxes: Sequence[Box]) -> None:
        """Draw into OpenCV's arrays over the planes."""
        draw_boxes(mats, self.image, boxes)

    def copied(self) -> int:
        """What samebytes counted is what was copied."""
        return sb.stats().copied_bytes - self._copied_before

    def finish(self) -> None:
        """Close the request."""
        self.request.close()

    def _whole_rows(self, frame: av.VideoFrame, number: int) -> Tensor:
        plane: Any = frame.planes[number]  # PyAV's stubs do not declare that it is a buffer
        channels = self.image.format.planes[number].channels
        return sb.tensor(np.frombuffer(plane, np.uint8).reshape(1, plane.height, -1, channels))
