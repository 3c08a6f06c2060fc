# SPDX-License-Identifier: Apache-2.0
"""The statistics of each element of a pipeline: frames, time, drops, copies."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .._core.owner.locks import Lock
from .._counting import moved_here
from .._numbers import counted
from .._seen.text import table_as_html
from .._seldom import EVERY
from ..errors import UnknownNameError
from ._current import CURRENT

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "LOOK_AFTER",
    "SLOW",
    "Arrivals",
    "ElementStatistics",
    "Latency",
    "Meter",
    "Statistics",
]

LOOK_AFTER = int(EVERY * 1e9)
"""Nanoseconds between two reports of the journal on frames that were left out."""
SLOW = 1_000_000_000
"""The nanoseconds of one call above which an element counts as slow."""
_KEPT = 2048
"""The number of durations that are kept for each element: percentiles are of the latest ones."""


@dataclass(frozen=True)
class ElementStatistics:
    """The statistics of one element since the pipeline was started.

    Attributes:
        element: its name in the pipeline.
        frames_in, frames_out: frames that it took and gave, without those in `errors`, and without
            those that it took for a batch that failed later.
        dropped: frames that were left out before it, since its queue was full; for a source, those
            that were left out before the program, if no element follows in the main line.
        errors: frames for which a call raised; all the frames of a batch that failed.
        fps: frames a second that it took, from the end of its first call to that of its latest
            one, so that compiling in the first call does not count. 0 before the second frame.
        p50, p95, p99: percentiles of the time of one call, mapping included, in milliseconds.
        queue: frames that wait for it now.
        copied_bytes: bytes that were copied for it, with permission.
        converted_bytes: bytes that its calls of `Frame.convert` wrote.
        lost: frames that waited for it, or that it had, when the pipeline stopped before its
            streams ended. Frames that it keeps back are those in `Element.frames_kept`.
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
    lost: int = 0
    converted_bytes: int = 0


@dataclass(frozen=True)
class Latency:
    """The time from the source to the end of the main line, queues included.

    Attributes:
        frames: the number of frames that came out.
        p50, p95, p99: percentiles of the latest ones, in milliseconds.
    """

    frames: int
    p50: float
    p95: float
    p99: float


