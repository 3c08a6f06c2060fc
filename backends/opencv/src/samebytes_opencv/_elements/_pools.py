# SPDX-License-Identifier: Apache-2.0
"""New frames of one size, in the formats of those that come, used again when nothing holds them."""

from __future__ import annotations

from functools import partial
from typing import Any

import samebytes
from samebytes import Frame
from samebytes.elements import FramePool

__all__ = ["Pools"]


class Pools:
    """A pool of frames in memory of the CPU for each format.

    Args:
        name: the name of the element, for errors.
        width, height: the size of the frames, in pixels.
        maximum: how many frames of a format there are at most.
    """

    def __init__(self, name: str, width: int, height: int, maximum: int) -> None:
        self._name = name
        self._size = width, height
        self._maximum = maximum
        self._pools: dict[str, FramePool] = {}

    def acquire(self, format_: str) -> Frame[Any]:
        """A frame that nobody else holds: `FramePool.acquire`."""
        pool = self._pools.get(format_)
        if pool is None:
            make = partial(samebytes.context("cpu").allocate_frame, format_, *self._size)
            pool = FramePool(make, maximum=self._maximum, name=self._name)
            self._pools[format_] = pool
        return pool.acquire()

    def close(self) -> None:
        """Let go of the frames."""
        while self._pools:
            self._pools.popitem()[1].close()
