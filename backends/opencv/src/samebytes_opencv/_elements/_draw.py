# SPDX-License-Identifier: Apache-2.0
"""opencv.draw: the regions of a frame, drawn into it."""

from __future__ import annotations

from typing import Annotated, Any

from samebytes import Frame
from samebytes.elements import Doc, Image, Range, TransformInplace

from ._drawing import FORMATS, Paint, draw, line_width

__all__ = ["OpenCVDraw"]


class OpenCVDraw(TransformInplace):
    """Draws the boxes of `frame.regions`, with a description of each, into the frame's own planes.

    A label is written at each: "person 0.93 #7 red" for a person with that confidence, the number 7
    of a tracker (`ObjectId`), and "red" from a `Classification`.

    In YUV the edges of boxes are those of whole chroma pixels. Parts outside the picture are left
    out. Colours are computed for the frame's range and matrix.

    Raises:
        LayoutError: a frame's matrix is none of `samebytes.formats.LUMA_WEIGHTS`, and the colour
            is not a gray.
    """

    name = "opencv.draw"
    takes = Image(FORMATS, memory="opencv", access="rw")
    concurrent = True

    color: Annotated[
        tuple[int, int, int], Range(0, 255), Doc("red, green and blue, each 0 to 255")
    ] = (255, 208, 0)
    line: Annotated[
        int | None, Range(1, 100), Doc("pixels of the lines; None for what suits the size")
    ] = None
    labels: Annotated[bool, Doc("write label, confidence, number, classes")] = True

    def process(self, frame: Frame[Any]) -> None:
        """Draw."""
        regions = frame.regions
        if not regions:
            return
        image = frame.image
        planes = [plane.native for plane in frame.planes]
        line = self.line or line_width(image)
        draw(planes, image, regions, Paint(self.color, frame), line, self.labels)
