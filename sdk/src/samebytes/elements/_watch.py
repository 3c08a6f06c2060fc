# SPDX-License-Identifier: Apache-2.0
"""Time-outs that count only while no frame of a run moves.

A program that pauses keeps none of the frames that wait for it in a queue, so a frame that is
waited for may well come back later. Nothing moves when no call of an element is under way, and no
frame waits in a queue from which somebody could take it.
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
"""Seconds between two looks at whether something moves, at most."""


class Worker:
    """A thread that serves an element.

    Attributes:
        channel: where its frames wait.
        busy: it has a frame.
        waits: it cannot go on by itself: it waits for room, for a frame of a pool, or for another
            thread of its element.
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
        meters: of all elements.
        inputs: the queues, by the names of the elements that take from them.
        output: what has come out and waits for the program; None where it runs in its thread.
        workers: the threads of elements, sources apart.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._began = time.perf_counter_ns()
        self.meters: Sequence[Meter] = ()
        self.inputs: Mapping[str, Channel] = {}
        self.output: Channel | None = None
        self.workers: list[Worker] = []

    def moves(self) -> bool:
        """True if a frame can come back without anybody dropping one that they keep."""
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
        """The places where frames wait, in words; "" where there are no queues."""
        if self.output is None:
            return ""
        waiting = [f"{len(queue)} before {name!r}" for name, queue in self.inputs.items() if queue]
        waiting += [f"{len(self.output)} for the program"] if len(self.output) else []
        return f" (in queues: {', '.join(waiting) or 'none'})"


class Clock:
    """The time-out of one wait, which counts only while nothing moves in the pipeline.

    For a source whose frames come out of a fixed number, as a decoder's or a camera's: while a
    model is compiled for the first one, all of them may be under way.

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

        No call of another element was under way, and no frame waited in a queue for somebody who
        could take it.
        """
        watch, now = self._watch, time.monotonic()
        if watch is not None:
            progress = watch.progress()
            if progress != self._progress or watch.moves():
                self._progress, self._until = progress, now + self._patience
                return False
        return now >= self._until

    def pool_error(self, name: str, frames: int, stream: int | None = None) -> PoolTimeoutError:
        """The error of who waited in vain.

        Args:
            name: whose pool it is.
            frames: how many the pool has.
            stream: that of a source; None for others.
        """
        where = "" if self._watch is None else self._watch.where()
        return PoolTimeoutError(
            name,
            f"all {frames} frames of its pool are in use, and none came back in "
            f"{self._patience:g} s{where}: drop frames that the program keeps, or copy them",
            stream=stream,
        )
