# SPDX-License-Identifier: Apache-2.0
"""The pipeline as a plain loop: decode, detect, wait, draw, encode.

Three pipelines do this, and differ only in how the bytes get from FFmpeg to OpenVINO, to OpenCV and
back. That is a `Way`. The way of samebytes runs as elements, in `_pipeline`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import av

from samebytes import Route

from ._boxes import Array, Box
from ._delay import DelayLine
from ._detector import Detector
from ._errors import DemoError
from ._reader import Picture, Reader
from ._stopwatch import Stopwatch, Timing
from ._writer import Writer

__all__ = ["CODECS", "STAGES", "LoopWay", "Result", "Way", "run_loop", "still_in_use"]

STAGES = ("decode", "hand over", "infer", "draw", "encode")

CODECS = ("decode", "encode")
"""The stages whose work is the same in every pipeline."""

H = TypeVar("H")


class Way(ABC, Generic[H]):
    """A way in which one pipeline passes the bytes on. `H` is what it keeps for each frame.

    Attributes:
        name: the name of the pipeline.
        copied_bytes: the bytes that this pipeline has copied between the frameworks so far, if it
            counts them itself.
        equal_addresses: how often two frameworks were seen to use the same address.
        writes_seen: how often a byte written through one framework was read through another.
        routes: the mappings in the order in which a frame goes through them.
    """

    name: str
    copied_bytes: int = 0
    equal_addresses: int = 0
    writes_seen: int = 0
    routes: tuple[Route, ...] = ()

    def __init__(self, detector: Detector, picture: Picture, *, allow_copy: bool) -> None:
        self.detector = detector
        self.picture = picture
        self.image = picture.image
        self.allow_copy = allow_copy

    @abstractmethod
    def take(self, frame: av.VideoFrame) -> H:
        """Hand a decoded frame to OpenVINO."""

    @abstractmethod
    def infer(self, now: H, before: H) -> Array:
        """Run the model on a frame and the one before; return its output, valid until the next."""

    def copied(self) -> int:
        """The bytes copied between the frameworks so far.

        Bytes that FFmpeg, OpenVINO and OpenCV move internally do not count.
        """
        return self.copied_bytes

    def finish(self) -> None:
        """End the way after the last frame was drawn."""


class LoopWay(Way[H]):
    """A way that `run_loop` runs."""

    @abstractmethod
    def free(self, held: H) -> bool:
        """True if nobody else reads the frame that will be drawn into."""

    @abstractmethod
    def draw(self, held: H, boxes: Sequence[Box]) -> av.VideoFrame:
        """Draw into the frame, and return the frame to encode.

        Raises:
            DemoError: the frame is not free, and copies are not allowed.
        """


@dataclass(slots=True)
class Result:
    """The results of one pipeline.

    Attributes:
        pipeline: the name of the pipeline.
        timing: the cost of each of STAGES, without opening files and compiling the model.
        frames: how many frames it wrote.
        boxes: the boxes found in each frame.
        copied_bytes, equal_addresses, writes_seen, routes: as in `Way`.
        longest_wait: after how many frames the decoder released a frame, at most.
        encoder: FFmpeg's name of the encoder.
    """

    pipeline: str
    timing: Timing
    frames: int = 0
    boxes: list[list[Box]] = field(default_factory=list)
    copied_bytes: int = 0
    equal_addresses: int = 0
    writes_seen: int = 0
    routes: tuple[Route, ...] = ()
    longest_wait: int = 0
    encoder: str = ""

    @property
    def seconds(self) -> float:
        """The wall time of all stages."""
        return sum(cost.wall for cost in self.timing.stages.values())


def run_loop(
    reader: Reader,
    writer: Writer,
    way: LoopWay[Any],
    *,
    frames: int | None = None,
    wait: int,
    on_frame: Callable[[int], None] | None = None,
) -> Result:
    """Send a video through a pipeline.

    Args:
        frames: stop after so many.
        wait: how many frames may wait for the decoder to release them.
        on_frame: called with the number of frames decoded so far.

    Raises:
        DemoError: a file cannot be read or written; or a copy is needed and not allowed.
    """
    line: DelayLine[tuple[Any, list[Box]]] = DelayLine(lambda item: way.free(item[0]), wait)
    watch = Stopwatch(STAGES, way.copied)
    result = Result(way.name, watch.timing, encoder=writer.codec)

    def finish(item: tuple[Any, list[Box]]) -> None:
        frame = way.draw(*item)
        watch.lap("draw")
        writer.write(frame)
        watch.lap("encode")

    before: Any = None
    for frame in reader.frames(frames):
        watch.lap("decode")
        now = way.take(frame)
        watch.lap("hand over")
        found = way.detector.boxes(way.infer(now, now if before is None else before))
        watch.lap("infer")
        result.boxes.append(found)
        before = now
        for item in line.put((now, found)):
            finish(item)
        if on_frame is not None:
            on_frame(len(result.boxes))
    reader.let_go()
    for item in line.drain():
        finish(item)
    writer.finish()
    watch.lap("encode")
    way.finish()
    result.frames = watch.timing.frames = writer.frames
    result.copied_bytes = way.copied()
    result.equal_addresses = way.equal_addresses
    result.writes_seen = way.writes_seen
    result.routes = way.routes
    result.longest_wait = line.longest
    return result


def still_in_use() -> DemoError:
    """The error for a frame that left the delay line before the decoder released it."""
    return DemoError(
        "the decoder still refers to a frame that has waited as long as it may: let it wait "
        "longer (--wait), or allow a copy, which is counted (--allow-copy)"
    )
