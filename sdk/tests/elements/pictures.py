# SPDX-License-Identifier: Apache-2.0
"""Sources and elements of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import samebytes as sb
import samebytes.elements as el

WIDTH, HEIGHT = 16, 8


def frame(number: int = 0, format_: str = "GRAY8", width: int = WIDTH) -> sb.Frame[Any]:
    """A picture of one value, which is its pts too."""
    made = sb.context("cpu").allocate_frame(format_, width, HEIGHT)
    for plane in made.planes:
        plane.native[...] = number % 256
    made.meta.pts = number
    return made


def frames(count: int) -> Iterator[sb.Frame[Any]]:
    """Pictures from 0."""
    return (frame(number) for number in range(count))


@el.source(gives=el.Image("GRAY8", memory="cpu", width=WIDTH, height=HEIGHT))
def numbers(*, count: int = 5, start: int = 0) -> Iterator[sb.Frame[Any]]:
    """Pictures of one value each."""
    for number in range(start, start + count):
        yield frame(number)


@el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
def add(picture: Any, *, by: Annotated[int, el.Range(0, 255)] = 1) -> None:
    """Add to each pixel."""
    picture.planes[0].native[...] += by


class Collect(el.Sink):
    """Keeps the values that it is given."""

    takes = el.Image(memory="cpu")

    def open(self, context: Any) -> None:
        self.values: list[int] = []

    def write(self, picture: Any) -> None:
        self.values.append(int(picture.planes[0].native[0, 0]))


class Log(el.Transform):
    """Notes what is called."""

    calls: list[str]
    fails: str = ""

    def _note(self, what: str) -> None:
        self.calls.append(what)
        if what == self.fails:
            raise RuntimeError(f"{what} fails")

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        self._note("negotiate")
        return super().negotiate(given)

    def open(self, context: Any) -> None:
        self._note("open")

    def process(self, picture: Any) -> Any:
        self._note("process")
        return picture

    def end_of_stream(self, stream: int) -> None:
        self._note("end")

    def close(self) -> None:
        self._note("close")


_slot: Any = sb.Frame.readonly


class Decoded(sb.Frame[Any]):
    """A frame that its decoder still reads, for a while."""

    __slots__ = ()
    may_become_writable = True
    busy: ClassVar[set[int | None]] = set()

    @property
    def readonly(self) -> bool:
        return self.pts in self.busy

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _slot.__set__(self, value)


def decoded(count: int, behind: int) -> Iterator[Any]:
    """Frames that become writable when `behind` newer ones have been read."""
    for number in range(count):
        whole = frame(number)
        Decoded.busy.add(number)
        Decoded.busy.discard(number - behind)
        yield Decoded.borrowed(whole.native, whole.context, whole.meta, keep=whole)
    Decoded.busy.clear()
