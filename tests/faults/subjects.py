# SPDX-License-Identifier: Apache-2.0
"""The subjects that are struck at random moments, and what must hold after each strike."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Literal

import numpy as np
import openvino
from openvino import opset13 as ops

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import SamebytesError, UnsupportedObjectError
from samebytes_ipc import RingReader, RingTimeoutError, RingWriter
from samebytes_openvino import InferQueue, compile_model
from samebytes_softdevices import fail_call

from .operations import OPERATIONS, STRUCK_TOO, Operation
from .owed import owed
from .short_lived import AsideCalls, Joining
from .subject import LONG, Other, Subject

__all__ = ["SUBJECTS", "Repeated"]

_SLOTS = 4
_PATIENCE = 1.0


class Repeated(Subject):
    """An operation: allocate, map, share, copy, derive, send.

    Attributes:
        leaked: how many things of each kind were taken and not given back since it was made.
        lost: how many owners of such things at least: one that owns a mapped image loses two
            things of different kinds.
    """

    def __init__(self, make: Callable[[], Operation]) -> None:
        self._make, self._kept = make, list[Operation]()
        self.work = make()  # type: ignore[method-assign]
        for _ in range(3):  # caches and pools fill
            self.work()
        self._earlier = Counter[str]()
        self._first = self._owed()
        self.leaked = Counter[str]()
        self.lost = 0

    def fail(self, function: str | None, successes: int = 0) -> None:
        """Let a call fail, as fail_call() does, whose counts begin again."""
        earlier = self._owed()
        fail_call(function, successes)
        earlier.subtract(owed())
        self._earlier = earlier

    def leave_what_is_kept(self) -> None:
        """Go on with other memory where OpenVINO's plugin has kept this one's import, as it does
        where a later call of its own fails.
        """
        try:
            self.work()
        except SamebytesError:
            self._kept.append(self.work)
            self.work = self._make()  # type: ignore[method-assign]

    def _owed(self) -> Counter[str]:
        return Counter({kind: self._earlier[kind] + count for kind, count in owed().items()})

    def check(self) -> None:
        thread = threading.Thread(target=self.work, daemon=True)
        thread.start()
        thread.join(LONG)
        assert not thread.is_alive(), "another thread hangs, as where a lock is held"
        self.work()
        now = self._owed()
        self.leaked = Counter(now)
        self.leaked.subtract(self._first)
        self.lost = max(self.leaked.values())
        assert min(now.values()) >= 0, f"given back twice: {now}"


class Ring(Subject):
    """A writer, a reader in this thread, and one in another thread."""

    def __init__(self) -> None:
        self._writer = RingWriter(format="GRAY8", width=64, height=16, slots=_SLOTS, timeout=5)
        self._reader, self._others = self._join("dma"), self._join("cpu")
        self._number = 0
        self._other = Other(self._read_there)

    def _join(self, target: Literal["dma", "cpu"]) -> RingReader:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._writer.add(ours)
        made: list[RingReader] = []
        joining = threading.Thread(target=lambda: made.append(RingReader(theirs, target=target)))
        joining.start()
        while joining.is_alive():
            self._writer.serve(0.01)
        return made[0]

    def _read_there(self) -> None:
        with suppress(RingTimeoutError):
            _see(self._others.read(0.002))

    def work(self) -> None:
        self._number += 1
        mapped = self._number % 2 == 0  # each way of filling a slot in turn
        frame = self._writer.acquire(target="dma" if mapped else "cpu")
        with frame.map("cpu", "w") if mapped else nullcontext(frame) as view:
            view.planes[0].native[...] = self._number % 251
        frame.meta.pts = self._number
        self._writer.send(frame)
        del frame, view
        _see(self._reader.read(5))
        self._writer.serve()

    def check(self) -> None:
        until = time.monotonic() + LONG
        patient_until = until - LONG + _PATIENCE
        while True:
            self._writer.serve()
            with suppress(RingTimeoutError):
                while True:
                    _see(self._reader.read(0))
            self._other.check()
            try:
                self._writer.wait_until_read(0.01)
                break
            except RingTimeoutError:
                if time.monotonic() > until:
                    raise
                if time.monotonic() > patient_until:
                    # A strike may have kept a slot from coming back as long as its reader is there.
                    patient_until = until
                    self._reader.close()
                    self._reader = self._join("dma")
        departures = self._writer.departures
        assert {departure.reason for departure in departures} <= {"left"}, departures
        assert self._reader.statistics.held == 0
        frames = [self._writer.acquire(5) for _ in range(_SLOTS)]  # each slot is there
        del frames

    def close(self) -> None:
        self._other.stop()
        self._reader.close()
        self._others.close()
        self._writer.close(5)


def _see(frame: Any) -> None:
    array = frame.map("cpu").planes[0].native
    assert (array == frame.pts % 251).all(), "a reader sees other bytes"


class Pool(Subject):
    """Frames of a pool, which two threads take, fill, keep and drop."""

    def __init__(self) -> None:
        cpu = sb.context("cpu")
        self._pool = el.FramePool(
            lambda: cpu.allocate_frame("GRAY8", 64, 16), maximum=_SLOTS, timeout=LONG
        )
        self._other = Other(lambda: self._use(3))

    def _use(self, value: int) -> None:
        frame = self._pool.acquire()
        array = frame.planes[0].native
        array[...] = value
        with frame.map("opencv") as view:
            assert (view.planes[0].native == value).all()
        del frame, view
        assert (array == value).all(), "a frame that is kept changed"

    def work(self) -> None:
        self._use(7)

    def check(self) -> None:
        self._other.check()
        with self._other.turn:
            frames = [self._pool.acquire() for _ in range(_SLOTS)]
            del frames

    def close(self) -> None:
        self._other.stop()


@el.source(gives=el.Image("GRAY8", memory="cpu", width=16, height=8))
def _numbers(*, count: int) -> Any:
    cpu = sb.context("cpu")
    for number in range(count):
        made = cpu.allocate_frame("GRAY8", 16, 8)
        made.planes[0].native[...] = number
        yield made


@el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
def _add(picture: Any) -> None:
    picture.planes[0].native[...] += 1


class _Collect(el.Sink):
    takes = el.Image(memory="cpu")

    def open(self, context: Any) -> None:
        self.values: list[int] = []

    def write(self, picture: Any) -> None:
        self.values.append(int(picture.planes[0].native[0, 0]))


class Pipeline(Subject):
    """A pipeline of three threads, begun and ended again and again."""

    def __init__(self) -> None:
        self._threads = 0
        self.work()
        self._threads = threading.active_count()

    def work(self) -> None:
        sink = _Collect()
        el.Pipeline(_numbers(count=5), _add(), sink).run(threads=2)
        assert sink.values == [1, 2, 3, 4, 5], sink.values

    def check(self) -> None:
        self.work()
        for thread in threading.enumerate():
            if thread.name.startswith("samebytes"):
                thread.join(LONG)
        assert threading.active_count() <= self._threads, threading.enumerate()


class Queue(Subject):
    """Requests of an InferQueue, which another thread starts too."""

    def __init__(self, device: str) -> None:
        x = ops.parameter(openvino.PartialShape([1, 4096]), openvino.Type.f32, name="x")
        y = ops.add(x, ops.constant(np.ones((), np.float32)))
        model = openvino.Model([ops.result(y)], [x], "adding one")
        self._queue = InferQueue(compile_model(model, device), 2)
        self._input = sb.context("cpu").allocate((1, 4096), "float32")
        self._input.native[...] = 1
        self.work()
        self._other = Other(self.work)

    def work(self) -> None:
        self._queue.start_async(self._input)
        with suppress(UnsupportedObjectError):
            self._queue.start_async(object())  # the request is given back
        self._queue.start_async(self._input)
        self._queue.wait_all()

    def check(self) -> None:
        self._other.check()
        with self._other.turn:
            self._queue.wait_all()
            for _ in range(3):  # both requests are there
                self._queue.start_async(self._input)
            self._queue.wait_all()
            assert self._queue.is_ready()
            assert float(self._queue[0].get_output_tensor().native.data[0, 0]) == 2

    def close(self) -> None:
        self._other.stop()


SUBJECTS: dict[str, Callable[[], Subject]] = {
    **{name: partial(Repeated, make) for name, make in (OPERATIONS | STRUCK_TOO).items()},
    "ring": Ring,
    "joining": Joining,
    "aside": AsideCalls,
    "pool": Pool,
    "pipeline": Pipeline,
    **{f"queue {device}": partial(Queue, device) for device in ("CPU", "GPU", "NPU")},
}
"""By name: makes what is struck."""
