# SPDX-License-Identifier: Apache-2.0
"""Elements for pipelines of tests, and what such pipelines give."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg

GRAY = "video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1"
SOURCE = f"videotestsrc num-buffers=3 ! {GRAY}"


def frames_of(text: str) -> list[Any]:
    """The frames of a pipeline."""
    with sbg.GStreamerSource(text) as source:
        return list(source)


def first_bytes(text: str) -> list[int]:
    """The first byte of each frame."""
    return [int(frame.map("cpu").planes[0].native[0, 0]) for frame in frames_of(text)]


def error_of(text: str) -> str:
    """Return the error text of a pipeline that fails."""
    with pytest.raises(sbg.PipelineError) as caught:
        frames_of(text)
    return str(caught.value)


@el.inplace(takes=el.Image("GRAY8|NV12|I420", memory="cpu", access="rw"))
def fill(
    frame: Any, *, value: Annotated[int, el.Range(0, 255), el.Doc("of each byte")] = 5
) -> None:
    """Sets all bytes of the first plane."""
    frame.planes[0].native[...] = value


@el.inplace(takes=el.Image(memory="cpu"))
def mark(frame: Any, *, label: str = "thing") -> None:
    frame.regions.append(sb.Region(len(frame.regions) + 1, 2, 3, 4, label, 0.5))


@el.transform(takes=el.Image("GRAY8", memory="cpu"))
def fails(frame: Any, *, at: int = 0) -> Any:
    if frame.pts >= at:
        raise ValueError("the function's own words")
    return frame


@el.transform(takes=el.Image("GRAY8", memory="cpu"), gives=el.Image("GRAY8", memory="cpu"))
def thrice(_: Any) -> Iterator[Any]:
    for number in range(3):
        made = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
        made.native[0][...] = number
        yield made


class Halve(el.Transform):
    """Every other pixel."""

    takes = el.Image("GRAY8", memory="cpu")
    gives = el.Image("GRAY8", memory="cpu")

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        assert given.width is not None
        assert given.height is not None
        if given.width < 16:
            raise ValueError("pictures of 16 columns at least")
        return replace(given, width=given.width // 2, height=given.height // 2)

    def process(self, frame: Any) -> Any:
        info = frame.meta.info
        half = sb.context("cpu").allocate_frame("GRAY8", info.width // 2, info.height // 2)
        half.native[0][...] = frame.planes[0].native[::2, ::2]
        return half


class Record(el.Sink):
    """Notes what is called."""

    takes = el.Image(memory="cpu")
    path: Path

    def note(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{text}\n")

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        self.note(f"{given}")
        return given

    def open(self, context: Any) -> None:
        self.note(f"open {context.node}")

    def write(self, frame: Any) -> None:
        self.note(f"write {frame.planes[0].native.shape}")

    def end_of_stream(self, stream: int) -> None:
        self.note(f"end {stream}")

    def close(self) -> None:
        self.note("close")


class Waits(el.Transform):
    """Waits until it is interrupted."""

    takes = el.Image(memory="cpu")
    waiting = threading.Event()
    ended = threading.Event()

    def open(self, context: Any) -> None:
        self._go_on = threading.Event()

    def process(self, frame: Any) -> Any:
        self.waiting.set()
        assert self._go_on.wait(20)
        self.ended.set()
        return frame

    def interrupt(self) -> None:
        self._go_on.set()


class Shape(Enum):
    ROUND = 1
    SQUARE = 2


class Typed(el.TransformInplace):
    """One parameter of each type."""

    takes = el.Image(memory="cpu")
    number: int
    big_number: Annotated[int, el.Range(10, 20)] = 12
    share: Annotated[float, el.Range(0, 1), el.Doc("of the picture")] = 0.5
    flag: bool = True
    word: Annotated[str, el.Choices("a", "b")] = "a"
    mode: Literal["x", "y"] = "x"
    path: Path = Path("/tmp")
    shape: Shape = Shape.ROUND
    maybe: int | None = None
    names: list[str] = []  # noqa: RUF012 - read alone

    seen: ClassVar[Any] = None

    def process(self, frame: Any) -> None:
        frame.metadata["x"] = 1
        type(self).seen = self.parameters


ELEMENTS: tuple[Any, ...] = (fill, mark, fails, thrice, Halve, Record, Waits, Typed)
