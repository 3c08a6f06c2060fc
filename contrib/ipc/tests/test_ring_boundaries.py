# SPDX-License-Identifier: Apache-2.0
"""Readers that come, are slow, break off or come too late: what the writer makes of each."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

import samebytes
from samebytes_ipc import RingWriter

from .both_ends import Lent, join, pair, ring, said, sent, served, value_of, wait, writer_at
from .ring_packets import DONE, FRAME, GREETING, JOIN, LEAVES, VERSION, welcomed

forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def by_hand() -> Iterator[tuple[RingWriter, socket.socket, socket.socket]]:
    """A writer, and the sockets of its only reader: for packets, and to give frames back."""
    with ring(0, slots=4) as (writer,):
        ours, theirs = pair()
        with theirs:
            theirs.settimeout(20)
            writer.add(ours)
            theirs.send(JOIN)
            assert served(writer, lambda: writer.statistics.readers)
            with welcomed(theirs) as returns:
                yield writer, theirs, returns


def connected(stack: ExitStack, address: str) -> socket.socket:
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    sock.settimeout(20)
    sock.connect(address)
    return sock


def next_frame(sock: socket.socket) -> tuple[int, int]:
    """Read packets up to a frame: its slot and its sequence."""
    while True:
        packet, fds, _, _ = socket.recv_fds(sock, 1 << 17, 64)
        for fd in fds:
            os.close(fd)
        if packet[:1] == b"F":
            _, slot, _, sequence, *_ = FRAME.unpack_from(packet)
            return slot, sequence


def test_of_those_who_are_silent_the_oldest_go(address: str) -> None:
    with ExitStack() as stack:
        writer = stack.enter_context(writer_at(address))
        silent = []
        for _ in range(20):
            silent.append(connected(stack, address))
            writer.serve()
        for sock in silent[:4]:
            assert sock.recv(1) == b""
        for sock in silent[4:]:
            sock.send(JOIN)
        assert served(writer, lambda: len(writer.statistics.readers) == 16)


def test_those_who_have_greeted_are_not_silent(address: str) -> None:
    """One more than may be silent come at once, and each has said what it wants."""
    with ExitStack() as stack:
        writer = stack.enter_context(writer_at(address))
        for _ in range(17):
            connected(stack, address).send(JOIN)
        assert served(writer, lambda: len(writer.statistics.readers) == 17)
        assert not writer.departures


def test_who_does_not_join_for_long_is_not_waited_for(
    address: str, unjoined_seconds: Callable[[float], None]
) -> None:
    unjoined_seconds(0.05)
    with ExitStack() as stack:
        writer = stack.enter_context(writer_at(address))
        sock = connected(stack, address)
        sock.setblocking(False)

        def closed() -> bool:
            try:
                return sock.recv(1) == b""
            except BlockingIOError:
                return False

        assert served(writer, closed)
        assert not writer.departures  # it never took part


def test_a_reader_has_as_many_frames_as_it_asked_for() -> None:
    """And is welcomed with that number, whatever the writer would allow."""
    with ring(0, slots=8) as (writer,):
        ours, theirs = pair()
        with theirs:
            theirs.settimeout(20)
            writer.add(ours)
            theirs.send(GREETING.pack(b"J", b"SBRG", VERSION, 2))
            assert served(writer, lambda: writer.statistics.readers)
            with welcomed(theirs, credits=2):
                for number in range(4):
                    sent(writer, number)
                (counts,) = writer.statistics.readers
            assert (counts.held, counts.waiting) == (2, 2)


def test_a_reader_leaves_once(by_hand: tuple[RingWriter, socket.socket, socket.socket]) -> None:
    writer, theirs, returns = by_hand
    sent(writer, 1)
    _, sequence = next_frame(theirs)
    returns.send(DONE.pack(LEAVES, sequence))
    writer.serve()
    returns.send(DONE.pack(LEAVES, 0))
    assert served(writer, lambda: writer.departures)
    error = writer.departures[-1].error
    assert error is not None
    assert error.field == "leave"


def test_what_came_back_before_the_end_is_not_lost(
    by_hand: tuple[RingWriter, socket.socket, socket.socket],
) -> None:
    """The writer learns of both as it sends the next frame."""
    writer, theirs, returns = by_hand
    sent(writer, 1)
    slot, sequence = next_frame(theirs)
    second = writer.acquire()
    returns.send(DONE.pack(slot, sequence))
    theirs.close()
    writer._server.fresh_until = math.inf  # however long this took: no look at readers before it
    writer.send(second)
    (departure,) = writer.departures
    counts = departure.statistics
    assert (counts.offered, counts.done, counts.lost) == (2, 1, 1)


GREETS = f"""
import socket, sys, time
socket.socket(fileno=int(sys.argv[1])).send({JOIN!r})
print("sent", flush=True)
time.sleep(600)
"""


def test_who_joins_is_not_taken_for_one_that_has_just_gone(
    by_hand: tuple[RingWriter, socket.socket, socket.socket],
    run: Callable[..., subprocess.Popen[str]],
) -> None:
    """The number of its pidfd is that of a socket of the other one, of which an event has come."""
    writer, theirs, returns = by_hand
    sent(writer, 1)
    slot, sequence = next_frame(theirs)
    (reader,) = writer._server.readers
    number = reader.sock.fileno()
    with ExitStack() as stack:
        ours, end = pair()
        stack.callback(end.close)
        writer.add(ours)
        writer.serve()
        # The events come in this order.
        returns.send(DONE.pack(slot, sequence))
        assert said(run(GREETS, str(end.fileno()), pass_fds=[end.fileno()]), 1) == ["sent"]
        theirs.close()
        while (lowest := os.open("/dev/null", os.O_RDONLY)) < number:
            stack.callback(os.close, lowest)
        os.close(lowest)
        writer.serve()
        (joined,) = writer._server.readers
        assert joined.pidfd is not None
        assert joined.pidfd.fileno() == number
        assert len(writer.departures) == 1


def test_all_that_comes_back_at_once_is_taken() -> None:
    """As many frames as a reader can have, and then that it leaves."""
    with ring(slots=64, adopt=64) as (writer, reader):
        frames = []
        for number in range(64):
            sent(writer, number)
            writer.send(samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16))
            frames += [reader.read(), reader.read()]
        frames.clear()
        reader.close()
        writer.serve()
        (departure,) = writer.departures
        counts = departure.statistics
        assert (departure.reason, counts.done, counts.lost) == ("left", 128, 0)


def test_a_frame_that_another_reader_has_is_not_left_out() -> None:
    """Leaving it out would give no slot back: the oldest that nobody has is left out, for both."""
    with ring(2, slots=5, when_full="drop-oldest") as (writer, slow, other):
        sent(writer, 1)
        first = slow.read()
        assert value_of(other.read()) == 1
        for number in range(2, 5):
            sent(writer, number)
        second = other.read()  # it has 2, for which the slow one waits; 3 and 4 wait for both
        assert value_of(second) == 2
        for number in range(5, 7):
            sent(writer, number)
        assert value_of(first) == 1
        del first
        writer.serve()
        assert value_of(slow.read()) == 2
        del second


def test_a_frame_that_the_writer_has_is_not_left_out() -> None:
    """Nor would that."""
    with ring(1, slots=4, when_full="drop-oldest") as (writer, reader):
        kept = []
        for number in range(1, 3):
            sent(writer, number)
            kept.append(reader.read())
        own = writer.acquire()
        with own.map("cpu", "w") as view:
            view.planes[0].native[...] = 3
        writer.send(own)
        sent(writer, 4)
        sent(writer, 5)
        kept.clear()
        writer.serve()
        assert [value_of(reader.read()), value_of(reader.read())] == [3, 5]
        del own


def test_two_slots_stay_free_of_readers() -> None:
    """Of one that has more than its share as well, from before another one joined."""
    with ring(1, slots=5, when_full="drop-oldest") as (writer, first):
        kept = []
        for number in range(3):
            sent(writer, number)
            kept.append(first.read())
        second = join(writer)
        sent(writer, 3)
        writer.serve()
        wait(second)
        assert [(s.held, s.waiting) for s in writer.statistics.readers] == [(3, 1), (0, 1)]
        kept.clear()
        writer.serve()
        assert value_of(second.read()) == 3
        second.close()


def test_nobody_joins_while_the_ring_closes(unjoined_seconds: Callable[[float], None]) -> None:
    """It waits for memory of others, which a reader has."""
    unjoined_seconds(1e9)
    with ring(timeout=60) as (writer, reader), ExitStack() as stack:
        ours, theirs = pair()
        stack.enter_context(theirs)
        theirs.settimeout(20)
        writer.add(ours)
        writer.send(samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16))
        kept = reader.read()
        closing = threading.Thread(target=writer.close)
        closing.start()
        try:
            assert theirs.recv(100) == b""
            assert closing.is_alive()
        finally:
            del kept
            closing.join()


def test_memory_of_others_ends_without_the_lock_of_a_ring_that_closes() -> None:
    """Its release may wait for a thread that waits for the ring."""
    finished: list[bool] = []

    def asks() -> None:
        asking = threading.Thread(target=lambda: writer.statistics, daemon=True)
        asking.start()
        asking.join(10)
        finished.append(not asking.is_alive())

    with ring() as (writer, reader):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.send(JOIN)
            assert served(writer, lambda: len(writer.statistics.readers) == 2)
            reader.close()
            lent = Lent(asks)
            writer.send(lent.frame)
            del lent
            assert not finished
            writer.close(timeout=0)
            assert finished == [True]


@forks
def test_a_child_ends_no_memory_that_readers_have() -> None:
    read, write = os.pipe()
    with ring() as (writer, reader):
        lent = Lent(lambda: os.write(write, b"x"))
        writer.send(lent.frame)
        del lent
        child = os.fork()
        if not child:
            try:
                writer.close()
                os._exit(0)
            finally:
                os._exit(99)
        assert os.waitpid(child, 0) == (child, 0)
        os.set_blocking(read, False)
        with pytest.raises(BlockingIOError):
            os.read(read, 1)
        assert value_of(reader.read()) == 0
        writer.wait_until_read()
        assert os.read(read, 1) == b"x"
    os.close(read)
    os.close(write)
