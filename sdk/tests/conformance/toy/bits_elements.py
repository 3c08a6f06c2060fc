# SPDX-License-Identifier: Apache-2.0
"""Elements, each of which can have a fault."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import samebytes as sb
import samebytes.elements as el
from samebytes.metadata import SourceIdentifier, find

FAULT = os.environ.get("TOY_FAULT", "none")
if FAULT == "a module that raises":
    raise ImportError("no toy there")


class Count(el.Source):
    """Gives pictures of one value each."""

    frames: Annotated[int, el.Range(1, 1000), el.Doc("how many")] = 9
    gives = el.Image("GRAY8|NV12", memory="cpu", width=64, height=48)
    number = 0

    def negotiate(self, wanted: el.FrameInfo | None) -> el.FrameInfo | None:
        assert wanted is not None
        assert wanted.format is not None
        self.format = wanted.format
        announced = None if FAULT == "a pool that it does not announce" else 4
        return replace(wanted, pool=announced)

    def open(self, context: Any) -> None:
        if FAULT == "an open that raises":
            raise RuntimeError("no camera there")
        cpu = sb.context("cpu")
        format_ = "GRAY8" if FAULT == "one format whatever is wanted" else self.format
        self.pool = el.FramePool(
            lambda: cpu.allocate_frame(format_, 64, 48), maximum=4, timeout=2.0
        )
        self.again: Any = cpu.allocate_frame(format_, 64, 48)
        if FAULT != "a source that goes on where it was":
            self.number = 0
        if FAULT == "a thread that is left":
            threading.Thread(target=threading.Event().wait, daemon=True).start()

    def read(self) -> Any:
        if self.number >= self.frames and FAULT != "a source without end":
            return None
        if FAULT == "a read that raises":
            raise OSError("no frame there")
        self.number += 1
        if FAULT == "another format than announced":
            frame = sb.context("cpu").allocate_frame("BGR", 64, 48)
        elif FAULT == "memory that is used again while it is held":
            frame = self.again.map("cpu", "rw")
            frame.meta = sb.FrameMeta(self.again.meta.info)
        else:
            frame = self.pool.acquire()
        frame.planes[0].native[...] = self.number % 256
        frame.meta.pts, frame.meta.time_base = self.number, Fraction(1, 30)
        return frame

    def close(self) -> None:
        if hasattr(self, "pool"):
            self.pool.close()
            self.again = None


class Add(el.TransformInplace):
    """Adds to each pixel of the first plane."""

    if FAULT == "a parameter without description":
        by: Annotated[int, el.Range(0, 255)] = 1
    else:
        by: Annotated[int, el.Range(0, 255), "what to add"] = 1  # type: ignore[no-redef]  # or so
    takes = el.Image("GRAY8|NV12", memory="cpu", access="rw")

    if FAULT == "parameters that are not checked":

        def __setattr__(self, name: str, value: object) -> None:
            vars(self)[name] = value

    if FAULT == "a constructor that raises":

        def __init__(self, **parameters: Any) -> None:
            super().__init__(**parameters)
            raise ValueError("no adder there")

    if FAULT == "a format that fails":
        takes = el.Image("GRAY8|P010", memory="cpu", access="rw")

    def process(self, frame: sb.Frame[Any]) -> None:
        if FAULT == "a format that fails" and len(frame.planes) > 1:
            raise ValueError("only one plane")
        np.add(frame.planes[0].native, self.by, out=frame.planes[0].native)


class Mean(el.Transform):
    """Notes the mean, and reads only."""

    scale: Annotated[float, el.Doc("of the mean")] = 1.0
    takes = el.Image(memory="cpu")
    concurrent = FAULT == "state that threads share"

    def open(self, context: Any) -> None:
        self.held: list[Any] = []
        self.numbers = Counter[int]()

    def process(self, frame: sb.Frame[Any]) -> Any:
        if FAULT == "a process that raises":
            raise KeyError("no mean there")
        if FAULT == "a result of another type":
            return 7
        if FAULT == "a result that is forgotten":
            return None
        pixels = frame.planes[0].native
        said = find(frame, SourceIdentifier)
        assert said is not None
        stream = 0 if FAULT == "state that streams share" else said.stream_id
        number = self.numbers[stream]
        if self.concurrent:
            time.sleep(0.002)  # others begin before this one ends
        self.numbers[stream] = number + 1
        frame.metadata["mean"] = float(pixels.mean()) * self.scale + number
        if FAULT == "a frame that is held":
            self.held = [frame]
        if FAULT == "a cycle for each frame":
            cycle: list[Any] = [frame.pts]
            cycle.append(cycle)
        if FAULT == "a list that grows":
            self.held.append([frame.pts])
        if FAULT == "writes to what it reads":
            pixels[...] = 0
        if FAULT == "a new frame":
            made = sb.context("cpu").allocate_frame(frame.image.format, 64, 48)
            made.meta.pts = frame.pts
            return made
        return frame


class Half(el.Transform):
    """Gives pictures of half the size."""

    takes = el.Image("GRAY8", memory="cpu")
    gives = el.Image("GRAY8", memory="cpu")

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        assert given.width is not None
        assert given.height is not None
        if FAULT == "a negotiate that raises":
            raise ArithmeticError("no half there")
        width = given.width if FAULT == "another size than announced" else given.width // 2
        return el.FrameInfo("image", "cpu", "GRAY8", width, given.height // 2)

    def open(self, context: Any) -> None:
        cpu = sb.context("cpu")
        self.pool = el.FramePool(lambda: cpu.allocate_frame("GRAY8", 32, 24), maximum=32)

    def process(self, frame: sb.Frame[Any]) -> sb.Frame[Any]:
        made = self.pool.acquire()
        made.planes[0].native[...] = frame.planes[0].native[::2, ::2]
        made.meta.pts = frame.pts
        return made

    def close(self) -> None:
        if hasattr(self, "pool") or FAULT == "a close that needs an open":
            self.pool.close()


class Keep(el.Sink):
    """Writes the values into a file."""

    path: Annotated[Path, el.Doc("where to")]
    takes = el.Image(memory="cpu")

    def open(self, context: Any) -> None:
        self.file = self.path.open("w")

    def write(self, frame: sb.Frame[Any]) -> None:
        if FAULT == "a write that raises":
            raise OSError("no room there")
        self.file.write(f"{frame.planes[0].native.flat[0]}\n")

    def end_of_stream(self, stream: int) -> None:
        if FAULT == "an end that raises":
            raise OSError("no end there")

    def close(self) -> None:
        if FAULT == "a close that raises":
            raise OSError("no file there")
        if hasattr(self, "file") and FAULT != "a file that stays open":
            self.file.close()


class Twice(el.Transform):
    """Gives each picture and its negative, in one of several threads."""

    concurrent = True
    takes = gives = el.Image("GRAY8", memory="cpu")

    def process(self, frame: sb.Frame[Any]) -> Iterator[sb.Frame[Any]]:
        yield frame
        made = sb.context("cpu").allocate_frame("GRAY8", frame.width, frame.height)
        np.subtract(255, frame.planes[0].native, out=made.planes[0].native)
        made.meta.pts = frame.pts
        yield made


class Delay(el.Transform):
    """Gives each frame when three more have come."""

    def open(self, context: Any) -> None:
        self.waiting = deque[sb.Frame[Any]]()

    def process(self, frame: sb.Frame[Any]) -> sb.Frame[Any] | None:
        self.waiting.append(frame)
        return self.waiting.popleft() if len(self.waiting) > 3 else None

    def end_of_stream(self, stream: int) -> Iterator[sb.Frame[Any]]:
        while self.waiting:
            yield self.waiting.popleft()

    def frames_kept(self) -> int:
        return 0 if FAULT == "kept frames that are not counted" else len(self.waiting)

    def close(self) -> None:
        self.waiting = deque()


@el.inplace(takes=el.Image("BGR", memory="cpu", access="rw"))
def fade(frame: sb.Frame[Any], *, to: Annotated[int, el.Range(0, 8), "bits that go"] = 1) -> None:
    """Makes pictures darker."""
    np.right_shift(frame.planes[0].native, to, out=frame.planes[0].native)
