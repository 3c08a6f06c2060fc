# SPDX-License-Identifier: Apache-2.0
"""The progress of a pipeline, if its sources know how many frames there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._statistics import Meter

__all__ = ["Progress", "progress_of"]


@dataclass(frozen=True)
class Progress:
    """The progress of a running pipeline.

    Attributes:
        frames_read: frames that its sources have given.
        frames_expected: about how many frames they expect to give in all; None if one of them does
            not know, such as a camera.
        seconds_left: the time until then, at the rate so far; None if that is not known.
    """

    frames_read: int
    frames_expected: int | None = None
    seconds_left: float | None = None


def progress_of(sources: Sequence[Meter], expected: int | None) -> Progress:
    """The progress of a pipeline.

    Args:
        sources: the meters of its sources.
        expected: frames in all.
    """
    read = sum(meter.frames_out for meter in sources)
    if expected is None:
        return Progress(read)
    # Without the first frame of each: meanwhile, a model further on may have been compiled.
    rates = sum(
        (meter.frames_in - 1) / (meter.latest - meter.first)
        for meter in sources
        if meter.latest > meter.first
    )
    left = max(expected - read, 0)
    return Progress(read, expected, left / rates / 1e9 if rates else None)
