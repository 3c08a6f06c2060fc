# SPDX-License-Identifier: Apache-2.0
"""Pipelines for as long as you like: sources that fail and come back, slow sinks, and worse.

Every run must end, account for each frame that it accepted, and leave no thread. Memory and
descriptors must not grow from one part of the soak to the next.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError

__all__ = ["Report", "main", "soak"]

_LONGEST_RUN = 60
"""Seconds after which a run counts as hung: it takes less than one."""
_WARM = 0.3
"""The part of the soak in which memory may still grow."""


class _Stumbles(Exception):  # noqa: N818 - what an element of a user may raise
    """What a source and an element raise on purpose."""


class _Camera(el.Source):
    """Fails now and then, and connects again; its frames come from a pool."""

    seed: int
    count: int
    gives = el.Image("GRAY8", memory="cpu", width=64, height=32)

    def open(self, context: Any) -> None:
        self._random = random.Random(self.seed)
        make = sb.context("cpu").allocate_frame
        self._pool = el.FramePool(lambda: make("GRAY8", 64, 32), maximum=64, name=self.name)
        self._sent = self.reconnected = 0

    def read(self) -> Any:
        while self._sent < self.count:
            try:
                return self._receive()
            except _Stumbles:
                self.reconnected += 1
        return None

    def _receive(self) -> Any:
        if self._random.random() < 0.1:
            raise _Stumbles
        frame = self._pool.acquire()
        frame.planes[0].native[...] = self._sent % 256
        frame.meta.pts = self._sent
        self._sent += 1
        return frame

    def close(self) -> None:
        if hasattr(self, "_pool"):
            self._pool.close()


class _Raises(el.TransformInplace):
    """Adds one, or raises."""

    seed: int
    share: float
    takes = el.Image("GRAY8", memory="cpu", access="rw")

    def open(self, context: Any) -> None:
        self._random = random.Random(self.seed)

    def process(self, frame: Any) -> None:
        if self._random.random() < self.share:
            raise _Stumbles
        frame.planes[0].native[...] += 1


class _Slow(el.Sink):
    """Takes its time."""

    seed: int
    seconds: float
    takes = el.Image(memory="cpu")
    concurrent: ClassVar[bool] = False

    def open(self, context: Any) -> None:
        self._random = random.Random(self.seed)
        self.wrong = 0

    def write(self, frame: Any) -> None:
        time.sleep(self._random.random() * self.seconds)
        self.wrong += not (frame.planes[0].native == (frame.pts + 1) % 256).all()


@dataclass
class Report:
    """What a soak saw.

    Attributes:
        runs, frames: how many pipelines ran, and how many frames came through them.
        failed: runs that an element ended, as it was to.
        reconnected: how often a source failed and came back.
        wrong: what was not as it must be, one line each.
        memory, descriptors, threads: after each run, in bytes and numbers.
    """

    runs: int = 0
    frames: int = 0
    failed: int = 0
    reconnected: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        def span(values: list[int]) -> str:
            return f"{min(values)} to {max(values)}" if values else "-"

        warm = self.memory[int(len(self.memory) * _WARM) :]
        lines = [
            f"{self.runs} pipelines, {self.frames} frames",
            f"{self.failed} were ended by an element, sources came back {self.reconnected} times",
            f"resident memory: {span([value >> 10 for value in warm])} KiB",
            f"descriptors: {span(self.descriptors)}; threads: {span(self.threads)}",
            *self.wrong[:20],
        ]
        return "\n".join(lines)


def soak(seconds: float, seed: int = 0) -> Report:
    """Run pipelines for so long.

    Args:
        seconds: the last one may take a little longer.
        seed: the same seed takes the same pipelines in the same order.
    """
    report, choices = Report(), random.Random(seed)
    until = time.monotonic() + seconds
    while not report.runs or time.monotonic() < until:
        faulthandler.dump_traceback_later(_LONGEST_RUN, exit=True)
        _one(random.Random(choices.random()), report)
        gc.collect()
        report.memory.append(_resident())
        report.descriptors.append(len(list(Path("/proc/self/fd").iterdir())))
        report.threads.append(threading.active_count())
    faulthandler.cancel_dump_traceback_later()
    _check_flat(report)
    return report


def _one(chance: random.Random, report: Report) -> None:
    cameras = [
        _Camera(chance.randrange(1000), chance.randrange(60))
        for _ in range(chance.choice([1, 1, 3]))
    ]
    share = chance.choice([0.0, 0.05])
    raising = _Raises(chance.randrange(1000), share)
    sinks = [_Slow(chance.randrange(1000), chance.choice([0, 0.001])) for _ in range(2)]
    pipe = el.Pipeline(cameras, raising, [sinks[0]], sinks[1])
    options: dict[str, Any] = {
        "threads": chance.choice([0, 1, 1, 2]),
        "queue": chance.choice([1, 2, 8]),
        "when_full": chance.choice(["wait", "wait", "drop-oldest", "drop-newest"]),
        "on_error": chance.choice(["stop", "drop"]),
    }
    leave_at = chance.choice([None, None, None, chance.randrange(30)])
    what = f"{options}, {len(cameras)} sources, share={share}, left at {leave_at}"
    out, came, raised, left = None, 0, False, False
    try:
        with pipe.start(**options) as out:
            for frame in out:
                came += 1
                del frame
                if came == leave_at:
                    left = True
                    break
    except ElementError as error:
        raised = True
        if not isinstance(error.__cause__, _Stumbles):
            report.wrong.append(f"{what}: {error!r}")
    assert out is not None
    rows = out.statistics()
    report.runs += 1
    report.frames += came
    report.failed += raised
    report.reconnected += sum(camera.reconnected for camera in cameras)
    row, sent = rows.of("_Raises"), sum(r.frames_out for r in rows[: len(cameras)])
    # What a branch lost, others may have got.
    lost = rows.lost - rows.of("_Slow").lost
    if sent != came + row.errors + row.dropped + lost or (lost and not (raised or left)):
        report.wrong.append(
            f"{what}: {sent} sent, {came} came, {row.errors} raised, {row.dropped} left out, "
            f"{lost} lost"
        )
    if sum(sink.wrong for sink in sinks):
        report.wrong.append(f"{what}: wrong bytes")
    if any(thread.name.startswith("samebytes ") for thread in threading.enumerate()):
        report.wrong.append(f"{what}: a thread is left")


def _check_flat(report: Report) -> None:
    for name, values in (("descriptors", report.descriptors), ("threads", report.threads)):
        if values and values[-1] > values[0]:
            report.wrong.append(f"{name}: {values[0]} at first, {values[-1]} at the end")
    warm = report.memory[int(len(report.memory) * _WARM) :]
    if len(warm) < 20:
        return
    # A leak grows all the time; an allocator's noise does not.
    half = len(warm) // 2
    growth = float(np.median(warm[half:]) - np.median(warm[:half]))
    if growth > 4 << 20:
        report.wrong.append(f"memory grew by {growth / 2**20:.1f} MiB between its halves")


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str] | None = None) -> None:
    """Run for as long as asked for, and print the report."""
    parser = argparse.ArgumentParser(prog="dev.py soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    report = soak(options.seconds, options.seed)
    print(report)
    raise SystemExit(1 if report.wrong else 0)
