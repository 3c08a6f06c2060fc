# SPDX-License-Identifier: Apache-2.0
"""The memory that conversions write: used again when nobody holds the frame in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from .._core.memory.frame import Frame
from .._core.memory.meta import FrameMeta
from .._core.owner.locks import Lock
from .._cpu.context import CPU
from .._cpu.pages import allocate_pages, places_of_planes, planes_in
from .._cpu.reused import ReusedFrames
from ..formats import ImageInfo

__all__ = ["Memory", "Take", "new_frame"]

Take = Callable[[ImageInfo, int], Frame[Any]]
"""A function that gives a frame to write, from its format and size and the padding of its rows."""

# Converters write whole registers of pixels, past the last one of a plane.
_SLACK = 64


def new_frame(image: ImageInfo, row_padding: int) -> Frame[Any]:
    """A frame of new memory, with room behind each row and behind each plane.

    Args:
        image: format and size.
        row_padding: bytes behind each row, at least.
    """
    layouts = image.plane_layouts()
    if row_padding:
        whole = [-(-(p.row_nbytes + row_padding) // _SLACK) * _SLACK for p in layouts]
        layouts = image.plane_layouts(whole)
    offsets, nbytes = places_of_planes([p.span + _SLACK for p in layouts])
    storage = allocate_pages(nbytes, large=True)
    native = planes_in(storage, layouts, offsets)
    return Frame.owned(native, CPU, FrameMeta(image), storage)


class Memory:
    """Frames of the layouts that were asked for last.

    Who holds more frames of one layout than are kept gets new ones, which are not used again.

    Args:
        layouts: how many are remembered.
        frames: how many of each are kept.
    """

    def __init__(self, layouts: int = 4, frames: int = 8) -> None:
        self._layouts = layouts
        self._frames = frames
        self._lock = Lock()
        self._known: OrderedDict[tuple[ImageInfo, int], ReusedFrames] = OrderedDict()
        # The one that was asked for last, since a stream asks for it again and again.
        self._last: tuple[ImageInfo, int, ReusedFrames] | None = None

    def take(self, image: ImageInfo, row_padding: int) -> Frame[Any]:
        """A frame that nobody else holds.

        Args:
            image: format and size.
            row_padding: as for `new_frame`.
        """
        last = self._last
        if last is not None and last[0] is image and last[1] == row_padding:
            frames = last[2]
        else:
            frames = self._find(image, row_padding)
        lent = frames.lend()
        return new_frame(image, row_padding) if lent is None else lent

    def _find(self, image: ImageInfo, row_padding: int) -> ReusedFrames:
        key = image, row_padding
        with self._lock:
            frames = self._known.get(key)
            if frames is None:
                frames = ReusedFrames(partial(new_frame, *key), self._frames)
                self._known[key] = frames
                if len(self._known) > self._layouts:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(key)
            self._last = *key, frames
        return frames

    def clear(self) -> None:
        """Let go of the frames; those that are held live on with their holders."""
        with self._lock:
            self._known.clear()
            self._last = None
