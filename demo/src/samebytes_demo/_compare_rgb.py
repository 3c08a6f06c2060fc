# SPDX-License-Identifier: Apache-2.0
"""The timed passes of an RGB model on decoded frames, and the differences of the ways' pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from samebytes.errors import SamebytesError

from ._compare import ROUNDS, possible
from ._errors import DemoError
from ._net import Network
from ._reader import Reader
from ._rgb import ByHandRgb, CopyingRgb, RgbWay, SamebytesRgb
from ._rounds import Comparison, take_turns
from ._stopwatch import Stopwatch, Timing

__all__ = ["Difference", "RgbComparison", "compare_rgb"]

_WAYS: Mapping[str, type[RgbWay]] = {way.name: way for way in (SamebytesRgb, ByHandRgb, CopyingRgb)}
_CODECS = ("decode",)
_STAGES = ("decode", "picture and model")
_FRAMES = 40
"""The frames of one pass, at most: they cost less than those of the whole pipeline."""
_SAMPLES = 5
"""The number of frames whose pixels are compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between the model's inputs in two ways, in steps of 0 to 255.

    Attributes:
        mean: the mean over all elements.
        most: the largest of one element.
    """

    mean: float
    most: float


@dataclass(slots=True)
class RgbComparison:
    """A `Comparison`, and the inputs that the other ways gave the model.

    Attributes:
        differences: from samebytes to the other ways, by their names.
    """

    comparison: Comparison
    differences: dict[str, Difference]


def compare_rgb(
    source: Path,
    network: Network,
    frames: int,
    *,
    missing: Mapping[str, str],
    on_pass: Callable[[int], None],
) -> RgbComparison:
    """Decode, make the model's picture and run it; every codec and model with one thread.

    Args:
        frames: the number of frames of the video.
        missing: the ways that are left out, with the reasons.
        on_pass: called with the number of passes that are done.

    Raises:
        DemoError: samebytes cannot give the model such frames.
    """
    frames = min(_FRAMES, frames)
    made = {name: _Made(way, network) for name, way in _WAYS.items() if name not in missing}
    missing = dict(missing)
    names = possible(made, missing, lambda name: _one_pass(source, made[name], frames))
    ways = {name: partial(_one_pass, source, made[name], frames) for name in names}
    comparison = take_turns(ways, ROUNDS, _CODECS, on_pass)
    comparison.missing = missing
    return RgbComparison(comparison, _differences(source, network, names, frames))


class _Made:
    """A way that is made for the first frame that it gets, so that models are compiled once."""

    def __init__(self, kind: type[RgbWay], network: Network) -> None:
        self._kind, self._network = kind, network
        self._way: RgbWay | None = None

    def way(self, reader: Reader) -> RgbWay:
        if self._way is None:
            try:
                self._way = self._kind(self._network, reader.picture)
            except SamebytesError as error:
                raise DemoError(str(error)) from error
        return self._way


def _one_pass(source: Path, made: _Made, frames: int) -> Timing:
    with Reader(source, threads=1) as reader:
        way = made.way(reader)
        watch = Stopwatch(_STAGES, lambda: way.made_bytes)
        for frame in reader.frames(frames):
            watch.lap("decode")
            way.infer(frame)
            watch.lap("picture and model")
            watch.timing.frames += 1
        return watch.timing


def _differences(
    source: Path, network: Network, names: list[str], frames: int
) -> dict[str, Difference]:
    """The differences between the images that a model sees, in frames spread over a pass."""
    chosen = set(np.linspace(0, frames - 1, min(_SAMPLES, frames)).astype(int).tolist())
    echo = network.echo()
    apart: dict[str, list[np.ndarray]] = {name: [] for name in names if name != "samebytes"}
    with Reader(source) as reader:
        ways = {name: _Made(_WAYS[name], echo).way(reader) for name in names}
        for number, frame in enumerate(reader.frames(frames)):
            if number in chosen:
                seen = {name: way.infer(frame).astype(np.float64) for name, way in ways.items()}
                for name, values in apart.items():
                    values.append(np.abs(seen[name] - seen["samebytes"]))
    return {
        name: Difference(float(np.mean(values)), float(np.max(values)))
        for name, values in apart.items()
    }
