# SPDX-License-Identifier: Apache-2.0
"""The pipeline with samebytes, with a check of addresses and writes at every step.

It runs in its own pass, which is not timed, since the checks cost more than the mappings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import openvino

from ._boxes import Array, Box
from ._detector import Detector
from ._errors import DemoError
from ._pipeline import Held, SamebytesWay
from ._reader import Picture

__all__ = ["VerifyingWay"]


class VerifyingWay(SamebytesWay):
    """Compares addresses and writes bytes in every frame, and ends the run at a difference.

    Raises:
        DemoError: from `infer` and `paint`, if bytes turn out to have been copied.
    """

    def __init__(self, detector: Detector, picture: Picture, *, allow_copy: bool) -> None:
        super().__init__(detector, picture, allow_copy=allow_copy)
        # Without the counts of the frame that was made for the routes.
        self.equal_addresses = self.writes_seen = 0

    def infer(self, now: Held, before: Held) -> Array:
        """Check that the planes are where FFmpeg put them, and the mask where OpenVINO wrote it."""
        mask = super().infer(now, before)
        for entry in self.detector.inputs:
            held = before if entry.age else now
            plane = held.frame.native.planes[entry.plane].buffer_ptr
            tensor = held.tensors[entry.plane].handle("data")
            bound = self.request.get_tensor(entry.name).handle("data")
            self._same("a plane in FFmpeg and OpenVINO", [plane, tensor], [tensor, bound])
        if mask.size:  # numpy gives arrays without elements a dummy address
            native = self.request.native.get_output_tensor(self.detector.output)
            self._same("the output", [_address(native.data)], [_address(mask)])
        return mask

    def paint(self, held: Held, mats: Sequence[Array], boxes: Sequence[Box]) -> None:
        """Draw the boxes, and check that FFmpeg and OpenVINO read what OpenCV writes."""
        super().paint(held, mats, boxes)
        places = [_address(mat) for mat in mats]
        planes = [plane.buffer_ptr for plane in held.frame.native.planes]
        self._same("a plane in FFmpeg and OpenCV", planes, places)
        if held.tensors:
            seen = [tensor.handle("data") for tensor in held.tensors.values()]
            self._same("a plane in OpenVINO and OpenCV", seen, [places[n] for n in held.tensors])
        for number, mat in enumerate(mats):
            self._write_through(held, number, mat)

    def _same(self, what: str, some: list[int], others: list[int]) -> None:
        if some != others:
            raise DemoError(f"{what} lies at {some} and {others}: bytes were copied")
        self.equal_addresses += len(some)

    def _write_through(self, held: Held, number: int, mat: Array) -> None:
        """Change a plane's first element by OpenCV, check that others see it, and undo it."""
        before = [int(value) for value in np.atleast_1d(mat[0, 0])]
        plane: Any = held.frame.native.planes[number]  # PyAV's stubs hide that it is a buffer
        seen = {"FFmpeg": np.frombuffer(plane, np.uint8)[: len(before)]}
        native = held.tensors[number].native if number in held.tensors else None
        # The CPU cannot read tensors of a device: there, addresses must suffice.
        if isinstance(native, openvino.Tensor):
            seen["OpenVINO"] = native.data[0, 0, 0]  # a view; padded rows have no flat one
        _dot(mat, [255 - value for value in before])
        for name, element in seen.items():
            if [255 - int(value) for value in element] != before:
                raise DemoError(f"{name} does not see what OpenCV wrote: bytes were copied")
            self.writes_seen += 1
        _dot(mat, before)


def _dot(mat: Array, colour: list[int]) -> None:
    cv2.rectangle(mat, (0, 0), (0, 0), colour, cv2.FILLED)


def _address(array: Array | Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
