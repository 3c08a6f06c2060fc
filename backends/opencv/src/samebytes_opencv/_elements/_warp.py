# SPDX-License-Identifier: Apache-2.0
"""opencv.warp: frames that are turned, sheared, moved or cut out, by an affine transform."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import cv2
import numpy as np

from samebytes import Frame
from samebytes.elements import Doc, FrameInfo, Image, Range, Transform
from samebytes.errors import LayoutError
from samebytes.metadata import AffineTransform, meta_of_warped

from .._resize import METHODS
from ._drawing import FORMATS, Paint
from ._pools import Pools

__all__ = ["OpenCVWarp"]

_Array = np.ndarray[Any, Any]


class OpenCVWarp(Transform):
    """Warps each plane of a frame into a new frame in memory of the CPU, with the same format.

    Times go along. Regions are new ones, around the corners of the old ones in the new picture, and
    cut to it. An AffineTransform leads from the new picture to the frame. The area outside the
    frame gets the colour, computed for the frame's range and matrix.

    Raises:
        LayoutError: a frame's matrix is none of `samebytes.formats.LUMA_WEIGHTS`, and the colour
            is not a gray.
        MetadataError: the matrix has no inverse: all would be one line or point of the frame.
    """

    name = "opencv.warp"
    takes = Image(FORMATS, memory="opencv")
    gives = Image(FORMATS, memory="cpu")

    width: Annotated[int, Range(1, 32766), Doc("of the new frames, in pixels")]
    height: Annotated[int, Range(1, 32766), Doc("of the new frames, in pixels")]
    matrix: Annotated[
        tuple[float, float, float, float, float, float],
        Doc(
            "as of AffineTransform: from points of the new picture, 0 to 1, to points of the frame"
        ),
    ]
    method: Annotated[Literal["linear", "nearest", "cubic"], Doc("between pixels")] = "linear"
    color: Annotated[
        tuple[int, int, int], Range(0, 255), Doc("red, green, blue of what is outside the frame")
    ] = (0, 0, 0)
    pool: Annotated[int, Range(1), Doc("how many new frames of a format there are at most")] = 32

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._pools = Pools(self.name, self.width, self.height, self.pool)

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """The same frames in another size, in memory of the CPU."""
        AffineTransform(self.matrix).inverse()
        return replace(given, memory="cpu", width=self.width, height=self.height, pool=None)

    def process(self, frame: Frame[Any]) -> Frame[Any]:
        """The new picture."""
        made = self._pools.acquire(frame.image.format.name)
        paint = Paint(self.color, frame)
        for names, source, target in zip(
            frame.image.format.plane_names, frame.planes, made.planes, strict=True
        ):
            ground, method = paint.ground(names), METHODS[self.method]
            _warp(source.native, target.native, self.matrix, method, ground)
        transform = AffineTransform(self.matrix)
        made.meta = meta_of_warped(frame, self.width, self.height, transform)
        return made

    def close(self) -> None:
        """Let go of the pools."""
        super().close()
        self._pools.close()


def _warp(
    source: _Array, target: _Array, matrix: tuple[float, ...], method: int, ground: list[float]
) -> None:
    rows, columns = target.shape[:2]
    across, down = source.shape[1], source.shape[0]
    # From the middle of each pixel of the target to pixels of the source, counted by their middles.
    a, b, c = matrix[0] * across / columns, matrix[1] * across / rows, matrix[2] * across
    d, e, f = matrix[3] * down / columns, matrix[4] * down / rows, matrix[5] * down
    pixels = np.array([[a, b, c + (a + b - 1) / 2], [d, e, f + (d + e - 1) / 2]])
    result: Any = cv2.warpAffine(
        source, pixels, (columns, rows), dst=target, flags=method | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_CONSTANT, borderValue=ground,
    )  # fmt: skip
    if result.__array_interface__["data"] != target.__array_interface__["data"]:
        raise LayoutError("OpenCV wrote to its own memory, not to the new frame")
