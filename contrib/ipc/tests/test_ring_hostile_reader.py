# SPDX-License-Identifier: Apache-2.0
"""A hostile reader of a ring: it is refused by name, and harms nobody else."""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from samebytes_ipc import RingReader, RingWriter

from .both_ends import connect, join, pair, ring, sent, served, value_of
from .ring_packets import DONE, FRAME, GREETING, JOIN, LEAVES, VERSION, descriptors, welcomed

CREDENTIALS = 2

Hostile = tuple[RingWriter, RingReader, socket.socket, socket.socket]


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    """A writer, an honest reader, and the sockets of another one that has joined."""
    with ring(slots=4, timeout=20) as (writer, honest):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.settimeout(20)
            theirs.send(JOIN)
            assert served(writer, lambda: len(writer.statistics.readers) == 2)
            with welcomed(theirs) as returns:
                yield writer, honest, theirs, returns


def take(sock: socket.socket) -> list[int]:
    """Read packets up to a frame, and say which: slot, layout and sequence."""
    while True:
        packet, fds, _, _ = socket.recv_fds(sock, 1 << 17, 64)
        for fd in fds:
            os.close(fd)
        if packet[:1] == b"F":
            _, slot, number, sequence, *_ = FRAME.unpack_from(packet)
            return [slot, number, sequence]


def refused(writer: RingWriter, honest: RingReader, field: str) -> None:
    """The hostile one is gone, its frames are back, and the honest one goes on."""
    assert served(writer, lambda: writer.departures)
    (departure,) = writer.departures
    assert departure.error is not None
    assert departure.error.field == field, departure.reason
    assert departure.statistics.held == departure.statistics.waiting == 0
    while honest.statistics.received < writer.statistics.accepted:
        honest.read()
    for number in range(8):
        sent(writer, number)
        assert value_of(honest.read()) == number


@pytest.mark.parametrize(
    ("packet", "field"),
    [
        (lambda slot, sequence: JOIN, "packet"),
        (lambda slot, sequence: FRAME.pack(b"F", slot, 0, sequence, 0, 0, 0, 0), "packet"),
        (DONE.pack, "packet"),
        (lambda slot, sequence: b"\0", "packet"),
        (lambda slot, sequence: b"\0" * 100_000, "packet"),
    ],
)
def test_a_forged_packet_of_a_reader(
    hostile: Hostile, packet: Callable[[int, int], bytes], field: str
) -> None:
    writer, honest, theirs, _ = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    theirs.send(packet(slot, sequence))
    refused(writer, honest, field)


@pytest.mark.parametrize(
    ("records", "field"),
    [
        (lambda slot, sequence: DONE.pack(slot + 1, sequence), "done.slot"),
        (lambda slot, sequence: DONE.pack(LEAVES - 1, sequence), "done.slot"),
        (lambda slot, sequence: DONE.pack(slot, sequence + 1), "done.sequence"),
        (lambda slot, sequence: DONE.pack(slot, 0), "done.sequence"),
        (lambda slot, sequence: DONE.pack(slot, (1 << 64) - 1), "done.sequence"),
        (lambda slot, sequence: DONE.pack(slot, sequence) * 2, "done.sequence"),
        (lambda slot, sequence: DONE.pack(slot, sequence) + b"x", "record"),
        (lambda slot, sequence: DONE.pack(slot, sequence)[:-1], "record"),
        (lambda slot, sequence: DONE.pack(LEAVES, sequence) * 2, "leave"),
        (lambda slot, sequence: DONE.pack(LEAVES, 0) + DONE.pack(LEAVES, sequence), "leave"),
        (lambda slot, sequence: b"x" * 100_000, "done.sequence"),
    ],
)
@pytest.mark.parametrize("wants", ["serve", "acquire"])
def test_a_forged_record_of_a_reader(
    hostile: Hostile, records: Callable[[int, int], bytes], field: str, wants: str
) -> None:
    """Wherever the writer takes back what its readers have given back."""
    writer, honest, theirs, returns = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    returns.send(records(slot, sequence), socket.MSG_DONTWAIT)
    if wants == "acquire":
        honest.read()
        every = [writer.acquire(target="cpu") for _ in range(4)]
        assert writer.departures
        del every
    refused(writer, honest, field)


