# SPDX-License-Identifier: Apache-2.0
"""The whole demo against the same job written by hand, and in the copying idiom."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from samebytes_demo.pipelines import Result, make_clip, run_copying, run_native, run_samebytes

from .measure import Row

__all__ = ["pipeline_rows"]

_ROUNDS = 5
_SIZE = (1280, 720)
_FRAMES = 90


def pipeline_rows() -> list[Row]:
    """Seconds for the clip, in turns, as the demo does it; the ratios are medians over rounds."""
    with tempfile.TemporaryDirectory() as folder:
        clip, out = Path(folder, "clip.mp4"), Path(folder, "out.mp4")
        make_clip(clip, _FRAMES, *_SIZE)
        ways: dict[str, Callable[[Path, Path], Result]] = {
            "samebytes": partial(run_samebytes, verify=False),
            "by hand": run_native,
            "copying": run_copying,
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(_ROUNDS + 1):
            for name, run in ways.items():
                result = run(clip, out)
                if number:  # the first round warms up
                    seconds[name].append(result.seconds)
    size = f"{_SIZE[0]}x{_SIZE[1]}, {_FRAMES} frames"
    return [
        _row(f"against code written by hand, {size}", seconds, "by hand", 1.02),
        _row(f"against the copying idiom, {size}", seconds, "copying", 1.0),
    ]


def _row(name: str, seconds: dict[str, list[float]], other: str, target: float) -> Row:
    ours, theirs = seconds["samebytes"], seconds[other]
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return Row(name, statistics.median(theirs), statistics.median(ours), ratio, target, "s")
