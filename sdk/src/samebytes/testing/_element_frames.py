# SPDX-License-Identifier: Apache-2.0
"""Frames made for an element, the source that sends them, and the parts that are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import samebytes
from samebytes import Frame
from samebytes.elements import FrameInfo, Image, Media, Sink, Source
from samebytes.errors import SamebytesError

from ._memory import fill_each

__all__ = [
    "FORMATS",
    "Frames",
    "Wants",
    "address_in",
    "bytes_of",
    "patterns_of",
    "picture",
    "seen",
    "wrapped",
]

FORMATS = ("BGR", "RGB", "BGRA", "GRAY8", "NV12", "I420", "P010", "YUY2")
"""Formats of many kinds; an element takes some of them."""


def picture(format_: str, width: int, height: int, number: int) -> Frame:
    """A new frame in memory of the CPU, whose bytes and pts depend on the number."""
    frame = samebytes.context("cpu").allocate_frame(format_, width, height)
    fill_each([plane.native for plane in frame.planes], number)
    frame.meta.pts, frame.meta.time_base = number, Fraction(1, 30)
    return frame


def wrapped(given: Any) -> Frame:
    """A Frame for the object that a suite's `frame` returned."""
    return given if isinstance(given, Frame) else samebytes.frame(given)


def patterns_of(declared: Any) -> tuple[Any, ...] | None:
    """`takes` or `gives` of a class as a tuple; None if only its instances know it."""
    found = declared if isinstance(declared, tuple | list) else (declared,)
    return tuple(found) if all(isinstance(one, Media) for one in found) else None


def bytes_of(frame: Frame) -> str:
    """A digest of all bytes of the frame; if this needs a copy, the copy is counted as usual."""
    digest = hashlib.sha1(usedforsecurity=False)
    for plane in frame.map("cpu", copy=True).planes:
        digest.update(np.ascontiguousarray(plane.native).data)
    return digest.hexdigest()


def seen(frame: Frame) -> tuple[Any, ...]:
    """The layout, time, bytes, metadata and regions of a frame, for comparison."""
    meta = frame.meta
    return str(meta.info), meta.pts, bytes_of(frame), dict(meta.metadata), list(meta.regions)


def address_in(frame: Frame) -> int:
    """The address of the first plane of a frame, or the frame's id if it has no address."""
    try:
        return frame.planes[0].handle()
    except SamebytesError:
        return id(frame)


class Frames(Source):
    """A source of frames that a function makes; it announces the description of the first one.

    Args:
        make: returns the frame of a number.
        count: how many frames there are; None for a stream without end.

    Attributes:
        number: how many frames were read.
    """

    name = "frames"

    def __init__(self, make: Callable[[int], Frame], count: int | None) -> None:
        super().__init__()
        self._make = make
        self._count = count
        self.number = 0

    def negotiate(self, wanted: FrameInfo | None) -> FrameInfo:
        """The description of the first frame, which is made only for this."""
        return FrameInfo.of(self._make(0))

    def open(self, context: Any) -> None:
        """Begin again with the first frame."""
        self.number = 0

    def read(self) -> Frame | None:
        """The next frame."""
        if self.number == self._count:
            return None
        self.number += 1
        return self._make(self.number - 1)


class Wants(Sink):
    """A sink that takes images of one format, in any memory.

    Args:
        format_: the name of the format.
    """

    name = "wants"

    def __init__(self, format_: str) -> None:
        super().__init__()
        vars(self)["takes"] = Image(format_)

    def write(self, frame: Frame) -> None:
        """Do nothing: receiving the frame is enough."""
