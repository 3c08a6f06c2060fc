# SPDX-License-Identifier: Apache-2.0
"""A signal handler raises somewhere in a call of a ring: no slot is lost, and no packet."""

from __future__ import annotations

import gc
import os
import random
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import samebytes as sb
from samebytes.errors import BusyError, ClosedError
from samebytes_ipc import RingTimeoutError, RingWriter
from samebytes_ipc._ring import connection, remote_reader, uses
from samebytes_ipc._ring.received_frames import Received
from samebytes_ipc._ring.remote_reader import RemoteReader
from samebytes_ipc._ring.slots import User
from samebytes_ipc._ring.uses import Use

from .both_ends import (
    PACKETS,
    Poll,
    join,
    pair,
    ring,
    sent,
    served,
    value_of,
    wait,
    wait_until,
    writer_at,
)
from .ring_packets import JOIN

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
    before, interrupted, came = _open_memory(), 0, list[int]()

    def handler(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, handler)

    def once(call: Callable[[], Any]) -> list[Any]:
        nonlocal interrupted
        returned = []
        came.clear()
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, LONGEST))
            returned.append(call())
            while not came:  # in a finalizer it has come, and is only reported
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
    """Nor does one of the same frame, made before an exception came: it is read once more."""
    with ring() as (writer, reader):
        sent(writer, 1)
        frame = reader.read()
        users = [User(), User()]
        first, again = map(Use.of, users)
        again.connection, again.slot, again.sequence = reader._connection, 0, 1
        users.clear()
        assert first() is again() is None
        assert reader.statistics.held == 1
        writer.serve()
        assert writer.statistics.readers[0].held == 1
        del frame


