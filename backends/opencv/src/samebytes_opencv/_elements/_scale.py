# SPDX-License-Identifier: Apache-2.0
"""opencv.scale: frames of another size."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from samebytes import Frame
from samebytes.elements import Doc, FrameInfo, Image, Range, Transform
from samebytes.metadata import meta_of_warped

from .._resize import METHODS, resize
from ._drawing import FORMATS
from ._pools import Pools

__all__ = ["OpenCVScale"]


class OpenCVScale(Transform):
    """Scales each plane of a frame into a new frame in memory of the CPU, with the same format.

    Times and metadata go along; regions are scaled. The new frames come from a pool, and are used
    again when nothing holds them.
    """

    name = "opencv.scale"
    takes = Image(FORMATS, memory="opencv")
    gives = Image(FORMATS, memory="cpu")

    width: Annotated[int, Range(1, 32768), Doc("of the new frames, in pixels")]
    height: Annotated[int, Range(1, 32768), Doc("of the new frames, in pixels")]
    method: Annotated[
        Literal["linear", "area", "nearest", "cubic"], Doc("area is best for much smaller ones")
    ] = "linear"
    pool: Annotated[int, Range(1), Doc("how many new frames of a format there are at most")] = 32

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._pools = Pools(self.name, self.width, self.height, self.pool)

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """The same frames in another size, in memory of the CPU."""
        return replace(given, memory="cpu", width=self.width, height=self.height, pool=None)

    def process(self, frame: Frame[Any]) -> Frame[Any]:
        """The frame in the new size."""
        made = self._pools.acquire(frame.image.format.name)
        method = METHODS[self.method]
        for source, target in zip(frame.planes, made.planes, strict=True):
            resize(source.native, target.native, method)
        made.meta = meta_of_warped(frame, self.width, self.height)
        return made

    def close(self) -> None:
        """Let go of the pools."""
        super().close()
        self._pools.close()
