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
from .ring_packets import DONE, FRAME, GREETING, NUMBER, descriptors

CREDENTIALS = 2


@pytest.fixture
def hostile() -> Iterator[tuple[RingWriter, RingReader, socket.socket]]:
    """A writer, an honest reader, and the socket of another one that has joined."""
    with ring(slots=4, timeout=20) as (writer, honest):
        ours, theirs = pair()
        with theirs:
            writer.add(ours)
            theirs.settimeout(20)
            theirs.send(GREETING.pack(b"J", b"SBRG", 1, 0))
            assert served(writer, lambda: len(writer.statistics.readers) == 2)
            assert theirs.recv(100)[:5] == b"WSBRG"
            yield writer, honest, theirs


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
    before = len(writer.departures)
    assert served(writer, lambda: len(writer.departures) > before)
    departure = writer.departures[-1]
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
        (lambda slot, sequence: DONE.pack(b"D", slot + 1, sequence), "done.slot"),
        (lambda slot, sequence: DONE.pack(b"D", 65535, sequence), "done.slot"),
        (lambda slot, sequence: DONE.pack(b"D", slot, sequence + 1), "done.sequence"),
        (lambda slot, sequence: DONE.pack(b"D", slot, 0), "done.sequence"),
        (lambda slot, sequence: DONE.pack(b"D", slot, (1 << 64) - 1), "done.sequence"),
        (lambda slot, sequence: DONE.pack(b"D", slot, sequence) + b"x", "done"),
        (lambda slot, sequence: b"D", "done"),
        (lambda slot, sequence: b"D" + b"x" * 100_000, "done"),
        (lambda slot, sequence: NUMBER.pack(b"X", 1) + struct.pack("<Q", sequence + 1), "leave"),
        (lambda slot, sequence: NUMBER.pack(b"X", 2) + struct.pack("<Q", sequence), "leave"),
        (lambda slot, sequence: NUMBER.pack(b"X", 65535), "leave"),
        (lambda slot, sequence: b"X", "leave"),
        (lambda slot, sequence: GREETING.pack(b"J", b"SBRG", 1, 0), "packet"),
        (lambda slot, sequence: FRAME.pack(b"F", slot, 0, sequence, 0, 0, 0, 0), "packet"),
        (lambda slot, sequence: b"\0", "packet"),
    ],
)
def test_a_forged_packet_of_a_reader(
    hostile: tuple[RingWriter, RingReader, socket.socket],
    packet: Callable[[int, int], bytes],
    field: str,
) -> None:
    writer, honest, theirs = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    theirs.send(packet(slot, sequence))
    refused(writer, honest, field)


def test_a_slot_that_is_given_back_twice(
    hostile: tuple[RingWriter, RingReader, socket.socket],
) -> None:
    """The second time it may be another frame's: it would be filled while that is read."""
    writer, honest, theirs = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    kept = honest.read()
    theirs.send(DONE.pack(b"D", slot, sequence))
    theirs.send(DONE.pack(b"D", slot, sequence))
    refused(writer, honest, "done.sequence")
    assert value_of(kept) == 1


def test_frames_of_another_reader(
    hostile: tuple[RingWriter, RingReader, socket.socket],
) -> None:
    """What it has given back itself and another one has, is not its own any more."""
    writer, honest, theirs = hostile
    sent(writer, 5)
    kept = honest.read()
    slot, _, sequence = take(theirs)
    theirs.send(DONE.pack(b"D", slot, sequence))
    theirs.send(NUMBER.pack(b"X", 1) + struct.pack("<Q", sequence))
    refused(writer, honest, "leave")
    assert value_of(kept) == 5


def test_a_flood(hostile: tuple[RingWriter, RingReader, socket.socket]) -> None:
    """It ends with the first packet that is wrong; what it sends after that is never read."""
    writer, honest, theirs = hostile
    theirs.setblocking(False)
    sent_packets = 0
    try:
        while sent_packets < 10_000:
            theirs.send(DONE.pack(b"D", 0, 1))
            sent_packets += 1
    except BlockingIOError:
        pass
    assert sent_packets > 100
    refused(writer, honest, "done.sequence")


def test_descriptors_that_a_reader_sends(
    hostile: tuple[RingWriter, RingReader, socket.socket],
) -> None:
    writer, honest, theirs = hostile
    sent(writer, 1)
    slot, _, sequence = take(theirs)
    before = descriptors()
    with open("/dev/null") as null:  # noqa: PTH123 - its descriptor is sent
        socket.send_fds(theirs, [DONE.pack(b"D", slot, sequence)], [null.fileno()] * 50)
    writer.serve()
    assert descriptors() == before
    assert value_of(honest.read()) == 1
    assert writer.statistics.readers[1].done == 1


@pytest.mark.parametrize(
    ("greeting", "field"),
    [
        (GREETING.pack(b"J", b"SBRX", 1, 0), "greeting"),
        (GREETING.pack(b"J", b"SBRG", 2, 0), "version"),
        (GREETING.pack(b"J", b"SBRG", 1, 1000), "join.credits"),
        (GREETING.pack(b"J", b"SBRG", 1, 0) + b"x", "greeting"),
        (DONE.pack(b"D", 0, 1), "packet"),
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
            assert theirs.recv(10) == b""


def test_a_greeting_with_descriptors() -> None:
    with ring(slots=4) as (writer, honest):
        ours, theirs = pair()
        with theirs, open("/dev/null") as null:  # noqa: PTH123 - its descriptor is sent
            writer.add(ours)
            before = descriptors()
            greeting = GREETING.pack(b"J", b"SBRG", 1, 0)
            socket.send_fds(theirs, [greeting], [null.fileno()] * 3)
            assert served(writer, lambda: writer.departures)
            assert descriptors() == before - 1  # its socket
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
        theirs.send(GREETING.pack(b"J", b"SBRG", 1, 0))
        assert served(writer, lambda: len(writer.statistics.readers) == 1)
