# SPDX-License-Identifier: Apache-2.0
"""The demo's pipeline against the same job written by hand, and in the copying idiom."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from samebytes_demo.pipelines import Result, make_clip, run_copying, run_native, run_samebytes

from .measure import Row

__all__ = ["pipeline_rows"]

_ROUNDS = 5
_SIZE = (1280, 720)
_FRAMES = 60
_OPTIONS: dict[str, Any] = {"threads": 1, "options": {"preset": "ultrafast"}}


def pipeline_rows() -> list[Row]:
    """CPU time of a frame, in turns, each codec with one thread as in the demo.

    The ratios are medians over rounds.
    """
    with tempfile.TemporaryDirectory() as folder:
        clip, out = Path(folder, "clip.mp4"), Path(folder, "out.mp4")
        make_clip(clip, _FRAMES, *_SIZE)
        ways: dict[str, Callable[[Path, Path], Result]] = {
            "samebytes": partial(run_samebytes, verify=False, **_OPTIONS),
            "by hand": partial(run_native, **_OPTIONS),
            "copying": partial(run_copying, **_OPTIONS),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(_ROUNDS + 1):
            for name, run in ways.items():
                result = run(clip, out)
                if number:  # the first round warms up
                    times[name].append(result.timing.cpu_ms())
    size = f"{_SIZE[0]}x{_SIZE[1]}, {_FRAMES} frames"
    return [
        _row(f"against code written by hand, {size}", times, "by hand", 1.02),
        _row(f"against the copying idiom, {size}", times, "copying", 1.0),
    ]


def _row(name: str, times: dict[str, list[float]], other: str, target: float) -> Row:
    ours, theirs = times["samebytes"], times[other]
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return Row(name, statistics.median(theirs), statistics.median(ours), ratio, target, "ms")
