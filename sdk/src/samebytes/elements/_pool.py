# SPDX-License-Identifier: Apache-2.0
"""FramePool: frames that an element gives, used again when nobody holds them."""

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
    """At most so many frames, each used again once nobody holds it: no frame, array or mapping.

        self.pool = el.FramePool(lambda: context.allocate_frame("NV12", 1920, 1080), maximum=8)
        frame = self.pool.acquire()

    Args:
        make: allocates a frame, which the pool then owns; called at most `maximum` times.
        maximum: how many frames there are at most.
        timeout: seconds to wait for one that is free, while no frame of the pipeline moves. None
            for the `pool_timeout` of the pipeline, or 10 where there is none.
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
        """A frame that nobody else holds, to be written; its contents are those of its last use.

        It has metadata of its own, and goes back by itself with its last holder. Of memory that the
        CPU cannot read in place each is allocated again: the pool bounds how many there are.

        Raises:
            PoolTimeoutError: all are in use, and none came back in time.

        When the pipeline stops whose element waits here, the wait ends at once: an exception of the
        pipeline's own leaves the element.
        """
        found = self._frames.lend()
        if found is None:
            with blocked():
                found = self._awaited()
        return found

    def close(self) -> None:
        """Let go of the frames; those that are held live on with their holders."""
        self._frames.clear()

    def __len__(self) -> int:
        """The number of frames that were allocated."""
        return len(self._frames)

    def __bool__(self) -> bool:
        return True  # an empty one is a pool, too: without this it would be asked for its len()

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
            # No event says that the last array is gone: whoever held it just drops it.
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)
            found = self._frames.lend()
            if found is not None:
                return found
            if clock.is_over():
                raise clock.pool_error(self._name, self._maximum)
