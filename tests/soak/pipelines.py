# SPDX-License-Identifier: Apache-2.0
"""Pipelines for as long as you like: sources that fail and come back, slow sinks, and worse.

Every run must end, account for each frame that it accepted, and leave no thread. Memory and
descriptors must not grow from one part of the soak to the next.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import os
import random
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes.metadata import SourceIdentifier, find

from .connections import QUICK, Camera, transport_stream

__all__ = ["Report", "main", "soak"]

_LONGEST_RUN = 60
"""Seconds after which a run counts as hung: it takes less than one."""
_CONNECTED = 0.2
"""The part of the pipelines whose frames come through a connection."""
_WARM = 0.3
"""The part of the soak in which memory may still grow."""


class _Stumbles(Exception):  # noqa: N818 - what an element of a user may raise
    """An exception that a source and an element raise on purpose."""


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


class _Stumbling(el.TransformInplace):
    """Looks at decoded frames, or raises."""

    seed: int
    share: float
    takes = el.Image(memory="cpu")

    def open(self, context: Any) -> None:
        self._random = random.Random(self.seed)

    def process(self, frame: Any) -> None:
        if self._random.random() < self.share:
            raise _Stumbles


class _Rests(el.Sink):
    """Takes its time with frames as they come."""

    seed: int
    seconds: float

    def open(self, context: Any) -> None:
        self._random = random.Random(self.seed)

    def write(self, frame: Any) -> None:
        time.sleep(self._random.random() * self.seconds)


@dataclass
class Report:
    """A record of what a soak saw.

    Attributes:
        runs, frames: how many pipelines ran, and how many frames came through them.
        failed: runs that an element ended, as it was to.
        reconnected: how often a source failed and came back.
        broken_off: how often a connection did, so that the source made it again.
        wrong: what was not as it must be, one line each.
        memory, descriptors, threads: after each run, in bytes and numbers. Memory that the
            allocator keeps for later is given back before.
    """

    runs: int = 0
    frames: int = 0
    failed: int = 0
    reconnected: int = 0
    broken_off: int = 0
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
            f"connections broke off and were made again {self.broken_off} times",
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
    if chance.random() < _CONNECTED:
        _connected(chance, report)
        return
    cameras = [
        _Camera(chance.randrange(1000), chance.randrange(60))
        for _ in range(chance.choice([1, 1, 3]))
    ]
    share = chance.choice([0.0, 0.05])
    raising = _Raises(chance.randrange(1000), share)
    sinks = [_Slow(chance.randrange(1000), chance.choice([0, 0.001])) for _ in range(2)]
    pipe = el.Pipeline(cameras, raising, [sinks[0]], sinks[1])
    what = _run(pipe, chance, report, f"{len(cameras)} sources, share={share}", branch="_Slow")
    report.reconnected += sum(camera.reconnected for camera in cameras)
    if sum(sink.wrong for sink in sinks):
        report.wrong.append(f"{what}: wrong bytes")


def _connected(chance: random.Random, report: Report) -> None:
    """Frames that are decoded from connections, which break off."""
    with ExitStack() as stack:
        cameras = [
            stack.enter_context(Camera(_video(), chance.randrange(1000)))
            for _ in range(chance.choice([1, 2]))
        ]
        sources = [
            el.create(
                "ffmpeg.source", camera.url, live=True, reconnect=50, pause=0.005, threads=1,
                frames=chance.randrange(1, 60), options=QUICK,
            )
            for camera in cameras
        ]  # fmt: skip
        stumbles = _Stumbling(chance.randrange(1000), chance.choice([0.0, 0.05]))
        sink = _Rests(chance.randrange(1000), chance.choice([0, 0.001]))
        what = f"{len(cameras)} connections, share={stumbles.share}"
        _run(el.Pipeline(sources, stumbles, sink), chance, report, what)
        report.broken_off += sum(max(camera.accepted - 1, 0) for camera in cameras)


def _run(
    pipe: el.Pipeline, chance: random.Random, report: Report, what: str, branch: str = ""
) -> str:
    """Run a pipeline in one of many ways, and see whether all of its frames are accounted for.

    Args:
        branch: an element beside the main line: what it lost, others may have got.

    Returns:
        What was run, in words.
    """
    options: dict[str, Any] = {
        "threads": chance.choice([0, 1, 1, 2]),
        "queue": chance.choice([1, 2, 8]),
        "when_full": chance.choice(["wait", "wait", "drop-oldest", "drop-newest"]),
        "on_error": chance.choice(["stop", "drop"]),
    }
    leave_at = chance.choice([None, None, None, chance.randrange(30)])
    what = f"{options}, {what}, left at {leave_at}"
    out, came, raised, left = None, 0, False, False
    latest: dict[int, Fraction] = {}
    try:
        with pipe.start(**options) as out:
            for frame in out:
                came += 1
                problem = _out_of_order(frame, latest)
                if problem:
                    report.wrong.append(f"{what}: {problem}")
                del frame
                if came == leave_at:
                    left = True
                    break
    except ElementError as error:
        raised = True
        if not isinstance(error.__cause__, _Stumbles):
            report.wrong.append(f"{what}: {error!r}")
    if out is None:
        return what
    rows = out.statistics()
    report.runs += 1
    report.frames += came
    report.failed += raised
    sources = [one for one in pipe.elements.values() if isinstance(one, el.Source)]
    sent = sum(row.frames_out for row in rows[: len(sources)])
    row = rows[len(sources)]  # that may raise, and before which frames are left out
    lost = rows.lost - (rows.of(branch).lost if branch else 0)
    if sent != came + row.errors + row.dropped + lost or (lost and not (raised or left)):
        report.wrong.append(
            f"{what}: {sent} sent, {came} came, {row.errors} raised, {row.dropped} left out, "
            f"{lost} lost"
        )
    if any(thread.name.startswith("samebytes ") for thread in threading.enumerate()):
        report.wrong.append(f"{what}: a thread is left")
    return what


def _out_of_order(frame: Any, latest: dict[int, Fraction]) -> str:
    """The error in a frame's time, if any: times of a stream increase, and none comes twice."""
    identity = find(frame, SourceIdentifier)
    assert identity is not None
    assert identity.stream_id is not None
    assert frame.pts is not None
    stream, now = identity.stream_id, frame.pts * (frame.meta.time_base or Fraction(1))
    before = latest.get(stream)
    latest[stream] = now
    if before is None or now > before:
        return ""
    return f"stream {stream}: the frame of {float(now):g} s comes after that of {float(before):g} s"


@cache
def _video() -> bytes:
    return transport_stream(25, 160, 96)


def _check_flat(report: Report) -> None:
    for name, values in (("descriptors", report.descriptors), ("threads", report.threads)):
        if values and values[-1] > values[0]:
            report.wrong.append(f"{name}: {values[0]} at first, {values[-1]} at the end")
    warm = report.memory[int(len(report.memory) * _WARM) :]
    if len(warm) < 20:
        return
    # A leak grows all the time; tables of the interpreter, and what holds on to a page, do not.
    half = len(warm) // 2
    growth = float(np.median(warm[half:]) - np.median(warm[:half]))
    if growth > 4 << 20:
        report.wrong.append(f"memory grew by {growth / 2**20:.1f} MiB between its halves")


def _resident() -> int:
    # Every thread of a pipeline may use another of glibc's arenas. How much of each is free, but
    # not given back, varies by many MiB.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
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
