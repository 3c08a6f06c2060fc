# SPDX-License-Identifier: Apache-2.0
"""Time-outs that count only while no frame of a run moves.

A program that pauses has not taken the frames that wait for it in a queue, so a frame that is
waited for may well come back later. Nothing moves when no call of an element is under way, and no
frame waits in a queue from which it could be taken.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ..errors import PoolTimeoutError
from ._channel import Channel
from ._current import CURRENT
from ._statistics import Meter

__all__ = ["Clock", "Watch", "Worker"]

_LONGEST_LOOK = 0.5
"""The most seconds between two checks whether something moves."""


class Worker:
    """A thread that serves an element.

    Attributes:
        channel: the queue where its frames wait.
        busy: True if it has a frame.
        waits: True if it cannot go on by itself, but waits for room, for a frame of a pool, or for
            another thread of its element.
    """

    __slots__ = ("busy", "channel", "waits")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.busy = self.waits = False


class Watch:
    """The parts of one run that show whether its frames move.

    Args:
        patience: how many seconds to wait for a frame of a pool while nothing moves.

    Attributes:
        meters: the meters of all elements.
        inputs: the queues, by the names of the elements that take from them.
        output: the queue of frames that have come out and wait for the program; None if the
            pipeline runs in the program's thread.
        workers: the threads of elements, except those of sources.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._began = time.perf_counter_ns()
        self.meters: Sequence[Meter] = ()
        self.inputs: Mapping[str, Channel] = {}
        self.output: Channel | None = None
        self.workers: list[Worker] = []

    def moves(self) -> bool:
        """True if a frame can come back without its holder giving up one that it keeps."""
        if self.output is not None and len(self.output):
            return True
        return any(not one.waits and (one.busy or len(one.channel)) for one in self.workers)

    def progress(self) -> int:
        """A number that changes when a frame moves."""
        return sum(meter.frames_in + meter.frames_out for meter in self.meters)

    def seconds_still(self) -> float:
        """The time since an element took a frame; before the first one, since it was opened."""
        latest = max((meter.latest for meter in self.meters), default=0)
        return max(time.perf_counter_ns() - max(latest, self._began), 0) / 1e9

    def where(self) -> str:
        """The places where frames wait, in words; "" if there are no queues."""
        if self.output is None:
            return ""
        waiting = [f"{len(queue)} before {name!r}" for name, queue in self.inputs.items() if queue]
        waiting += [f"{len(self.output)} for the program"] if len(self.output) else []
        return f" (in queues: {', '.join(waiting) or 'none'})"


class Clock:
    """The time-out of one wait, which counts only while nothing moves in the pipeline.

    For a source with a fixed number of frames, such as a decoder or a camera: while a model is
    compiled for the first one, all of them may be under way.

        clock = el.Clock(self.timeout)
        while (frame := self.device.read(timeout=clock.look_after)) is None:
            if clock.is_over():
                raise TimeoutError(...)

    Outside of a pipeline it is a plain time-out.

    Args:
        patience: seconds.
    """

    def __init__(self, patience: float) -> None:
        watch = None if CURRENT.run is None else CURRENT.run.watch
        self._watch = watch
        self._patience = patience
        self._progress = 0 if watch is None else watch.progress()
        self._until = time.monotonic() + patience

    @property
    def look_after(self) -> float:
        """Seconds after which to ask `is_over` again: half a second at most."""
        return min(max(self._patience / 8, 0.005), _LONGEST_LOOK)

    def is_over(self) -> bool:
        """True if nothing has moved for `patience` seconds.

        That is: no call of another element was under way, and no frame waited in a queue from which
        it could be taken.
        """
        watch, now = self._watch, time.monotonic()
        if watch is not None:
            progress = watch.progress()
            if progress != self._progress or watch.moves():
                self._progress, self._until = progress, now + self._patience
                return False
        return now >= self._until

    def pool_error(self, name: str, frames: int, stream: int | None = None) -> PoolTimeoutError:
        """The error for a wait in vain.

        Args:
            name: the name of the element whose pool it is.
            frames: how many frames the pool has.
            stream: the stream of a source; None for other elements.
        """
        where = "" if self._watch is None else self._watch.where()
        return PoolTimeoutError(
            name,
            f"all {frames} frames of its pool are in use, and none came back in "
            f"{self._patience:g} s{where}: drop frames that the program keeps, or copy them",
            stream=stream,
        )
