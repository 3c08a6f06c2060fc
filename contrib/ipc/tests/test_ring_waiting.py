# SPDX-License-Identifier: Apache-2.0
"""Waits of a ring's reader: among threads, without sleeping, for a writer, interrupted."""

from __future__ import annotations

import errno
import os
import select
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from samebytes.errors import ClosedError
from samebytes_ipc import EndOfStreamError, RingTimeoutError, RingWriter
from samebytes_ipc._ring.slots import User
from samebytes_ipc._ring.uses import Use

from .both_ends import Full, Poll, connect, join, ring, sent, served, value_of, wait_until


@pytest.mark.parametrize(
    ("spin", "looks", "sleeps"), [(0.0, False, True), (0.01, True, True), (60.0, True, False)]
)
def test_a_reader_that_spins_before_it_sleeps(
    spin: float, looks: bool, sleeps: bool, asked: list[float | None]
) -> None:
    with RingWriter(format="GRAY8", width=64, height=16) as writer:
        reader = join(writer, spin=spin, timeout=20)

        def asleep() -> bool:
            return any(milliseconds != 0 for milliseconds in asked)

        def send() -> None:
            # It goes on looking while nothing comes, or sleeps.
            assert wait_until(asleep if sleeps else lambda: len(asked) > 10)
            sent(writer, 5)

        for end in (send, reader.interrupt):
            asked.clear()
            other = threading.Timer(0.0, end)
            other.start()
            found = reader.read()
            other.join()
            if end is send:
                assert value_of(found) == 5
                assert (0 in asked, asleep()) == (looks, sleeps)
            else:
                assert found is None
        reader.close()


def test_spinning_ends_with_the_time_of_a_read(asked: list[float | None]) -> None:
    with RingWriter(format="GRAY8", width=64, height=16) as writer:
        reader = join(writer, spin=3600.0)
        asked.clear()
        with pytest.raises(RingTimeoutError):
            reader.read(1.0)
        assert asked
        assert all(time is not None and time <= 1 for time in asked), "no time is left to sleep"
        reader.close()


@pytest.mark.parametrize("end", ["the writer closes", "the writer is gone", "the reader closes"])
def test_the_end_comes_to_all_threads_that_read(end: str, asked: list[float | None]) -> None:
    """Also to one that begins to wait when the numbers of the descriptors are others' already."""
    writer = RingWriter(format="GRAY8", width=64, height=16)
    reader = join(writer, timeout=None)
    found: list[object] = []

    def read() -> None:
        try:
            found.append(reader.read())
        except (ClosedError, EndOfStreamError) as error:
            found.append(error)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    asked.clear()
    late = threads[0]
    Poll.held.add(late)
    try:
        for thread in threads:
            thread.start()
        assert wait_until(lambda: len(asked) - asked.count(0) == len(threads))
        if end == "the writer is gone":
            writer._abandon()
        elif end == "the writer closes":
            writer.close()
        else:
            reader.close()
        for thread in threads[1:]:
            thread.join(20)
        others = [os.pipe() for _ in range(20)]
    finally:
        Poll.held.clear()
    late.join(20)
    for pair in others:
        for number in pair:
            os.close(number)
    assert len(found) == len(threads)
    reader.close()
    writer.close()


def test_threads_that_read_find_the_next_writer_once(tmp_path: Path) -> None:
    address = str(tmp_path / "ring")
    write = partial(RingWriter, address, format="GRAY8", width=64, height=16, timeout=20)
    found: list[int] = []

    def read() -> None:
        while (frame := reader.read()) is not None:
            found.append(value_of(frame))

    with write() as writer:
        reader = connect(writer, address, live=True, timeout=20)
        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
    with reader:
        for number in range(2):
            with write() as writer:
                writer.wait_for_readers(1)
                for value in range(20):
                    sent(writer, 100 * number + value)
                assert served(writer, lambda: len(found) == 20)
                assert sorted(found) == list(range(100 * number, 100 * number + 20))
                found.clear()
                served(writer, lambda: len(writer.statistics.readers) == 1)
                assert len(writer.statistics.readers) == 1
                assert reader.statistics.writers == 2 + number
        reader.interrupt()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)


def test_the_turn_to_connect_is_not_lost_to_an_exception(
    strike: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ring() as (_, reader):
        monkeypatch.setattr(reader, "_find_writer", lambda deadline: None)
        with monkeypatch.context() as without:
            without.setattr(reader, "_connection", None)
            strike(lambda: reader._connect(None))
        assert not reader._connecting


def test_the_turn_to_send_is_not_lost_to_an_exception(
    strike: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ring() as (writer, reader):
        connection = reader._connection
        with monkeypatch.context() as without:
            without.setattr(connection, "sock", Full(errno.EAGAIN))
            user = User()
            use = connection.uses[0] = Use.of(user)
            use.connection, use.slot, use.sequence = connection, 0, 0
            connection.unsent.append(use)
            strike(connection.send_unsent)
            connection.unsent.clear()
            connection.uses.clear()
        assert not connection._sending
        sent(writer, 1)
        assert value_of(reader.read()) == 1
        writer.wait_until_read()


def test_a_wait_for_room_ends_when_all_was_said() -> None:
    """Also where another thread says it meanwhile: room that is there wakes nobody again."""
    with ring() as (_, reader):
        connection, wake = reader._connection, reader._wake
        for room in (True, False):
            waiting = connection.poll_for(wake, room)
            assert bool(waiting.poll(0)) is room
            connection.polls.append((wake, room, waiting))
        assert connection.poll_for(wake, False) is waiting


def test_a_signal_handler_reads_while_its_thread_waits_for_a_writer(tmp_path: Path) -> None:
    """It gets the next writer's frame, and the reader has one connection to that."""
    address = str(tmp_path / "ring")
    write = partial(RingWriter, address, format="GRAY8", width=64, height=16, timeout=20)
    found: list[int] = []
    with write() as writer:
        reader = connect(writer, address, live=True)
    with write() as writer:

        def give() -> None:
            writer.wait_for_readers(1)
            for value in (5, 6):
                sent(writer, value)

        giving = threading.Thread(target=give)

        def handle(*_: object) -> None:
            (tmp_path / "hidden").rename(address)
            giving.start()
            found.append(value_of(reader.read(20)))

        Path(address).rename(tmp_path / "hidden")  # until the handler runs
        before = signal.signal(signal.SIGALRM, handle)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            found.append(value_of(reader.read(20)))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        giving.join()
        assert found == [5, 6]
        assert reader.statistics.writers == 2
        reader.close()


@pytest.mark.usefixtures("woken_alone")
def test_a_dropped_frame_wakes_the_call_that_waits_for_its_slot() -> None:
    """And nobody else: what is dropped while nobody waits causes no event."""
    with RingWriter(slots=2, shape=(4,), memory="memfd") as writer:
        held = [writer.acquire(), writer.acquire()]
        held.pop()
        assert select.select([writer.fileno()], [], [], 0) == ([], [], [])
        held.append(writer.acquire())
        found: list[object] = []
        thread = threading.Thread(target=lambda: found.append(writer.acquire(60)))
        thread.start()
        wait_until(lambda: bool(writer._server.waiting))
        held.pop()
        thread.join(10)
        assert found
        assert not writer._server.waiting
        with pytest.raises(RingTimeoutError):
            writer.acquire(0)
        assert not writer._server.waiting
