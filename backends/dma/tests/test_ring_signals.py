# SPDX-License-Identifier: Apache-2.0
"""A signal handler raises somewhere in a call of a ring: no slot is lost, and no packet."""

from __future__ import annotations

import gc
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import samebytes as sb
from samebytes_dma import RingTimeoutError, RingWriter

from .both_ends import join, ring, value_of

CALLS = 700
LONGEST = 1.2e-4


class Stop(BaseException):
    pass


Interrupt = Callable[[Callable[[], Any]], list[Any]]


@pytest.fixture
def interrupt(default_signals: None) -> Iterator[Interrupt]:  # noqa: ARG001 - in force before
    """Makes a call, which a handler's exception ends at some instruction, or which has returned.

    One comes for each call, so that it reaches no finalizer of what the call has made.
    """
    chance = random.Random(1)

    def handle(*_: object) -> None:
        raise Stop

    def once(call: Callable[[], Any]) -> list[Any]:
        returned = []
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, LONGEST))
            returned.append(call())
            until = time.monotonic() + 0.05  # one that comes in a finalizer is only reported
            while time.monotonic() < until:
                time.sleep(0.0002)
            return returned
        except Stop:
            return returned

    gc.collect()
    gc.disable()
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    before = signal.signal(signal.SIGALRM, handle)
    yield once
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    sys.unraisablehook = hook
    gc.enable()


def read_all(reader: Any) -> list[Any]:
    found = []
    while True:
        try:
            found.append(reader.read(0))
        except RingTimeoutError:
            return found


def filled(writer: RingWriter, new_memory: bool) -> Any:
    """A frame to send, in a slot or in memory that readers have not seen."""
    if not new_memory:
        return writer.acquire()
    return sb.context("dma:memfd").allocate_frame("GRAY8", 64, 16)


@pytest.mark.parametrize("new_memory", [False, True])
@pytest.mark.parametrize("where", ["acquire", "send", "read", "serve"])
def test_no_slot_is_lost(where: str, new_memory: bool, interrupt: Interrupt) -> None:
    """Each frame that was accepted is read, but for one that read() itself had; all come back."""
    with ring(slots=3, adopt=3, timeout=0.5) as (writer, reader):
        missing = 0
        for number in range(CALLS):
            if where == "acquire":
                interrupt(writer.acquire)
            before = writer.statistics.accepted
            frame = filled(writer, new_memory)
            with frame.map("cpu", "w") as view:
                view.planes[0].native[...] = number % 200
            if where == "send":
                interrupt(partial(writer.send, frame))
            else:
                writer.send(frame)
            writer.serve()
            accepted = writer.statistics.accepted - before
            del frame, view
            found = interrupt(reader.read) if where == "read" else []
            found += read_all(reader)
            if where == "read":
                missing += accepted - len(found)
                assert len(found) <= 1
            else:
                assert len(found) == accepted
            assert all(value_of(one) == number % 200 for one in found)
            del found[:]
            if where == "serve":
                interrupt(writer.serve)
        writer.wait_until_read()
        assert all(slot.free for slot in (*writer._pool.own, *writer._pool.adopted))
        (counted,) = writer.statistics.readers
        assert counted.done == counted.offered == writer.statistics.accepted
        assert reader.statistics.held == reader.statistics.missed == 0
        assert not writer.departures
        assert missing < CALLS / 2


def test_a_reader_that_is_interrupted_leaves_all_the_same(interrupt: Interrupt) -> None:
    with ring(0, slots=3, timeout=5) as (writer,):
        for _ in range(60):
            reader = join(writer)
            writer.send(writer.acquire())
            interrupt(reader.close)
            reader.close()
            writer.wait_until_read()
            writer.serve()
            assert not writer.statistics.readers
        assert all(slot.free for slot in writer._pool.own)
        assert {departure.error for departure in writer.departures} == {None}


def test_a_writer_that_is_interrupted_takes_all_from_one_that_is_gone(
    interrupt: Interrupt,
) -> None:
    with ring(0, slots=3, timeout=5) as (writer,):
        for number in range(60):
            reader = join(writer)
            writer.send(writer.acquire())
            kept = reader.read()
            reader.close()
            del kept
            interrupt(writer.serve)
            writer.wait_until_read()
            writer.serve()
            assert not writer.statistics.readers
            assert writer.statistics.gone.offered == number + 1
            assert len(writer.departures) == min(number + 1, 64)
        assert all(slot.free for slot in writer._pool.own)
