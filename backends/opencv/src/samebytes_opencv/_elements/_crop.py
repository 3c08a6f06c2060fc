# SPDX-License-Identifier: Apache-2.0
"""opencv.crop: a part of each frame, in the same memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from samebytes import Frame
from samebytes.elements import Doc, FrameInfo, Image, Range, Transform

__all__ = ["OpenCVCrop"]


class OpenCVCrop(Transform):
    """Gives a part of each frame, over the same bytes: `Frame.crop`. Nothing is copied.

    Times go along; regions are moved and cut. An AffineTransform leads from the part to the frame
    that it was cut from.

    Raises:
        LayoutError: the rectangle reaches beyond the picture, or splits chroma samples, and `fit`
            is False.
    """

    name = "opencv.crop"
    takes = Image(memory="cpu")
    gives = Image(memory="cpu")
    concurrent = True

    x: Annotated[int, Range(0), Doc("pixels from the left")]
    y: Annotated[int, Range(0), Doc("pixels from the top")]
    width: Annotated[int, Range(1), Doc("of the part, in pixels")]
    height: Annotated[int, Range(1), Doc("of the part, in pixels")]
    fit: Annotated[
        bool, Doc("take what lies inside of the picture, widened to whole chroma samples")
    ] = False
    writable: Annotated[
        bool, Doc("elements after it write: wait until a decoder has released the frame")
    ] = False

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if self.writable:
            vars(self)["takes"] = Image(memory="cpu", access="rw")

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """The same frames in another size, which is known with the first frame if it is fitted."""
        size = (None, None) if self.fit else (self.width, self.height)
        return replace(given, width=size[0], height=size[1], pool=None)

    def process(self, frame: Frame[Any]) -> Frame[Any]:
        """The part."""
        return frame.crop(self.x, self.y, self.width, self.height, fit=self.fit)
