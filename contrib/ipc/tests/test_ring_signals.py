# SPDX-License-Identifier: Apache-2.0
"""A signal handler raises somewhere in a call of a ring: no slot is lost, and no packet."""

from __future__ import annotations

import gc
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import samebytes as sb
from samebytes_ipc import RingTimeoutError, RingWriter
from samebytes_ipc._ring.connection import Connection
from samebytes_ipc._ring.inbox import TakenError
from samebytes_ipc._ring.remote_reader import RemoteReader

from .both_ends import join, ring, sent, served, value_of

CALLS = 700
LONGEST = 1.2e-4


class Stop(BaseException):
    pass


Interrupt = Callable[[Callable[[], Any]], list[Any]]


def _open_memory() -> set[int]:
    """Return the descriptors of memory that are open."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            if str(entry.readlink()).startswith(("/memfd:", "/dmabuf:")):
                found.add(int(entry.name))
    return found


@pytest.fixture
def interrupt(alarms: list[str]) -> Iterator[Interrupt]:  # noqa: ARG001 - raise in what is called here
    """Makes a call, which a handler's exception ends at some instruction, or which has returned.

    One comes for each call, so that it reaches no finalizer of what the call has made. Each may
    leak the descriptor that the call was acquiring, and no more.
    """
    chance = random.Random(1)
    before, interrupted = _open_memory(), 0

    def once(call: Callable[[], Any]) -> list[Any]:
        nonlocal interrupted
        returned = []
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, LONGEST))
            returned.append(call())
            until = time.monotonic() + 0.05  # one that comes in a finalizer is only reported
            while time.monotonic() < until:
                time.sleep(0.0002)
            return returned
        except KeyboardInterrupt:
            interrupted += 1
            return returned

    yield once
    gc.collect()
    leaked = _open_memory() - before
    assert len(leaked) <= interrupted
    for fd in leaked:
        os.close(fd)


def read_all(reader: Any) -> list[Any]:
    found = []
    while True:
        try:
            found.append(reader.read(0))
        except RingTimeoutError:
            return found


def filled(writer: RingWriter, lies: str, value: int) -> Any:
    """A frame to send, in a slot or in memory that readers have not seen."""
    if lies == "arrays":
        frame = writer.acquire(target="cpu")
        frame.planes[0].native[...] = value
        return frame
    new = sb.context("dma:memfd").allocate_frame
    frame = writer.acquire() if lies == "slot" else new("GRAY8", 64, 16)
    with frame.map("cpu", "w") as view:
        view.planes[0].native[...] = value
    return frame


@pytest.mark.parametrize("lies", ["slot", "arrays", "new memory"])
@pytest.mark.parametrize("where", ["acquire", "send", "read", "serve"])
def test_no_slot_is_lost(where: str, lies: str, interrupt: Interrupt) -> None:
    """Each frame that was accepted is read, but for one that read() itself had; all come back."""
    target: Any = "cpu" if lies == "arrays" else "dma"
    with ring(0, slots=3, adopt=3, timeout=0.5) as (writer,):
        reader = join(writer, timeout=20, target=target)
        missing = 0
        for number in range(CALLS):
            if where == "acquire":
                interrupt(partial(writer.acquire, target=target))
            before = writer.statistics.accepted
            frame = filled(writer, lies, number % 200)
            if where == "send":
                interrupt(partial(writer.send, frame))
            else:
                writer.send(frame)
            writer.serve()
            accepted = writer.statistics.accepted - before
            del frame
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
        reader.close()


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


def test_a_use_that_was_not_begun_gives_nothing_back() -> None:
    """A finalizer has taken the packet first: the frame, and the slot, are in use by its use."""
    with ring() as (writer, reader):
        sent(writer, 1)
        frame = reader.read()
        connection = reader._connection
        use: Any = SimpleNamespace(release=None)
        with pytest.raises(TakenError):
            connection.begin(99, 0, 1, use)
        if use.release is not None:
            use.release()
        assert reader.statistics.held == 1
        writer.serve()
        assert writer.statistics.readers[0].held == 1
        del frame


@pytest.mark.parametrize("target", ["dma", "cpu"])
def test_a_release_that_an_exception_keeps_from_beginning_is_made_up_for(
    target: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exception comes at the first instruction, where nothing can catch it."""
    give_back = Connection._give_back
    struck: list[int] = []

    def begin(*arguments: Any) -> None:
        if not struck:
            struck.append(arguments[2])
            raise Stop
        give_back(*arguments)

    monkeypatch.setattr(Connection, "_give_back", begin)
    reported = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: reported.append(seen.exc_type))
    with ring(0) as (writer,):
        reader = join(writer, timeout=20, target=target)
        for number in (1, 2):
            sent(writer, number)
            frame = reader.read()
            assert reader.statistics.held == 1
            del frame
            assert reader.statistics.held == 0
            assert served(writer, lambda: writer.statistics.readers[0].held == 0)
        assert struck == [1]
        assert reported == [Stop]
        assert writer.statistics.readers[0].done == 2
        reader.close()


def test_a_packet_that_an_exception_leaves_wakes_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No event comes for it any more."""
    with ring() as (writer, reader):
        wait = reader._wait

        def struck(*_: Any) -> Any:
            raise Stop

        def after_another_thread(*arguments: Any) -> None:
            monkeypatch.setattr(reader, "_wait", wait)
            sent(writer, 5)
            with monkeypatch.context() as here:
                here.setattr(reader, "_frame", struck)
                with pytest.raises(Stop):
                    reader.read()
            wait(*arguments)

        monkeypatch.setattr(reader, "_wait", after_another_thread)
        assert value_of(reader.read(20)) == 5


def test_what_an_interrupted_writer_leaves_makes_it_readable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As an event loop waits for it."""
    with ring() as (writer, reader):
        sent(writer, 5)
        frame = reader.read()
        del frame

        def struck(*_: Any) -> Any:
            raise Stop

        with monkeypatch.context() as here:
            here.setattr(RemoteReader, "_return", struck)
            with pytest.raises(Stop):
                writer.serve(20)
        assert select.select([writer.fileno()], [], [], 20)[0]
        writer.serve()
        assert writer.statistics.readers[0].held == 0
