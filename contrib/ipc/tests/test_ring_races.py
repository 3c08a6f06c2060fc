# SPDX-License-Identifier: Apache-2.0
"""Events between two steps of a ring: other threads, other processes, finalizers.

Where a test needs something to happen at one place, it replaces the step there by one that lets it
happen first, and then does what it did.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from samebytes.errors import ClosedError
from samebytes_ipc import RingReader, RingRefusedError, RingTimeoutError, RingWriter
from samebytes_ipc._ring import connection, remote_reader
from samebytes_ipc._ring import reader as reader_module
from samebytes_ipc._ring.packets import pack_done, pack_leave
from samebytes_ipc._ring.server import Server
from samebytes_ipc._sockets import addresses, peers

from .both_ends import (
    elsewhere,
    join,
    no_descriptors,
    pair,
    picture,
    ring,
    sent,
    served,
    started,
    value_of,
    wait_until,
)
from .ring_packets import JOIN

GIVES_BACK = """
import os, subprocess, sys, samebytes_ipc
ring = samebytes_ipc.RingReader(sys.argv[1])
# Somebody else has the socket from now on: its end does not say that this process has ended.
number = os.dup(ring._connection.sock.fileno())
os.set_inheritable(number, True)
child = subprocess.Popen(["sleep", "600"], pass_fds=[number], stdout=subprocess.DEVNULL)
frame = ring.read(60)
print(child.pid, flush=True)
sys.stdin.readline()
del frame
os._exit(0)
"""


def test_what_comes_back_while_the_writer_asks_for_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame that is given back just before its process ends is done, and not lost.

    The process gives it back, and ends, when the writer has taken its packets.
    """
    address = str(tmp_path / "ring")
    with RingWriter(address, format="GRAY8", width=64, height=16, timeout=60) as writer:
        process = started(GIVES_BACK, address, stdin=subprocess.PIPE)
        with process:
            writer.wait_for_readers()
            sent(writer, 1)
            assert process.stdout is not None
            keeper = int(process.stdout.readline())
            take = remote_reader.RemoteReader.take

            def end_after(self: remote_reader.RemoteReader, *arguments: Any) -> bool:
                monkeypatch.undo()
                stays = take(self, *arguments)
                process.communicate("go on\n", 60)
                return stays

            monkeypatch.setattr(remote_reader.RemoteReader, "take", end_after)
            try:
                writer._server._look_at(writer._server.readers[0])
                assert served(writer, lambda: writer.departures)
            finally:
                os.kill(keeper, signal.SIGKILL)
        (departure,) = writer.departures
        assert (departure.statistics.done, departure.statistics.lost) == (1, 0)


