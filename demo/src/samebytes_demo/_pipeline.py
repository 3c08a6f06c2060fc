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
from ._errors import DemoError
from ._loop import Way, still_in_use
from ._video import Picture

__all__ = ["SamebytesWay"]


@dataclass(slots=True)
class _Held:
    """A frame, planes of it by their numbers as OpenVINO has them, and what was mapped."""

    frame: FFmpegFrame
    tensors: dict[int, Tensor]
    source: Frame | Tensor


class SamebytesWay(Way[_Held]):
    """Maps, where others copy.

    Args:
        verify: compare the addresses in every frame, and stop where they differ.
    """

    name = "samebytes"

    def __init__(
        self, detector: Detector, picture: Picture, *, allow_copy: bool, verify: bool = True
    ) -> None:
        super().__init__(detector, picture, allow_copy=allow_copy)
        self._verify = verify
        # A device is given its tensors in the context on which the model was compiled.
        self._memory = detector.compiled.context or "openvino"
        # An NPU imports every page once: planes that the model does not read are left out.
        context = detector.compiled.context
        on_npu = context is not None and context.node == "openvino:NPU"
        self._by_plane = picture.padded or on_npu
        self._read = sorted({entry.plane for entry in detector.inputs})
        self._request = sbo.InferRequest(detector.compiled)
        self._copied_before = sb.stats().copied_bytes
        # Plugins are found and routes are compiled once, when first used: here, as the model is.
        blank = self.take(picture.blank())
        self.routes = (
            sb.route(blank.source, self._memory),
            sb.route(self._request.get_output_tensor(detector.output), detector.read_in),
            sb.route(blank.frame, "opencv", access="rw"),
        )
        self.draw(blank, ())
        self.equal_addresses = 0

    def take(self, frame: av.VideoFrame) -> _Held:
        """Two calls: this is what samebytes is for. Padded rows go the way of _padding.py."""
        wrapped = sb.frame(frame)
        assert isinstance(wrapped, FFmpegFrame)
        if self._by_plane:
            rows = {number: self._whole_rows(frame, number) for number in self._read}
            tensors = {number: row.map(self._memory) for number, row in rows.items()}
            return _Held(wrapped, tensors, rows[self._read[0]])
        return _Held(wrapped, dict(enumerate(wrapped.map(self._memory).planes)), wrapped)

    def infer(self, now: _Held, before: _Held) -> Array:
        """The planes are bound, not copied; the mask is the output tensor's own memory."""
        for entry in self.detector.inputs:
            held = before if entry.age else now
            self._request.set_tensor(entry.name, held.tensors[entry.plane])
            if self._verify:
                self._check_input(entry.name, held, entry.plane)
        self._request.infer()
        output = self._request.get_output_tensor(self.detector.output)
        mask: Array = output.map(self.detector.read_in).native
        if self._verify and mask.size:  # numpy gives arrays without elements an address of its own
            native = self._request.native.get_output_tensor(self.detector.output)
            self._same("the output", [_address(native.data)], [_address(mask)])
        return mask

    def free(self, held: _Held) -> bool:
        """The decoder keeps references to the frames that it predicts others from."""
        return held.frame.writable

    def draw(self, held: _Held, boxes: Sequence[Box]) -> av.VideoFrame:
        """OpenCV writes into the planes that the encoder will read."""
        frame, tensors = held.frame, held.tensors
        if not frame.writable:
            # A copy puts the frame elsewhere, away from the tensors.
            tensors = held.tensors = {}
            held.source = frame
        try:
            frame.make_writable(copy=self.allow_copy)
        except CopyRequiredError:
            raise still_in_use() from None
        with frame.map("opencv", "rw") as picture:
            draw_boxes([plane.native for plane in picture], self.image, boxes)
            if self._verify:
                mats = [_address(plane.native) for plane in picture]
                planes = [plane.buffer_ptr for plane in frame.native.planes]
                self._same("a plane in FFmpeg and OpenCV", planes, mats)
                if tensors:
                    seen = [tensor.handle("data") for tensor in tensors.values()]
                    self._same("a plane in OpenVINO and OpenCV", seen, [mats[n] for n in tensors])
        assert isinstance(frame.native, av.VideoFrame)
        return frame.native

    def finish(self) -> None:
        """What samebytes counted is what was copied."""
        self._request.close()
        self.copied_bytes = sb.stats().copied_bytes - self._copied_before

    def _whole_rows(self, frame: av.VideoFrame, number: int) -> Tensor:
        plane: Any = frame.planes[number]  # PyAV's stubs do not tell that it is a buffer
        channels = self.image.format.planes[number].channels
        return sb.tensor(np.frombuffer(plane, np.uint8).reshape(1, plane.height, -1, channels))

    def _check_input(self, name: str, held: _Held, number: int) -> None:
        plane = held.frame.native.planes[number].buffer_ptr
        tensor = held.tensors[number].handle("data")
        bound = self._request.get_tensor(name).handle("data")
        self._same("a plane in FFmpeg and OpenVINO", [plane, tensor], [tensor, bound])

    def _same(self, what: str, some: list[int], others: list[int]) -> None:
        if some != others:
            raise DemoError(f"{what} lies at {some} and {others}: bytes were copied")
        self.equal_addresses += len(some)


def _address(array: Array | Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
