# SPDX-License-Identifier: Apache-2.0
"""The frames a second of several streams at the same time, each in its own thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

from samebytes.errors import SamebytesError

from ._errors import DemoError
from ._net import Network
from ._reader import Reader
from ._rgb import CopyingRgb, RgbWay, SamebytesRgb

__all__ = ["ROUNDS", "Throughput", "measure_streams"]

ROUNDS = 5
_FRAMES = 20
"""The frames of one stream in one pass, at most."""
_WAYS: tuple[type[RgbWay], ...] = (SamebytesRgb, CopyingRgb)


@dataclass(frozen=True, slots=True)
class Throughput:
    """The throughput and CPU time of the streams, each the best of some passes.

    Attributes:
        streams: the number of streams at the same time.
        size: (width, height) of each stream.
        fps: frames a second of all streams together, by the name of the way.
        cpu_ms: milliseconds of CPU time for each frame, likewise.
    """

    streams: int
    size: tuple[int, int]
    fps: dict[str, float]
    cpu_ms: dict[str, float]

    def line(self) -> str:
        """The throughput in words."""
        width, height = self.size
        ours, theirs = (way.name for way in _WAYS)
        noun = "stream" if self.streams == 1 else "streams"
        return (
            f"{self.streams} {noun} of {width}x{height}: {ours} {self.fps[ours]:.1f} frames a "
            f"second, {theirs} {self.fps[theirs]:.1f}: {self.fps[ours] / self.fps[theirs]:.2f} "
            f"times as many; CPU {self.cpu_ms[ours]:.2f} and {self.cpu_ms[theirs]:.2f} ms a frame"
        )

    def as_dict(self) -> dict[str, Any]:
        """The throughput as plain data."""
        size = list(self.size)
        return {"streams": self.streams, "size": size, "fps": self.fps, "cpu_ms": self.cpu_ms}


def measure_streams(
    source: Path, network: Network, streams: int, on_pass: Callable[[int], None]
) -> Throughput:
    """Decode several streams of the same video, and run an RGB model on every frame.

    The ways take turns, and the best pass of each counts. Each stream has its own decoder and
    request, with one thread.

    Args:
        on_pass: called with the number of passes that are done.

    Raises:
        DemoError: the model does not take such frames.
    """
    with Reader(source) as reader:
        picture = reader.picture
    try:
        made = {way.name: [way(network, picture) for _ in range(streams)] for way in _WAYS}
    except SamebytesError as error:
        raise DemoError(str(error)) from error
    wall = dict.fromkeys(made, float("inf"))
    cpu = dict.fromkeys(made, float("inf"))
    done = 0
    with ThreadPoolExecutor(streams) as pool:
        for number in range(ROUNDS + 1):
            for name, ways in made.items():
                took = _one_pass(pool, source, ways)
                if number:  # the first round warms up
                    wall[name], cpu[name] = min(wall[name], took[0]), min(cpu[name], took[1])
                done += 1
                on_pass(done)
    return Throughput(
        streams,
        (picture.image.width, picture.image.height),
        {name: 1 / seconds for name, seconds in wall.items()},
        {name: 1e3 * seconds for name, seconds in cpu.items()},
    )


def _one_pass(pool: ThreadPoolExecutor, source: Path, ways: list[RgbWay]) -> tuple[float, float]:
    """The seconds of wall time and of CPU time for each frame, without opening the files."""
    clocks: list[tuple[float, float]] = []

    def look() -> None:
        clocks.append((time.perf_counter(), time.process_time()))

    start, end = Barrier(len(ways), look), Barrier(len(ways), look)
    run = partial(_one_stream, source, start, end)
    running = [pool.submit(run, way) for way in ways]
    errors = [error for one in running if (error := one.exception()) is not None]
    # In the other threads, an error shows as a broken barrier.
    for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
        raise error
    frames = sum(one.result() for one in running)
    (begun, cpu_before), (ended, cpu_after) = clocks
    return (ended - begun) / frames, (cpu_after - cpu_before) / frames


def _one_stream(source: Path, start: Barrier, end: Barrier, way: RgbWay) -> int:
    try:
        with Reader(source, threads=1) as reader:
            frames = reader.frames(_FRAMES)
            count = 0
            start.wait()
            for frame in frames:
                way.infer(frame)
                count += 1
            end.wait()
            return count
    except BaseException:
        # The others must not wait for this one.
        start.abort()
        end.abort()
        raise
