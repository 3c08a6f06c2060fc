# SPDX-License-Identifier: Apache-2.0
"""Elements for the scenarios; the processes of actors import them."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import ray

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata

WIDTH, HEIGHT = 640, 480
GRAY = el.Image("GRAY8", memory="cpu")


def picture(number: int) -> sb.Frame:
    """One whose bytes and time say its number; larger than what Ray keeps out of its store."""
    made = sb.frame(np.full((HEIGHT, WIDTH), number % 251, np.uint8), format="GRAY8")
    made.meta.pts = number
    return made


class Pictures(el.Source):
    """So many pictures; it counts how many were read."""

    count: int = 20
    gives = el.Image("GRAY8", memory="cpu", width=WIDTH, height=HEIGHT)
    number = 0
    opened = 0

    def open(self, context: Any) -> None:
        self.number = 0
        self.opened += 1

    def read(self) -> sb.Frame | None:
        if self.number == self.count:
            return None
        self.number += 1
        return picture(self.number - 1)


class Brighten(el.TransformInplace):
    """Writes into its frames."""

    by: int = 1
    takes = el.Image("GRAY8", memory="cpu", access="rw")

    def process(self, frame: sb.Frame) -> None:
        frame.planes[0].native[...] += self.by


class Look(el.TransformInplace):
    """Adds metadata of every kind, and says where it runs."""

    takes = GRAY

    def process(self, frame: sb.Frame) -> None:
        array = frame.planes[0].native
        frame.metadata["mean"] = float(array.mean())
        frame.metadata["row"] = sb.tensor(array[0].copy())
        frame.regions.append(sb.Region(1, 2, 3, 4, "cat", 0.5, {"pixel": int(array[2, 1])}))
        metadata.add(frame, metadata.Detection(0.25, 0.5, 0.5, 1.0, "cat"))


class Where(el.TransformInplace):
    """Notes the node and process, and whether the frame can be written to."""

    takes = GRAY
    key: str = "where"

    def process(self, frame: sb.Frame) -> None:
        node = ray.get_runtime_context().get_node_id()
        frame.metadata[self.key] = (node, os.getpid(), frame.readonly)


class Half(el.Transform):
    """Gives new frames, and none for odd numbers."""

    takes = GRAY
    gives = el.Image("GRAY8", memory="cpu")

    def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
        assert given.width
        assert given.height
        return el.FrameInfo("image", "cpu", "GRAY8", given.width // 2, given.height // 2)

    def process(self, frame: sb.Frame) -> sb.Frame | None:
        if frame.pts is None or frame.pts % 2:
            return None
        made = sb.frame(frame.planes[0].native[::2, ::2].copy(), format="GRAY8")
        made.meta.pts = frame.pts
        return made


class Twice(el.Transform):
    """Gives each frame, and a new one."""

    takes = GRAY
    gives = el.Image("GRAY8", memory="cpu")

    def process(self, frame: sb.Frame) -> Any:
        made = sb.frame(frame.planes[0].native + np.uint8(1), format="GRAY8")
        made.meta.pts = frame.pts
        yield frame
        yield made


class Batch(el.Transform):
    """Keeps frames until there are four."""

    takes = GRAY
    fail_at: int = -1
    once: Path = Path()

    def open(self, context: Any) -> None:
        self.kept: list[sb.Frame] = []

    def process(self, frame: sb.Frame) -> Any:
        if frame.pts == self.fail_at:
            die_once(self.once)
        self.kept.append(frame)
        if len(self.kept) == 4:
            given, self.kept = self.kept, []
            yield from given

    def end_of_stream(self, stream: int) -> Any:
        given, self.kept = self.kept, []
        return given


class Dies(el.TransformInplace):
    """Its process is killed at some frames, each once, or each time."""

    takes = GRAY
    at: tuple[int, int] = (3, 7)
    once: Path = Path()
    always: bool = False

    def process(self, frame: sb.Frame) -> None:
        if frame.pts in self.at:
            die_once(self.once / str(frame.pts), always=self.always)
        frame.metadata["by"] = os.getpid()


class Raises(el.TransformInplace):
    """Raises at one frame, and writes down how it was closed."""

    takes = GRAY
    at: int = 5
    diary: Path = Path()

    def process(self, frame: sb.Frame) -> None:
        if frame.pts == self.at:
            raise ZeroDivisionError("no such picture")

    def close(self) -> None:
        self.diary.write_text(str(self.run_failed))


class Holds(el.TransformInplace):
    """Cannot be pickled."""

    takes = GRAY

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def process(self, frame: sb.Frame) -> None:
        pass


class FailsToOpen(el.Sink):
    """Raises in open()."""

    def open(self, context: Any) -> None:
        raise FileNotFoundError("model.xml")

    def write(self, frame: sb.Frame) -> None:
        pass


class GivesAtEnd(el.Transform):
    """Gives a frame at the end of the stream that comes from none."""

    takes = GRAY
    gives = GRAY

    def process(self, frame: sb.Frame) -> sb.Frame:
        return frame

    def end_of_stream(self, stream: int) -> Any:
        return [sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")]


class Island(sb.Context):
    """Memory from which no route leads."""

    memory_type = node = "island"
    singleton = True


class Nowhere(el.Source):
    """Gives frames that nobody can map."""

    def read(self) -> sb.Frame:
        made = picture(0)
        return sb.Frame.borrowed(made.native, Island(), made.meta)


def die_once(mark: Path, *, always: bool = False) -> None:
    """End this process, unless it was done before."""
    if always or not mark.exists():
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
