# SPDX-License-Identifier: Apache-2.0
"""Measurement of the stages of a pass: wall time, CPU time and copied bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["Cost", "Stopwatch", "Timing"]


@dataclass(slots=True)
class Cost:
    """The cost of one stage over all frames of a pass.

    Attributes:
        wall: seconds of wall time.
        cpu: seconds of CPU time, of all threads of the process.
        copied_bytes: the bytes copied between frameworks.
    """

    wall: float = 0.0
    cpu: float = 0.0
    copied_bytes: int = 0


@dataclass(slots=True)
class Timing:
    """The cost of one pass, without opening files and compiling models.

    Attributes:
        stages: each stage by its name, in the order of the pipeline.
        frames: how many frames went through the stages.
    """

    stages: dict[str, Cost]
    frames: int = 0

    def wall_ms(self, *stages: str) -> float:
        """Milliseconds a frame in these stages; in all stages if none is named."""
        return self._a_frame(sum(self.stages[s].wall for s in stages or self.stages)) * 1e3

    def cpu_ms(self, *stages: str) -> float:
        """Milliseconds of CPU time a frame, as `wall_ms`."""
        return self._a_frame(sum(self.stages[s].cpu for s in stages or self.stages)) * 1e3

    def copied_mb(self, *stages: str) -> float:
        """Millions of bytes copied a frame, as `wall_ms`."""
        return self._a_frame(sum(self.stages[s].copied_bytes for s in stages or self.stages)) / 1e6

    def _a_frame(self, total: float) -> float:
        return total / max(self.frames, 1)


class Stopwatch:
    """A stopwatch that adds the cost since the last lap to a stage. The lap itself does not count.

    Args:
        stages: the names of the stages.
        copied: returns the bytes copied so far.
    """

    def __init__(self, stages: Iterable[str], copied: Callable[[], int]) -> None:
        self.timing = Timing({stage: Cost() for stage in stages})
        self._copied = copied
        self._copied_before = copied()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self, stage: str) -> None:
        """Add the cost since the last lap to this stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        cost = self.timing.stages[stage]
        cost.wall += wall - self._wall
        cost.cpu += cpu - self._cpu
        copied = self._copied()
        cost.copied_bytes += copied - self._copied_before
        self._copied_before = copied
        self._wall, self._cpu = time.perf_counter(), time.process_time()