@pytest.mark.parametrize("target", ["dma", "cpu"])
@pytest.mark.parametrize("at", ["begin", "send"])
def test_a_slot_whose_return_an_exception_ends_comes_back_at_the_end(
    target: Any, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the reader. The exception comes at the first instruction, or before it is sent."""
    struck: list[object] = []
    module, name = (uses, "_give_back") if at == "begin" else (connection, "pack_done")
    given_back = getattr(module, name)

    def strikes(*arguments: Any) -> Any:
        if not struck:
            struck.append(arguments)
            raise Stop
        return given_back(*arguments)

    monkeypatch.setattr(module, name, strikes)
    reported = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: reported.append(seen.exc_type))
    with ring(0, slots=4) as (writer,):
        reader = join(writer, timeout=20, target=target)
        for number in (1, 2, 3):
            sent(writer, number)
            kept = reader.read()
            assert reader.statistics.held == 1
            if number < 3:
                del kept
                assert reader.statistics.held == 0
        writer.serve()
        (about,) = writer.statistics.readers
        assert (about.done, about.held) == (1, 2)
        assert reported == [Stop]
        reader.close()
        assert value_of(kept) == 3
        del kept
        assert served(writer, lambda: writer.departures)
        assert all(slot.free for slot in writer._pool.own)
        (departure,) = writer.departures
        assert departure.error is None
        assert departure.statistics.done + departure.statistics.lost == 3


def test_a_read_in_the_middle_of_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer or signal handler may do that: it could act on the same packet."""
    with ring() as (writer, reader):
        sent(writer, 1)
        made, refused = Received._made, list[BusyError]()

        def reads(*arguments: Any) -> Any:
            with pytest.raises(BusyError, match="is being read") as caught:
                reader.read()
            refused.append(caught.value)
            return made(*arguments)

        monkeypatch.setattr(Received, "_made", reads)
        assert value_of(reader.read()) == 1
        wait(reader)
        assert len(refused) == 2, "for that frame, and for the next"


def test_a_reader_that_a_finalizer_closes_has_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of read(): it has said already which frames it keeps."""
    with ring(slots=4) as (writer, reader):
        sent(writer, 1)
        kept = reader.read()
        sent(writer, 2)
        frame = Received.frame

        def closes(*arguments: Any) -> Any:
            reader.close()
            return frame(*arguments)

        monkeypatch.setattr(Received, "frame", closes)
        with pytest.raises(ClosedError):
            reader.read()
        writer.serve()
        (about,) = writer.statistics.readers
        assert (about.held, about.lost) == (1, 1)
        assert value_of(kept) == 1
        del kept
        assert served(writer, lambda: writer.departures)
        assert writer.departures[0].error is None


def test_a_packet_that_an_exception_leaves_wakes_who_waits(
    asked: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No event comes for it any more where another thread is about to wait."""
    with ring(0) as (writer,):
        reader = join(writer, timeout=20)
        found: list[int] = []
        waiting = threading.Thread(
            target=lambda: found.append(value_of(reader.read(60))), daemon=True
        )
        asked.clear()
        Poll.held.add(waiting)
        try:
            waiting.start()
            assert wait_until(lambda: asked)
            sent(writer, 5)

            def struck(*_: Any) -> Any:
                raise Stop

            with monkeypatch.context() as here:
                here.setattr(reader, "_frame", struck)
                with pytest.raises(Stop):
                    reader.read()
        finally:
            Poll.held.clear()
        waiting.join(20)
        assert found == [5]
        reader.close()


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
            here.setattr(remote_reader, "unpack_records", struck)
            with pytest.raises(Stop):
                writer.serve(20)
        assert select.select([writer.fileno()], [], [], 20)[0]
        writer.serve()
        assert writer.statistics.readers[0].held == 0


def test_who_was_welcomed_before_an_exception_gets_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the writer looks at another reader first after that."""
    with ring() as (writer, reader):
        sent(writer, 1)
        frame = reader.read()
        welcomed, struck = RemoteReader._welcomed, list[RemoteReader]()

        def strikes(self: RemoteReader) -> None:
            welcomed(self)
            struck.append(self)
            raise Stop

        monkeypatch.setattr(RemoteReader, "_welcomed", strikes)
        ours, theirs = pair()
        writer.add(ours)
        with theirs:
            theirs.send(JOIN)
            with pytest.raises(Stop):
                writer.serve()
            assert struck
            del frame
            writer.serve()
            sent(writer, 2)
            assert [each.offered for each in writer.statistics.readers] == [2, 1]


class Struck(socket.socket):
    """A socket whose accept() a signal comes in, once."""

    strikes = 1

    def _accept(self) -> Any:
        found = super()._accept()  # type: ignore[misc]  # not in typeshed
        if self.strikes:
            self.strikes -= 1
            signal.raise_signal(signal.SIGUSR1)
        return found


def test_who_connects_as_a_signal_comes_is_not_left_waiting(address: str) -> None:
    """A connection is the writer's, or nobody's."""

    def strikes(*_: Any) -> None:
        raise Stop

    before = signal.signal(signal.SIGUSR1, strikes)
    try:
        with writer_at(address) as writer, socket.socket(socket.AF_UNIX, PACKETS) as sock:
            server = writer._server
            assert server._listener is not None
            server._listener = Struck(fileno=server._listener.detach())
            sock.connect(address)
            sock.send(JOIN)
            with pytest.raises(Stop):
                writer.serve()
            writer.wait_for_readers(timeout=5)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_frame_is_for_all_readers_or_for_none() -> None:
    """Wherever a handler raises while it is accepted."""
    with ring(3) as (writer, *readers):

        class Joined(list[Any]):
            strikes = 1

            def __iter__(self) -> Iterator[Any]:
                for number, reader in enumerate(super().__iter__()):
                    if number == 1 and self.strikes:
                        self.strikes -= 1
                        raise Stop
                    yield reader

        writer._server._joined = Joined(writer._server._joined)
        with pytest.raises(Stop):
            sent(writer, 1)
        accepted = writer.statistics.accepted
        assert [each.offered for each in writer.statistics.readers] == [accepted] * 3
        sent(writer, 2)
        values = [[value_of(frame) for frame in read_all(reader)] for reader in readers]
        assert values[1:] == values[:1] * 2
