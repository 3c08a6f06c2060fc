# SPDX-License-Identifier: Apache-2.0
"""The cost of a pipeline compared with a plain loop that makes the same calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import samebytes as sb
import samebytes.elements as el

from .measure import Row

__all__ = ["element_rows"]

_ROUNDS = 30
_FRAMES = 300
_ELEMENTS = 4


class _Nothing(el.TransformInplace):
    """Takes frames where they are."""

    takes = el.Image("NV12", memory="cpu")

    def process(self, frame: Any) -> None:
        """Do nothing."""


class _Maps(el.TransformInplace):
    """Takes frames to be written, which maps each of them."""

    takes = el.Image("NV12", memory="cpu", access="rw")

    def process(self, frame: Any) -> None:
        """Do nothing."""


class _Python(el.TransformInplace):
    """Works in Python, and so keeps the interpreter's lock."""

    steps: int
    takes = el.Image("NV12", memory="cpu")

    def process(self, frame: Any) -> None:
        """Count."""
        for _ in range(self.steps):
            pass


def element_rows() -> list[Row]:
    """Overhead for each frame and element: (pipeline - plain loop) / (frames x elements)."""
    return [*_idle_rows(), *_python_rows()]


def _python_rows() -> list[Row]:
    """Elements that take turns, since each keeps the lock while it works."""
    rows = []
    frames = [sb.context("cpu").allocate_frame("NV12", 64, 48)] * _FRAMES
    counts = _loop(frames[:1], [_Python(100_000)])
    steps_of_a_microsecond = 100_000 / (_least(counts, counts, rounds=20)[0] * _FRAMES * _ELEMENTS)
    for microseconds in (20, 200, 1000):
        steps = int(microseconds * steps_of_a_microsecond)
        make = partial(_Python, steps)
        for threads in (0, 1):
            loop = _loop(frames, [make() for _ in range(_ELEMENTS)])
            pipe = el.Pipeline(frames, *[make() for _ in range(_ELEMENTS)])
            native, ours = _least(loop, partial(pipe.run, threads=threads), rounds=8)
            name = f"Python for {microseconds} us, threads={threads}: loop, overhead"
            rows.append(Row(name, native, ours - native, None))
    return rows


def _idle_rows() -> list[Row]:
    rows = []
    for size in ((640, 360), (3840, 2160)):
        frames = [sb.context("cpu").allocate_frame("NV12", *size)] * _FRAMES
        for make, what in ((_Nothing, "no mapping"), (_Maps, 'map("cpu", "rw")')):
            for threads, target in ((0, 5.0), (1, 40.0)):
                loop = _loop(frames, [make() for _ in range(_ELEMENTS)])
                pipe = el.Pipeline(frames, *[make() for _ in range(_ELEMENTS)])
                native, ours = _least(loop, partial(pipe.run, threads=threads))
                rows.append(
                    Row(
                        f"{size[0]}x{size[1]}, {what}, threads={threads}: loop, overhead",
                        native, ours - native, None, target,
                    )
                )  # fmt: skip
    return rows


def _loop(frames: list[Any], elements: list[Any]) -> Callable[[], object]:
    writes = elements[0].takes.access != "r"

    def run() -> None:
        for frame in frames:
            for element in elements:
                if writes:
                    view = frame.map("cpu", "rw")
                    element.process(view)
                    view.flush()
                else:
                    element.process(frame)

    return run


def _least(
    native: Callable[[], object], ours: Callable[[], object], rounds: int = _ROUNDS
) -> tuple[float, float]:
    """The least microseconds of each for a frame and element, in turns."""
    least = [float("inf")] * 2
    for _ in range(rounds):
        for number, run in enumerate((native, ours)):
            start = time.perf_counter()
            run()
            least[number] = min(least[number], time.perf_counter() - start)
    each = 1e6 / (_FRAMES * _ELEMENTS)
    return least[0] * each, least[1] * each
