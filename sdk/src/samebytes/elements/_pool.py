# SPDX-License-Identifier: Apache-2.0
"""FramePool: frames for an element to give, used again when nothing holds them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .._core.memory.frame import Frame
from .._cpu.reused import ReusedFrames
from ._channel import Stopped
from ._current import CURRENT, blocked, is_stopping
from ._watch import Clock

__all__ = ["FramePool"]

_FIRST_NAP, _LONGEST_NAP = 0.0005, 0.02
_PATIENCE = 10.0


class FramePool:
    """A limited number of frames, each used again once no frame, array or mapping holds it.

        self.pool = el.FramePool(lambda: context.allocate_frame("NV12", 1920, 1080), maximum=8)
        frame = self.pool.acquire()

    Args:
        make: allocates a frame, which the pool then owns; called at most `maximum` times.
        maximum: how many frames there are at most.
        timeout: seconds to wait for a free frame, while no frame of the pipeline moves. None for
            the `pool_timeout` of the pipeline, or 10 outside a pipeline.
        name: the name of its user, for errors.

    Any thread may use it at any time.
    """

    def __init__(
        self,
        make: Callable[[], Frame[Any]],
        *,
        maximum: int = 16,
        timeout: float | None = None,
        name: str = "pool",
    ) -> None:
        if maximum < 1:
            raise ValueError(f"maximum={maximum}: a pool has at least one frame")
        self._frames = ReusedFrames(make, maximum)
        self._maximum = maximum
        self._timeout = timeout
        self._name = name

    def acquire(self) -> Frame[Any]:
        """A frame that nobody else holds, to be written; it still has the contents of its last use.

        It has new metadata, and returns to the pool by itself when nothing holds it any more. In
        memory that the CPU cannot read in place, each frame is allocated again: the pool only
        limits how many there are.

        Raises:
            PoolTimeoutError: all are in use, and none came back in time.

        When the pipeline of the element that waits here stops, the wait ends at once: an exception
        of the pipeline's own passes through the element.
        """
        found = self._frames.lend()
        if found is None:
            with blocked():
                found = self._awaited()
        return found

    def close(self) -> None:
        """Let go of the frames; those that are in use live on with their users."""
        self._frames.clear()

    def __len__(self) -> int:
        """The number of frames that were allocated."""
        return len(self._frames)

    def __bool__(self) -> bool:
        return True  # an empty pool is true, too: without this, Python would ask for its len()

    def __repr__(self) -> str:
        return f"<FramePool {self._name}, {len(self)} of {self._maximum} frames allocated>"

    def _awaited(self) -> Frame[Any]:
        watch = None if CURRENT.run is None else CURRENT.run.watch
        patience = self._timeout
        if patience is None:
            patience = _PATIENCE if watch is None else watch.patience
        clock, nap = Clock(patience), _FIRST_NAP
        while True:
            if is_stopping():
                raise Stopped
            # There is no event when the last array is gone: its user just drops it.
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)
            found = self._frames.lend()
            if found is not None:
                return found
            if clock.is_over():
                raise clock.pool_error(self._name, self._maximum)
