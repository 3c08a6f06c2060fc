# SPDX-License-Identifier: Apache-2.0
"""The ends: where frames go, and how a program reads there what was written."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import av
import numpy as np

import samebytes.elements as el
from samebytes_ipc import RingReader, RingTimeoutError

from .material import Planes
from .models import Box
from .room import Room

__all__ = ["ENDS", "Written"]


@dataclass
class Written:
    """An end, and what was found there when the pipeline had ended.

    Attributes:
        element: to put into the pipeline, if there is one.
        pictures: the planes of each frame; None where the end has none.
        boxes: those of each frame; None where the end has none.
        size: of the frames, in pixels.
        failed: what went wrong beside the pipeline.
    """

    element: el.Element | None = None
    pictures: list[Planes] | None = None
    boxes: list[list[Box]] | None = None
    size: tuple[int, int] = (0, 0)
    failed: list[BaseException] = field(default_factory=list)


End = Callable[[Room, bool], AbstractContextManager[Written]]


@contextmanager
def _program(_: Room, copy: bool) -> Iterator[Written]:
    del copy
    yield Written()


@contextmanager
def _json(room: Room, copy: bool) -> Iterator[Written]:
    del copy
    path = room.new(".json")
    written = Written(el.create("json.sink", path, add_empty_results=True))
    yield written
    written.boxes = [
        [(one["x"], one["y"], one["w"], one["h"]) for one in json.loads(line).get("objects", ())]
        for line in path.read_text().splitlines()
    ]


@contextmanager
def _ffmpeg(room: Room, copy: bool) -> Iterator[Written]:
    """Without loss, as libx264 can."""
    del copy
    path = room.new(".mkv")
    options = {"qp": "0", "preset": "ultrafast"}
    written = Written(el.create("ffmpeg.sink", path, options=options))
    yield written
    with av.open(str(path)) as container:
        written.pictures = [
            [_array_of(plane) for plane in frame.planes] for frame in container.decode(video=0)
        ]


def _array_of(plane: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
    return rows[:, : plane.width].copy()


@contextmanager
def _gstreamer(room: Room, copy: bool) -> Iterator[Written]:
    """YV12, which no source gives: so its rows are as long as GStreamer itself makes them."""
    del copy
    path = room.new(".yv12")
    text = f"videoconvert ! video/x-raw,format=YV12 ! filesink location={path}"
    written = Written(el.create("gstreamer.sink", text, timeout=30.0))
    yield written
    written.pictures = [*_yv12(path.read_bytes(), *written.size)]


def _yv12(data: bytes, width: int, height: int) -> Iterator[Planes]:
    rows = ((width, height), (width // 2, height // 2), (width // 2, height // 2))
    pitches = [-(-columns // 4) * 4 for columns, _ in rows]
    at = 0
    while at < len(data):
        planes = []
        for pitch, (columns, count) in zip(pitches, rows, strict=True):
            plane = np.frombuffer(data, np.uint8, pitch * count, at).reshape(count, pitch)
            planes.append(plane[:, :columns])
            at += pitch * count
        y, v, u = planes
        yield [y, u, v]


@contextmanager
def _ring(room: Room, copy: bool) -> Iterator[Written]:
    """The reader is a plain loop in a thread, since the other side waits for it."""
    address = room.address()
    pictures: list[Planes] = []
    boxes: list[list[Box]] = []
    element = el.create("ring.sink", address, readers=1, copy=copy, timeout=30.0)
    written = Written(element, pictures, boxes)
    ended = threading.Event()

    def read() -> None:
        try:
            ring = _connected(address, ended)
            if ring is None:
                return
            with ring:
                for frame in ring:
                    view = frame.map("cpu")
                    pictures.append([np.array(plane.native) for plane in view.planes])
                    boxes.append([(r.x, r.y, r.width, r.height) for r in frame.regions])
                    del view, frame
        except BaseException as error:
            written.failed.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    try:
        yield written
    finally:
        ended.set()
        reading.join(60)
    assert not reading.is_alive()
    assert not written.failed, written.failed


def _connected(address: str, ended: threading.Event) -> RingReader | None:
    """None where the pipeline ended before it opened the ring."""
    while True:
        try:
            ring = RingReader(address, timeout=0.1)
        except RingTimeoutError:
            if ended.is_set():
                return None
        else:
            ring.timeout = 30.0
            return ring


ENDS: dict[str, End] = {
    "program": _program,
    "json": _json,
    "ffmpeg": _ffmpeg,
    "gstreamer": _gstreamer,
    "ring": _ring,
}
