# SPDX-License-Identifier: Apache-2.0
"""Subjects that are made and ended each time: a reader that joins a ring, and a thread aside."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue

from samebytes_ipc import RingReader, RingTimeoutError, RingWriter

from .sites import function_at
from .subject import LONG, Other, Subject

__all__ = ["AsideCalls", "Joining"]

_SLOTS = 4
_NAME = "called aside"


class Joining(Subject):
    """A reader that joins, gets the memory of slots and a frame, and leaves; a thread writes."""

    def __init__(self) -> None:
        self._writer = RingWriter(format="GRAY8", width=64, height=16, slots=_SLOTS, timeout=5)
        self._joining: SimpleQueue[socket.socket] = SimpleQueue()
        self._number = 0
        self._other = Other(self._write)

    def _write(self) -> None:
        with suppress(Empty):
            self._writer.add(self._joining.get_nowait())
        with suppress(RingTimeoutError):  # readers have all frames
            frame = self._writer.acquire(0.01)
            self._number += 1
            with frame.map("cpu", "w") as view:
                view.planes[0].native[...] = self._number % 251
            frame.meta.pts = self._number
            self._writer.send(frame)
        self._writer.serve(0.001)

    def work(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._joining.put(ours)
        with RingReader(theirs, timeout=5) as reader:
            frame = reader.read(5)
            array = frame.map("cpu").planes[0].native
            assert (array == frame.meta.pts % 251).all(), "a reader sees other bytes"
            del frame, array

    def check(self) -> None:
        self._other.check()
        self.work()
        with self._other.turn:
            frames = [self._writer.acquire(LONG) for _ in range(_SLOTS)]  # each slot is there
            del frames

    def close(self) -> None:
        self._other.stop()
        self._writer.close(5)


class AsideCalls(Subject):
    """Calls in a thread that is started for them and ended."""

    def work(self) -> None:
        aside = function_at("samebytes._aside:Aside")(_NAME)
        for number in range(3):
            assert aside.call(lambda n=number: sum(range(100 * n))) == sum(range(100 * number))
        aside.close()

    def check(self) -> None:
        self.work()
        for thread in threading.enumerate():
            # One whose start() was struck may never begin, or not yet; CPython lists it already.
            if thread.name == _NAME and thread.is_alive():
                thread.join(LONG)
                assert not thread.is_alive(), "a thread was left"
