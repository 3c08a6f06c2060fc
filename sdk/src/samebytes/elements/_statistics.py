# SPDX-License-Identifier: Apache-2.0
"""What each element of a pipeline did: frames, time, drops, copies."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from .._core.locks import Lock
from ..errors import UnknownNameError

__all__ = ["ElementStatistics", "Meter", "Statistics"]

_KEPT = 2048
"""Durations that are kept of each element: percentiles are of the latest ones."""


@dataclass(frozen=True)
class ElementStatistics:
    """What one element did since the pipeline was started.

    Attributes:
        element: its name in the pipeline.
        frames_in, frames_out: frames that it took and gave.
        dropped: frames that were left out before it, since its queue was full.
        errors: calls that raised.
        fps: frames a second that it took, from its first to its latest one.
        p50, p95, p99: percentiles of the time of one call, mapping included, in milliseconds.
        queue: frames that wait for it now.
        copied_bytes: what was copied for it, with permission.
    """

    element: str
    frames_in: int
    frames_out: int
    dropped: int
    errors: int
    fps: float
    p50: float
    p95: float
    p99: float
    queue: int
    copied_bytes: int


class Statistics(tuple[ElementStatistics, ...]):
    """One ElementStatistics for each element, in the order of the pipeline; printed as a table."""

    __slots__ = ()

    def of(self, element: str) -> ElementStatistics:
        """That of the element of that name.

        Raises:
            UnknownNameError: there is none.
        """
        for one in self:
            if one.element == element:
                return one
        raise UnknownNameError("element", element, [one.element for one in self])

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(rows: Statistics) -> Iterator[str]:
    heads = ("in", "out", "dropped", "errors", "fps", "p50 ms", "p95 ms", "p99 ms", "copied")
    width = max([len(row.element) for row in rows], default=0)
    yield f"{'element':{width}} " + "".join(f"{head:>9}" for head in heads)
    for row in rows:
        cells = (
            row.frames_in, row.frames_out, row.dropped, row.errors, f"{row.fps:.1f}",
            f"{row.p50:.2f}", f"{row.p95:.2f}", f"{row.p99:.2f}", row.copied_bytes,
        )  # fmt: skip
        yield f"{row.element:{width}} " + "".join(f"{cell:>9}" for cell in cells)


class Meter:
    """Counts for one element, of all threads that serve it."""

    __slots__ = (
        "_counting",
        "copied",
        "durations",
        "errors",
        "first",
        "frames_in",
        "frames_out",
        "latest",
    )

    def __init__(self) -> None:
        self._counting = Lock()
        self.frames_in = 0
        self.frames_out = 0
        self.errors = 0
        self.copied = 0
        self.durations: deque[int] = deque(maxlen=_KEPT)
        self.first = 0
        self.latest = 0

    def took(self, began: int, copied: int) -> None:
        """One call ended that began at that time (perf_counter_ns), and copied so many bytes."""
        now = time.perf_counter_ns()
        with self._counting:
            if not self.frames_in:
                self.first = began
            self.frames_in += 1
            self.latest = now
            self.durations.append(now - began)
            self.copied += copied

    def gave(self) -> None:
        """One frame goes on."""
        with self._counting:
            self.frames_out += 1

    def raised(self) -> None:
        """One call raised."""
        with self._counting:
            self.errors += 1

    def read(self, element: str, *, dropped: int = 0, queue: int = 0) -> ElementStatistics:
        """The counts so far."""
        times = sorted(self.durations.copy())
        seconds = (self.latest - self.first) / 1e9
        p50, p95, p99 = (_percentile(times, share) for share in (0.5, 0.95, 0.99))
        return ElementStatistics(
            element, self.frames_in, self.frames_out, dropped, self.errors,
            self.frames_in / seconds if seconds else 0.0, p50, p95, p99, queue, self.copied,
        )  # fmt: skip


def _percentile(times: list[int], share: float) -> float:
    return times[min(int(share * len(times)), len(times) - 1)] / 1e6 if times else 0.0
