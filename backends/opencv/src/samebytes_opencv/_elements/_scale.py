# SPDX-License-Identifier: Apache-2.0
"""opencv.scale: frames of another size."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import cv2

import samebytes
from samebytes import Frame, Region
from samebytes.elements import Doc, FrameInfo, FramePool, Image, Range, Transform

from .._resize import resize
from ._drawing import FORMATS

__all__ = ["OpenCVScale"]

_METHODS = {
    "linear": cv2.INTER_LINEAR,
    "area": cv2.INTER_AREA,
    "nearest": cv2.INTER_NEAREST,
    "cubic": cv2.INTER_CUBIC,
}


class OpenCVScale(Transform):
    """Scales each plane of a frame into a new frame in memory of the CPU, with the same format.

    Times and metadata go along; regions are scaled. The new frames are those of a pool, used again
    when nobody holds them.
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
        self._pools: dict[str, FramePool] = {}

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """The same in another size, in memory of the CPU."""
        return replace(given, memory="cpu", width=self.width, height=self.height, pool=None)

    def process(self, frame: Frame[Any]) -> Frame[Any]:
        """The frame in the new size."""
        made = self._pool_of(frame.image.format.name).acquire()
        method = _METHODS[self.method]
        for source, target in zip(frame.planes, made.planes, strict=True):
            resize(source.native, target.native, method)
        meta = made.meta
        meta.pts, meta.time_base = frame.meta.pts, frame.meta.time_base
        meta.metadata.update(frame.metadata)
        across, down = self.width / frame.width, self.height / frame.height
        meta.regions.extend(_scaled(region, across, down) for region in frame.regions)
        return made

    def close(self) -> None:
        """Let go of the pools."""
        super().close()
        while self._pools:
            self._pools.popitem()[1].close()

    def _pool_of(self, format_: str) -> FramePool:
        pool = self._pools.get(format_)
        if pool is None:
            make = partial(
                samebytes.context("cpu").allocate_frame, format_, self.width, self.height
            )
            pool = self._pools[format_] = FramePool(make, maximum=self.pool, name=self.name)
        return pool


def _scaled(region: Region, across: float, down: float) -> Region:
    x, y = round(region.x * across), round(region.y * down)
    right = round((region.x + region.width) * across)
    bottom = round((region.y + region.height) * down)
    return replace(
        region, x=x, y=y, width=right - x, height=bottom - y, metadata=dict(region.metadata)
    )