def test_a_slot_that_is_given_back_twice(
    hostile: Hostile,
) -> None:
    """The second time it may be another frame's: it would be filled while that is read."""
    writer, honest, theirs, returns = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    kept = honest.read()
    returns.send(DONE.pack(slot, sequence))
    returns.send(DONE.pack(slot, sequence))
    refused(writer, honest, "done.sequence")
    assert value_of(kept) == 1


def test_frames_of_another_reader(hostile: Hostile) -> None:
    """A frame that it has given back, and another reader has, is no longer its own."""
    writer, honest, theirs, returns = hostile
    sent(writer, 5)
    kept = honest.read()
    slot, _, sequence = take(theirs)
    returns.send(DONE.pack(slot, sequence))
    returns.send(DONE.pack(LEAVES, sequence) + DONE.pack(slot, sequence))
    refused(writer, honest, "done.sequence")
    assert value_of(kept) == 5


@pytest.mark.parametrize(
    ("through", "field"), [("packets", "packet"), ("records", "done.sequence")]
)
def test_a_flood(hostile: Hostile, through: str, field: str) -> None:
    """It ends with the first one that is wrong; what it sends after that is never read."""
    writer, honest, theirs, returns = hostile
    sock = theirs if through == "packets" else returns
    sock.setblocking(False)
    times = 0
    try:
        while times < 10_000:
            sock.send(DONE.pack(0, 1))
            times += 1
    except BlockingIOError:
        pass
    assert times > 100
    refused(writer, honest, field)


def test_a_reader_that_closes_where_it_gives_frames_back(hostile: Hostile) -> None:
    """And goes on to read: it would keep a slot for each frame."""
    writer, honest, theirs, returns = hostile
    for number in (1, 2):
        sent(writer, number)
        assert value_of(honest.read()) == number
    slot, _, sequence = take(theirs)
    returns.send(DONE.pack(slot, sequence))
    returns.close()
    assert served(writer, lambda: writer.departures)
    (departure,) = writer.departures
    counts = departure.statistics
    assert (departure.reason, counts.done, counts.lost) == ("ended", 1, 1)
    assert all(slot.free for slot in writer._pool.own)


@pytest.mark.parametrize("late", [False, True])
def test_a_reader_gives_back_what_it_kept_when_it_left(hostile: Hostile, late: bool) -> None:
    """All in one call, if the writer comes late."""
    writer, honest, theirs, returns = hostile
    frames = []
    for number in range(3):
        sent(writer, number)
        assert value_of(honest.read()) == number
        frames.append(take(theirs))
    (first, _, one), (second, _, two), _ = frames
    returns.send(DONE.pack(first, one))
    returns.send(DONE.pack(LEAVES, two))
    if not late:
        writer.serve()
        about = writer.statistics.readers[1]
        assert (about.done, about.held, about.lost) == (1, 1, 1)
    returns.send(DONE.pack(second, two))
    assert served(writer, lambda: writer.departures)
    (departure,) = writer.departures
    counts = departure.statistics
    assert (departure.reason, counts.done, counts.lost) == ("left", 2, 1)


def test_descriptors_that_a_reader_sends(hostile: Hostile) -> None:
    writer, honest, theirs, returns = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    before = descriptors()
    with open("/dev/null") as null:  # noqa: PTH123 - its descriptor is sent
        socket.send_fds(returns, [DONE.pack(slot, sequence)], [null.fileno()] * 50)
    writer.serve()
    assert descriptors() == before
    assert value_of(honest.read()) == 1
    assert writer.statistics.readers[1].done == 1


@pytest.mark.parametrize(
    ("greeting", "field"),
    [
        (GREETING.pack(b"J", b"SBRX", VERSION, 0), "greeting"),
        (GREETING.pack(b"J", b"SBRG", VERSION + 1, 0), "version"),
        (GREETING.pack(b"J", b"SBRG", VERSION, 1000), "join.credits"),
        (JOIN + b"x", "greeting"),
        (DONE.pack(0, 1), "packet"),
        (b"x" * 5000, "packet"),
    ],
)
def test_a_forged_greeting(greeting: bytes, field: str) -> None:
    with ring(slots=4) as (writer, honest):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.send(greeting)
            refused(writer, honest, field)
            assert theirs.recv(1000).startswith(b"R" + field.encode())
            assert theirs.recv(10) == b""