def test_a_frame_that_is_dropped_while_the_reader_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A frame is reported once when its reader leaves: as kept, or as given back."""
    with ring(slots=4) as (writer, reader):
        for number in range(3):
            sent(writer, number)
        frames = [reader.read() for _ in range(3)]

        def drop_one(*arguments: Any) -> bytes:
            with elsewhere(frames.pop):
                pass
            return pack_leave(*arguments)

        monkeypatch.setattr(connection, "pack_leave", drop_one)
        reader.close()
        writer.serve()
        (about,) = writer.statistics.readers
        assert (about.held, about.done, about.lost) == (2, 1, 0)
        assert [value_of(frame) for frame in frames] == [0, 1]
        frames.clear()
        writer.serve()
        (departure,) = writer.departures
        assert (departure.reason, departure.statistics.done) == ("left", 3)


def test_a_reader_that_is_closed_while_a_frame_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ring(slots=4) as (writer, reader):
        for number in range(2):
            sent(writer, number)
        frames = [reader.read() for _ in range(2)]

        def close(*arguments: Any) -> bytes:
            monkeypatch.undo()
            with elsewhere(reader.close):
                pass
            return pack_done(*arguments)

        monkeypatch.setattr(connection, "pack_done", close)
        frames.pop()
        writer.serve()
        (about,) = writer.statistics.readers
        assert (about.held, about.done, about.lost) == (1, 1, 0)
        frames.clear()
        writer.serve()
        (departure,) = writer.departures
        assert (departure.reason, departure.statistics.done) == ("left", 2)


def test_more_is_given_back_than_the_socket_takes() -> None:
    """The rest goes when there is room, while read() waits for the next frame."""
    ours, theirs = pair()
    with RingWriter(format="GRAY8", width=64, height=16, slots=64, timeout=20) as writer:
        writer.add(ours)
        made: list[RingReader] = []
        with elsewhere(lambda: made.append(RingReader(theirs, timeout=20))):
            assert served(writer, lambda: writer.statistics.readers)
        (reader,) = made
        assert reader._connection is not None
        reader._connection.returns.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        for number in range(40):
            sent(writer, number)
        frames = [reader.read() for _ in range(40)]
        frames.clear()
        with elsewhere(reader.read):
            writer.wait_until_read(5)
            writer.close()
        reader.close()


def test_a_reader_that_is_closed_before_it_waits() -> None:
    """close() has closed the socket in another thread: read() looks again, and says so."""
    with ring() as (_, reader):
        found = reader._connection
        found.leave()
        reader._wait(found, time.monotonic() + 20)
        reader.close()
        reader._wait(found, time.monotonic() + 20)
        with pytest.raises(ClosedError, match="this ring was closed"):
            reader.read()


def test_a_slot_changes_its_memory_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of the memory before are not sent as frames of the one that comes."""
    ours, theirs = pair()
    with RingWriter(format="GRAY8", width=64, height=16, adopt=2, timeout=1) as writer:
        writer.add(ours)
        made: list[RingReader] = []
        with elsewhere(lambda: made.append(RingReader(theirs, frames=1, timeout=20))):
            assert served(writer, lambda: writer.statistics.readers)
        (reader,) = made
        first, second, third = picture(1), picture(2), picture(3)
        for item in (first, second):
            writer.send(item)
            assert value_of(reader.read()) in (1, 2)
        writer.wait_until_read()
        sent(writer, 9)  # as long as the reader has it, what comes after it waits
        until_free = type(writer._pool)._until_free
        sent_meanwhile: list[int] = []

        def then_another_thread(*arguments: Any) -> Any:
            monkeypatch.undo()
            found = until_free(*arguments)
            with elsewhere(lambda: sent_meanwhile.append(writer.send(first))):
                return found

        monkeypatch.setattr(type(writer._pool), "_until_free", then_another_thread)
        writer.send(third)
        assert sent_meanwhile
        seen = []
        for _ in range(3):
            seen.append(value_of(reader.read()))
            writer.serve()
        assert seen == [9, 1, 3]
        reader.close()


def test_serve_ends_when_the_ring_is_closed() -> None:
    writer = RingWriter(format="GRAY8", width=64, height=16)
    began = threading.Event()
    results: list[object] = []

    def serve() -> None:
        began.set()
        try:
            writer.serve(300)
        except ClosedError as error:
            results.append(error)

    with elsewhere(serve):
        assert began.wait(20)
        assert not wait_until(lambda: results, 0.1)
        writer.close()
    assert results


def test_a_reader_that_takes_nothing_more_from_its_socket() -> None:
    """It could hold up all others, and nobody could say who it is."""
    with ring(slots=2, timeout=1) as (writer, honest):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.send(JOIN)
            assert served(writer, lambda: len(writer.statistics.readers) == 2)
            theirs.shutdown(socket.SHUT_RD)
            for number in range(6):
                sent(writer, number)
                assert value_of(honest.read()) == number
            (departure,) = writer.departures
            assert departure.reason == "ended"
            assert (departure.statistics.offered, departure.statistics.lost) == (1, 1)


