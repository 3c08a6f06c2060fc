# SPDX-License-Identifier: Apache-2.0
"""The same pipeline on one memory, written by hand without samebytes, as a yardstick.

PyAV, OpenVINO and OpenCV allow this to programmers who know their traps: what each call keeps alive
(OpenVINO keeps nothing), what it copies silently, and which views dangle when a frame moves.
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
from ._loop import LoopWay, still_in_use
from ._reader import Picture

__all__ = ["NativeWay"]


@dataclass(slots=True)
class _Held:
    """A frame, and the tensors over the planes that the model reads."""

    frame: av.VideoFrame
    tensors: list[Any]


class NativeWay(LoopWay[_Held]):
    """Views on the planes, kept alive by hand.

    PyAV does not report whether a decoder still refers to a frame. So every frame waits for the
    whole length of the delay line, and a pointer that moved reveals a copy afterwards.
    """

    name = "by hand"

    def __init__(self, detector: Detector, picture: Picture, *, allow_copy: bool) -> None:
        super().__init__(detector, picture, allow_copy=allow_copy)
        self._request = detector.compiled.create_infer_request()

    def take(self, frame: av.VideoFrame) -> _Held:
        """Make a tensor of every plane."""
        rows = self._whole_rows(frame)
        return _Held(frame, [openvino.Tensor(r[None], shared_memory=True) for r in rows])

    def infer(self, now: _Held, before: _Held) -> Array:
        """Run the model. The caller must hold both frames until the next inference."""
        for entry in self.detector.inputs:
            held = before if entry.age else now
            self._request.set_tensor(entry.name, held.tensors[entry.plane])
        # Without share_outputs the output is copied.
        self._request.infer(share_outputs=True)
        output: Array = self._request.get_output_tensor(self.detector.output).data
        return output

    def free(self, held: _Held) -> bool:
        """False: it cannot be known."""
        return False

    def draw(self, held: _Held, boxes: Sequence[Box]) -> av.VideoFrame:
        """Draw into the planes. Views from before make_writable() would dangle: drop them first."""
        frame = held.frame
        held.tensors.clear()
        address = frame.planes[0].buffer_ptr
        frame.make_writable()
        views = self._views(frame)
        if frame.planes[0].buffer_ptr != address:
            if not self.allow_copy:
                raise still_in_use()
            self.copied_bytes += sum(view.nbytes for view in views)
        draw_boxes(views, self.image, boxes)
        return frame

    def _views(self, frame: av.VideoFrame) -> list[Array]:
        rows = self._whole_rows(frame)
        planes = zip(rows, frame.planes, strict=True)
        used = [row[:, : plane.width] for row, plane in planes]
        return [u[:, :, 0] if u.shape[2] == 1 else u for u in used]

    def _whole_rows(self, frame: av.VideoFrame) -> list[Array]:
        """An array [rows, columns, channels] of each plane, including columns that only pad."""
        planes: list[Any] = list(frame.planes)  # PyAV's stubs do not declare that they are buffers
        return [
            np.frombuffer(plane, np.uint8).reshape(plane.height, -1, layout.channels)
            for plane, layout in zip(planes, self.image.format.planes, strict=True)
        ]