def test_a_greeting_with_descriptors() -> None:
    with ring(slots=4) as (writer, honest):
        ours, theirs = pair()
        with theirs, open("/dev/null") as null:  # noqa: PTH123 - its descriptor is sent
            writer.add(ours)
            before = descriptors()
            greeting = JOIN
            socket.send_fds(theirs, [greeting], [null.fileno()] * 3)
            assert served(writer, lambda: writer.departures)
            assert descriptors() == before - 3  # its sockets
            (departure,) = writer.departures
            assert departure.error is not None
            assert departure.error.field == "descriptors"
            sent(writer, 3)
            assert value_of(honest.read()) == 3


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_not_the_sender() -> None:
    """The number of a process comes from the kernel: nobody can say another one's."""
    ours, theirs = pair()
    with ours, theirs:
        child = os.fork()
        if not child:
            try:
                if os.geteuid() == 0:  # root alone may
                    os.setgid(65534)
                    os.setuid(65534)
                wrong = struct.pack("iII", os.getppid(), os.getuid(), os.getgid())
                with pytest.raises(PermissionError):
                    theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, CREDENTIALS, wrong)])
                os._exit(0)
            finally:
                os._exit(99)
        assert os.waitpid(child, 0) == (child, 0)


def test_those_who_connect_and_do_not_join(tmp_path: Any) -> None:
    """They keep nobody from joining, and are only so many."""
    address = str(tmp_path / "ring")
    with RingWriter(address, format="GRAY8", width=64, height=16, timeout=20) as writer:
        silent = []
        try:
            for _ in range(40):
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                silent.append(sock)
                sock.settimeout(20)
                sock.connect(address)
                writer.serve()
            closed = 0
            for sock in silent:
                sock.setblocking(False)
                try:
                    closed += sock.recv(1) == b""
                except BlockingIOError:
                    continue
            assert closed == 40 - 16
            reader = join(writer)
            sent(writer, 1)
            assert value_of(reader.read()) == 1
            reader.close()
        finally:
            for sock in silent:
                sock.close()


@pytest.mark.parametrize("user", ["the same", "root's"])
def test_those_who_are_silent_keep_no_reader_waiting(
    user: str,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    unjoined_seconds: Callable[[float], None],
    connecting_user: Callable[[int], None],
) -> None:
    """However long they stay, and however often they come again."""
    unjoined_seconds(1e9)
    address, silent = str(tmp_path / "ring"), deque[socket.socket]()
    with ExitStack() as stack:
        writer = stack.enter_context(
            RingWriter(address, format="GRAY8", width=64, height=16, timeout=20)
        )

        def crowd(most: int) -> None:
            for _ in range(most):
                sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                sock.setblocking(False)
                try:
                    sock.connect(address)
                except BlockingIOError:
                    return
                silent.append(sock)

        for _ in range(4):
            crowd(16)
            if user == "root's":
                connecting_user(0)
            writer.serve()
        monkeypatch.undo()
        crowd(8)  # they are in front of it in the queue
        reader = stack.enter_context(connect(writer, address, timeout=20))
        crowd(16)
        sent(writer, 1)
        assert value_of(reader.read()) == 1
        assert len(writer.statistics.readers) == 1


def test_added_connections_are_sent_away_for_nobody(tmp_path: Any) -> None:
    """The program has made them itself."""
    address = str(tmp_path / "ring")
    with ExitStack() as stack:
        writer = stack.enter_context(RingWriter(address, format="GRAY8", width=64, height=16))
        ours, theirs = pair()
        stack.enter_context(theirs)
        writer.add(ours)
        for _ in range(40):
            sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            sock.connect(address)
            writer.serve()
        theirs.send(JOIN)
        assert served(writer, lambda: len(writer.statistics.readers) == 1)
