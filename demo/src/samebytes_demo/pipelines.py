# SPDX-License-Identifier: Apache-2.0
"""The demo's pipeline in three ways, as functions: for benchmarks, and to read.

    result = run_samebytes(Path("in.mp4"), Path("out.mp4"))
    result.frames, result.seconds, result.copied_bytes, result.boxes

They decode a video, find boxes, draw them into the frames and encode those. All three do the same,
and differ in the way in which the bytes get from one framework to the next: with samebytes as a
pipeline of elements, in the others as a plain loop.
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
"""Frames that may wait for the decoder to release them."""

NATIVE_WAIT = 8
"""Frames that always wait where that cannot be asked: enough for what libx264 makes by default."""

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
    """Without a copy, with samebytes.

    Args:
        source: a video file.
        target: the video file to write.
        detector: makes what finds the boxes in such frames.
        frames: stop after so many.
        wait: how many frames may wait for the decoder to release them.
        allow_copy: copy a frame that has waited in vain. It is counted.
        verify: compare addresses and write through them in every frame, and stop where bytes
            turn out to have been copied. The stages' times then include that.
        own_pages: have FFmpeg's planes lie on their own pages, as an NPU wants them.
        options: for the encoder, for instance {"preset": "ultrafast"}.
        threads: of the decoder and the encoder, each; None for as many as FFmpeg likes.
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
    """Without a copy, by hand. As `run_samebytes`; every frame waits for the whole of `wait`."""
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
    """In the usual idiom, which copies. As `run_samebytes`.

    Raises:
        DemoError: as there, and for formats that PyAV does not turn into arrays.
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
