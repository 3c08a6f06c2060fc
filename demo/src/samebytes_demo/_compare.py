# SPDX-License-Identifier: Apache-2.0
"""The timed passes of the pipeline with samebytes, by hand and in the copying idiom, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import cv2

from ._boxes import Box
from ._detector import Detector
from ._errors import DemoError
from ._loop import CODECS, Result
from ._reader import Picture
from ._rounds import Comparison, take_turns
from ._stopwatch import Timing
from .pipelines import run_copying, run_native, run_samebytes

__all__ = ["FRAMES", "ROUNDS", "compare_pipelines", "one_thread", "possible"]

FRAMES = 20
"""The frames of one pass, at most."""
ROUNDS = 9
"""The passes of each way: each of three ways begins as many rounds as the others."""
_FAST = {"preset": "ultrafast"}
"""Options of libx264. Every way encodes alike: with less of it, differences show better."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Make OpenCV work only in the caller's thread."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def compare_pipelines(
    source: Path,
    scratch: Path,
    detector: Callable[[Picture], Detector],
    boxes: list[list[Box]],
    *,
    options: Mapping[str, Any],
    missing: Mapping[str, str],
    on_pass: Callable[[int], None],
) -> Comparison:
    """Decode, infer, draw and encode; every codec and model with one thread.

    Args:
        scratch: a file to write, again and again.
        detector: makes the detector for such frames.
        boxes: the boxes of the earlier pass, with which every pass is compared.
        options: wait, allow_copy and own_pages of `run_samebytes`.
        missing: the ways that are left out, with the reasons.
        on_pass: called with the number of passes that are done.

    Raises:
        DemoError: samebytes cannot do it.
    """
    frames = min(FRAMES, len(boxes))
    run: dict[str, Callable[..., Result]] = {
        "samebytes": partial(run_samebytes, verify=False, **options),
        "by hand": partial(run_native, allow_copy=options["allow_copy"]),
        "copying": run_copying,
    }
    others: set[str] = set()

    def one_pass(name: str) -> Timing:
        result = run[name](
            source, scratch, detector=detector, frames=frames, options=_FAST, threads=1
        )
        if result.boxes != boxes[:frames]:
            others.add(name)
        return result.timing

    missing = dict(missing)
    ways = {name: partial(one_pass, name) for name in possible(run, missing, one_pass)}
    comparison = take_turns(ways, ROUNDS, CODECS, on_pass)
    comparison.missing = missing
    comparison.disagree = sorted(others)
    return comparison


def possible(
    names: Iterable[str], missing: dict[str, str], one_pass: Callable[[str], object]
) -> list[str]:
    """The ways that run; the reasons why others do not are added to `missing`.

    Each runs a pass that is not measured: otherwise the first would pay for what all need, such as
    loading the code of the codecs.

    Raises:
        DemoError: samebytes itself does not run.
    """
    found = []
    for name in names:
        if name in missing:
            continue
        try:
            one_pass(name)
        except DemoError as error:
            if name == "samebytes":
                raise
            missing[name] = str(error)
        else:
            found.append(name)
    return found
