# SPDX-License-Identifier: Apache-2.0
"""The demo's pipeline in three ways, as functions: for benchmarks, and to read.

    result = run_samebytes(Path("in.mp4"), Path("out.mp4"))
    result.frames, result.seconds, result.copied_bytes, result.boxes

They decode a video, find boxes, draw them into the frames and encode those. All three do the same,
and differ in how the bytes get from one framework to the next. The way with samebytes is a pipeline
of elements, the others are plain loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from ._boxes import Box
from ._clip import make_clip
from ._copying import CopyingWay, why_not
from ._detector import Detector, MotionDetector
from ._errors import DemoError
from ._loop import LoopWay, Result, run_loop
from ._native import NativeWay
from ._pages import planes_on_pages_of_their_own
from ._pipeline import SamebytesWay, run_pipeline
from ._reader import Picture, Reader
from ._verify import VerifyingWay
from ._writer import Writer

__all__ = [
    "NATIVE_WAIT",
    "WAIT",
    "Box",
    "DemoError",
    "Result",
    "make_clip",
    "run_copying",
    "run_native",
    "run_samebytes",
]

WAIT = 32
"""The number of frames that may wait for the decoder to release them."""

NATIVE_WAIT = 8
"""The number of frames that always wait if that is unknown: enough for libx264's defaults."""

MakeDetector = Callable[[Picture], Detector]
OnFrame = Callable[[int], None]


def run_samebytes(
    source: Path,
    target: Path,
    *,
    detector: MakeDetector = MotionDetector,
    frames: int | None = None,
    wait: int = WAIT,
    allow_copy: bool = False,
    verify: bool = True,
    own_pages: bool = False,
    options: Mapping[str, str] | None = None,
    threads: int | None = None,
    on_frame: OnFrame | None = None,
) -> Result:
    """Run the pipeline without a copy, with samebytes.

    Args:
        source: a video file.
        target: the video file to write.
        detector: makes the detector for such frames.
        frames: stop after this many frames.
        wait: how many frames may wait for the decoder to release them.
        allow_copy: copy a frame that has waited in vain. It is counted.
        verify: compare addresses and write through them in every frame, and stop if bytes turn
            out to have been copied. The stages' times then include that.
        own_pages: put FFmpeg's planes on their own pages, as an NPU needs them.
        options: options of the encoder, for instance {"preset": "ultrafast"}.
        threads: how many threads the decoder and the encoder each use; None for FFmpeg's choice.
        on_frame: called with the number of frames decoded so far.

    Raises:
        DemoError: a file cannot be read or written; or a copy is needed and not allowed.
    """
    make = partial(VerifyingWay if verify else SamebytesWay, allow_copy=allow_copy)
    with planes_on_pages_of_their_own() if own_pages else nullcontext():
        return _run(make, source, target, detector, frames, wait, options, threads, on_frame)


def run_native(
    source: Path,
    target: Path,
    *,
    detector: MakeDetector = MotionDetector,
    frames: int | None = None,
    wait: int = NATIVE_WAIT,
    allow_copy: bool = False,
    options: Mapping[str, str] | None = None,
    threads: int | None = None,
    on_frame: OnFrame | None = None,
) -> Result:
    """Run it without a copy, by hand: like `run_samebytes`, but every frame waits for `wait`."""
    make = partial(NativeWay, allow_copy=allow_copy)
    return _run(make, source, target, detector, frames, wait, options, threads, on_frame)


def run_copying(
    source: Path,
    target: Path,
    *,
    detector: MakeDetector = MotionDetector,
    frames: int | None = None,
    options: Mapping[str, str] | None = None,
    threads: int | None = None,
    on_frame: OnFrame | None = None,
) -> Result:
    """Run it in the usual idiom, which copies; otherwise like `run_samebytes`.

    Raises:
        DemoError: as for that, and for formats that PyAV does not turn into arrays.
    """
    return _run(CopyingWay, source, target, detector, frames, WAIT, options, threads, on_frame)


def _run(
    make_way: Callable[[Detector, Picture], SamebytesWay | LoopWay[Any]],
    source: Path,
    target: Path,
    detector: MakeDetector,
    frames: int | None,
    wait: int,
    options: Mapping[str, str] | None,
    threads: int | None,
    on_frame: OnFrame | None,
) -> Result:
    if target.exists() and source.exists() and target.samefile(source):
        raise DemoError(f"{target} would be overwritten while it is read: write somewhere else")
    with Reader(source, threads=threads) as reader:
        picture = reader.picture
        if make_way is CopyingWay:
            if (reason := why_not(picture)) is not None:
                raise DemoError(reason)
            picture = picture.dense()
        way = make_way(detector(picture), picture)
        with Writer(target, reader, options, threads=threads) as writer:
            if isinstance(way, SamebytesWay):
                return run_pipeline(
                    reader, writer, way, frames=frames, wait=wait, on_frame=on_frame
                )
            return run_loop(reader, writer, way, frames=frames, wait=wait, on_frame=on_frame)