class Statistics(tuple[ElementStatistics, ...]):
    """One ElementStatistics for each element, in the order of the pipeline; printed as a table.

    Attributes:
        latency: the latency of frames, from the source to the end.
        lost: frames lost by all elements, and those that had come out and were not taken.
    """

    latency: Latency
    lost: int

    def __new__(
        cls, rows: Iterable[ElementStatistics], latency: Latency | None = None, untaken: int = 0
    ) -> Self:
        """Make the statistics from their rows.

        Args:
            untaken: the number of frames that waited for the program when the pipeline stopped.
        """
        made = super().__new__(cls, rows)
        made.latency = Latency(0, 0.0, 0.0, 0.0) if latency is None else latency
        made.lost = sum(row.lost for row in made) + untaken
        return made

    def of(self, element: str) -> ElementStatistics:
        """The statistics of the element of that name.

        Args:
            element: its name.

        Raises:
            UnknownNameError: there is none.
        """
        for one in self:
            if one.element == element:
                return one
        raise UnknownNameError("element", element, [one.element for one in self])

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, which `json.dumps` takes.

        Returns:
            A dict of `elements`, a list of dicts with the attributes of ElementStatistics;
            `latency`, a dict with those of Latency; and `lost`. Times are in milliseconds.
        """
        return {
            "elements": [asdict(row) for row in self],
            "latency": asdict(self.latency),
            "lost": self.lost,
        }

    def __str__(self) -> str:
        return "\n".join([*_table(self), *_below(self)])

    def _repr_html_(self) -> str:
        rows = [(row.element, *_cells(row)) for row in self]
        return table_as_html(("element", *_HEADS), rows, "\n".join(_below(self)))


_HEADS = (
    "in", "out", "queue", "dropped", "errors", "fps",
    "p50 ms", "p95 ms", "p99 ms", "copied",
)  # fmt: skip


def _cells(row: ElementStatistics) -> tuple[object, ...]:
    """The cells of a row, one for each column head."""
    return (
        row.frames_in, row.frames_out, row.queue, row.dropped, row.errors, f"{row.fps:.1f}",
        f"{row.p50:.2f}", f"{row.p95:.2f}", f"{row.p99:.2f}", row.copied_bytes,
    )  # fmt: skip


def _table(rows: Statistics) -> Iterator[str]:
    """The lines, no wider than their contents, so that they fit a terminal of 80 columns."""
    lines = [("element", *_HEADS), *((row.element, *map(str, _cells(row))) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *cells in lines:
        numbers = zip(cells, widths[1:], strict=True)
        yield f"{name:{widths[0]}} " + " ".join(f"{cell:>{width}}" for cell, width in numbers)


def _below(rows: Statistics) -> Iterator[str]:
    for row in rows:
        if row.converted_bytes:
            yield f"{row.element}: {row.converted_bytes} bytes converted"
    latency = rows.latency
    if latency.frames:
        yield (
            f"source to end, ms: p50 {latency.p50:.2f}, p95 {latency.p95:.2f}, "
            f"p99 {latency.p99:.2f}"
        )
    if rows.lost:
        yield f"{counted(rows.lost, 'frame')} under way when it stopped"


class Meter:
    """The counts of one element, from all threads that serve it.

    Args:
        name: the name of the element.
        waits: True if its calls wait for frames, as those of a source do: a long one is not slow.

    Attributes:
        busy: nanoseconds that its calls took together.
        first: when its first call ended (perf_counter_ns).
        latest: when its latest call ended; 0 before the first.
    """

    __slots__ = (
        "_counting",
        "_look_at",
        "busy",
        "converted",
        "copied",
        "durations",
        "errors",
        "first",
        "frames_in",
        "frames_out",
        "latest",
        "lost",
        "name",
        "waits",
    )

    def __init__(self, name: str, *, waits: bool = False) -> None:
        self.name = name
        self.waits = waits
        self._look_at = time.perf_counter_ns() + LOOK_AFTER
        self._counting = Lock()
        self.busy = 0
        self.frames_in = 0
        self.frames_out = 0
        self.errors = 0
        self.lost = 0
        self.copied = 0
        self.converted = 0
        self.durations: deque[int] = deque(maxlen=_KEPT)
        self.first = 0
        self.latest = 0

    def took(self, began: int, before: tuple[int, int] | None = None, *, gave: bool = False) -> int:
        """Count one call, which has just ended.

        Args:
            began: when it began (perf_counter_ns).
            before: the result of `moved_here` then; None if the bytes it moved are not counted.
            gave: True if one frame goes on.

        Returns:
            The time now.
        """
        now = time.perf_counter_ns()
        copied, converted = (0, 0) if before is None else moved_here()
        with self._counting:
            if before is not None:
                self.copied += copied - before[0]
                self.converted += converted - before[1]
            if not self.frames_in:
                self.first = now
            self.frames_in += 1
            self.frames_out += gave
            self.latest = now
            self.busy += now - began
            self.durations.append(now - began)
        if now - began > SLOW or now > self._look_at:
            self._notice(now, now - began)
        return now

    def _notice(self, now: int, took: int) -> None:
        """Have the journal of the run report slow calls, and frames that were left out."""
        run = CURRENT.run
        if run is not None and took > SLOW and not self.waits:
            run.journal.took_long(self, took)
        if now > self._look_at:
            self._look_at = now + LOOK_AFTER
            if run is not None:
                run.journal.look(run.watch)

    def copies(self, copied: int) -> None:
        """Count bytes that were copied before a call."""
        with self._counting:
            self.copied += copied

    def gave(self) -> None:
        """Count one frame that goes on."""
        with self._counting:
            self.frames_out += 1

    def raised(self, frames: int = 1, taken: int = 0) -> None:
        """Count a call that raised, and the frames that do not go on for that reason.

        Args:
            frames: the number of these frames.
            taken: how many of them were taken by earlier calls.
        """
        with self._counting:
            self.errors += frames
            self.frames_in -= taken

    def lose(self, frames: int) -> None:
        """Count frames that do not go on, since the pipeline stops."""
        with self._counting:
            self.lost += frames

    def read(
        self, element: str, *, dropped: int = 0, queue: int = 0, lost: int = 0
    ) -> ElementStatistics:
        """The counts so far.

        Args:
            dropped, queue, lost: the counts of the queue before it.
        """
        times = sorted(self.durations.copy())
        seconds = (self.latest - self.first) / 1e9
        return ElementStatistics(
            element, self.frames_in, self.frames_out, dropped, self.errors,
            (self.frames_in - 1) / seconds if seconds else 0.0, *_percentiles(times), queue,
            self.copied, self.lost + lost, self.converted,
        )  # fmt: skip


class Arrivals:
    """The times that frames took to the end of the main line, as one thread counts them there."""

    def __init__(self) -> None:
        self.frames = 0
        self._durations: deque[int] = deque(maxlen=_KEPT)

    def add(self, began: int) -> None:
        """Count a frame that came to the end, and was read at that time (perf_counter_ns)."""
        self._durations.append(time.perf_counter_ns() - began)
        self.frames += 1

    def read(self) -> Latency:
        """The latency of the frames so far."""
        return Latency(self.frames, *_percentiles(sorted(self._durations.copy())))


def _percentiles(times: list[int]) -> tuple[float, float, float]:
    def at(share: float) -> float:
        return times[min(int(share * len(times)), len(times) - 1)] / 1e6 if times else 0.0

    return at(0.5), at(0.95), at(0.99)