@pytest.mark.parametrize("closed", [False, True])
def test_a_live_source_never_waits_for_who_came_first(closed: bool) -> None:
    """A reader that was alone had more frames than it may have now, and keeps them."""
    with ring(slots=6, when_full="drop-oldest", timeout=1) as (writer, first):
        for number in range(4):
            sent(writer, number)
        kept = [first.read() for _ in range(4)]
        if closed:
            first.close()
        second = join(writer, timeout=20)
        for number in range(4, 24):
            sent(writer, number)
        assert [value_of(frame) for frame in kept] == [0, 1, 2, 3]
        kept.clear()
        writer.serve()
        assert second.read().pts >= 18
        second.close()


def test_two_writers_find_the_socket_of_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them replaces it, and the other is refused, whenever it comes."""
    address = str(tmp_path / "ring")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(address)
    results: list[object] = []

    def write() -> None:
        try:
            results.append(RingWriter(address))
        except RingRefusedError as error:
            results.append(error)

    other = threading.Thread(target=write, daemon=True)
    is_answered = addresses._is_answered

    def then_another_thread(name: str) -> bool:
        monkeypatch.undo()
        answered = is_answered(name)
        other.start()
        other.join(0.3)
        return answered

    monkeypatch.setattr(addresses, "_is_answered", then_another_thread)
    write()
    other.join(20)
    for result in results:
        if isinstance(result, RingWriter):
            result.close()
    assert sorted(type(result).__name__ for result in results) == ["RingRefusedError", "RingWriter"]


def test_who_connects_after_the_last_frame_reads_the_next_ring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken, only to be given the end of the stream."""
    address = str(tmp_path / "ring")
    results: list[int] = []
    accepted = threading.Event()
    greet = peers.greet

    def greet_when_accepted(*arguments: Any) -> Any:
        assert accepted.wait(20)
        return greet(*arguments)

    def read() -> None:
        with RingReader(address, timeout=20) as reader:
            results.extend(value_of(frame) for frame in reader)

    monkeypatch.setattr(reader_module, "greet", greet_when_accepted)
    writer = RingWriter(address, format="GRAY8", width=64, height=16)
    with elsewhere(read):
        waiting = select.poll()
        waiting.register(writer.fileno(), select.POLLIN)
        assert waiting.poll(20_000)  # it has connected
        writer.serve()  # it is accepted, and has not yet greeted
        assert not writer.statistics.readers
        accepted.set()
        time.sleep(0.1)
        writer.close()
        with RingWriter(address, format="GRAY8", width=64, height=16) as following:
            following.wait_for_readers()
            sent(following, 5)
    assert results == [5]


def test_a_writer_without_descriptors_does_not_spin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that wants to join stays in the kernel's queue, and is let in later."""
    turns = []
    serve = Server.serve

    def counted(self: Server) -> None:
        turns.append(self)
        serve(self)

    monkeypatch.setattr(Server, "serve", counted)
    address = str(tmp_path / "ring")
    with RingWriter(address, shape=(4,), slots=2) as writer:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            with no_descriptors():
                sock.connect(address)
                with pytest.raises(RingTimeoutError):
                    writer.wait_for_readers(timeout=0.5)
            assert len(turns) < 20
            assert not writer._server._readers
            assert served(writer, lambda: writer._server._readers)
        with elsewhere(writer.wait_for_readers):
            reader = RingReader(address)
        reader.close()


def test_a_reader_for_which_no_descriptor_is_left_comes_again(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was accepted, and what it would give frames back through cannot be made."""
    turns, serve = list[Server](), Server.serve

    def counted(self: Server) -> None:
        turns.append(self)
        serve(self)

    def fails(*_: Any) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Server, "serve", counted)
    readers = list[RingReader]()
    with RingWriter(address, shape=(4,), slots=2) as writer:
        with elsewhere(lambda: readers.append(RingReader(address, timeout=20))):
            with monkeypatch.context() as here:
                here.setattr(socket, "socketpair", fails)
                with pytest.raises(RingTimeoutError):
                    writer.wait_for_readers(timeout=0.5)
            assert len(turns) < 50
            writer.wait_for_readers(timeout=20)
        assert not writer.departures
        for reader in readers:
            reader.close()
