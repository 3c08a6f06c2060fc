# SPDX-License-Identifier: Apache-2.0
"""The pipeline on one memory, with samebytes.

The decoder's planes are OpenVINO's input tensors, the output tensor is OpenCV's mask, OpenCV
draws into the decoder's planes, and the encoder reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import av
import samebytes_openvino as sbo
from samebytes_ffmpeg import FFmpegFrame

import samebytes as sb
from samebytes import Frame
from samebytes.errors import CopyRequiredError

from ._boxes import Array, Box, draw_boxes
from ._detector import Detector
from ._errors import DemoError
from ._loop import Way, padded_rows, still_in_use
from ._video import Reader

__all__ = ["SamebytesWay"]


@dataclass(slots=True)
class _Held:
    """A frame, and its planes as OpenVINO has them."""

    frame: FFmpegFrame
    tensors: Frame


class SamebytesWay(Way[_Held]):
    """Maps, where others copy. The addresses are compared in every frame."""

    name = "samebytes"

    def __init__(
        self, detector: Detector, reader: Reader, *, allow_copy: bool, verify: bool = True
    ) -> None:
        super().__init__(detector, reader, allow_copy=allow_copy)
        self._verify = verify
        self._request = sbo.InferRequest(detector.compiled)
        self._copied_before = sb.stats().copied_bytes
        # Plugins are found and routes are compiled once, when first used: here, as the model is.
        scratch = sb.frame(av.VideoFrame(self.image.width, self.image.height, self.format))
        scratch.map("openvino").close()
        scratch.map("opencv", "rw").close()

    def take(self, frame: av.VideoFrame) -> _Held:
        """Three lines: this is what samebytes is for."""
        wrapped = sb.frame(frame)
        assert isinstance(wrapped, FFmpegFrame)
        return _Held(wrapped, wrapped.map("openvino"))

    def infer(self, now: _Held, before: _Held) -> Array:
        """The planes are bound, not copied; the mask is the output tensor's own memory."""
        for entry in self.detector.inputs:
            held = before if entry.age else now
            self._bind(entry.name, held, entry.plane)
        output = self._request.infer().planes[self.detector.output]
        mask: Array = output.map("opencv").native
        native = self._request.native.get_output_tensor(self.detector.output)
        self._same("the mask", _address(native.data), _address(mask))
        return mask

    def free(self, held: _Held) -> bool:
        """The decoder keeps references to the frames that it predicts others from."""
        return held.frame.writable

    def draw(self, held: _Held, boxes: Sequence[Box]) -> av.VideoFrame:
        """OpenCV writes into the planes that the encoder will read."""
        seen = [_address(plane.native.data) for plane in held.tensors]
        moves = not held.frame.writable
        try:
            held.frame.make_writable(copy=self.allow_copy)
        except CopyRequiredError:
            raise still_in_use() from None
        with held.frame.map("opencv", "rw") as picture:
            arrays = [plane.native for plane in picture]
            draw_boxes(arrays, self.image, boxes)
            native = held.frame.native
            for plane, array, tensor in zip(native.planes, arrays, seen, strict=True):
                self._same("a plane that is drawn into", plane.buffer_ptr, _address(array))
                if not moves:
                    self._same("a plane in OpenVINO and OpenCV", tensor, _address(array))
            del arrays
        return native

    def finish(self) -> None:
        """What samebytes counted is what was copied."""
        self._request.close()
        self.copied_bytes = sb.stats().copied_bytes - self._copied_before

    def _bind(self, name: str, held: _Held, number: int) -> None:
        tensor = held.tensors.planes[number]
        plane = held.frame.native.planes[number]
        try:
            self._request.set_tensor(name, tensor, copy=self.allow_copy)
        except CopyRequiredError:
            row = self.image.plane_layouts()[number].row_nbytes
            raise padded_rows(plane.line_size, row) from None
        self._same("a plane in FFmpeg and OpenVINO", plane.buffer_ptr, _address(tensor.native.data))
        bound = _address(self._request.native.get_tensor(name).data)
        if bound != plane.buffer_ptr and self.allow_copy:
            return
        self._same("the model's input", plane.buffer_ptr, bound)

    def _same(self, what: str, one: int, other: int) -> None:
        if one != other:
            raise DemoError(f"{what} lies at {one:#x} and {other:#x}: its bytes were copied")
        self.equal_addresses += 1


def _address(array: Array | Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
