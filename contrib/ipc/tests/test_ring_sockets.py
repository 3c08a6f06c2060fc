# SPDX-License-Identifier: Apache-2.0
"""The sockets of rings: files and locks, room in them, and what comes at the last moment."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from samebytes_ipc import EndOfStreamError, MessageError, RingReader
from samebytes_ipc._ring.connection import Connection
from samebytes_ipc._sockets import addresses, peers
from samebytes_ipc._wire.message import MAX_DESCRIPTORS

from .both_ends import pair, value_of, writer_at
from .ring_packets import FRAME, GREETING, META, NUMBER, layout, memfd

forks = pytest.mark.filterwarnings(
    "ignore:os.fork:RuntimeWarning", "ignore:.*fork:DeprecationWarning"
)


def test_a_writer_removes_its_own_file_alone(address: str) -> None:
    """Another one may have taken the place of one whose file somebody removed."""
    with writer_at(address):
        Path(address).unlink()
        second = writer_at(address)
    assert Path(address).exists()
    second.close()
    assert not Path(address).exists()


@forks
def test_a_child_does_not_keep_the_lock_of_a_folder(tmp_path: Path) -> None:
    """It has been forked while its parent made a socket there."""
    reading, writing = os.pipe()
    with addresses._one_at_a_time(tmp_path):
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    number = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(writing)
        assert os.waitpid(child, 0) == (child, 0)
        os.close(reading)
        os.close(number)


class Full:
    """A socket whose calls fail."""

    def __init__(self, code: int) -> None:
        self.code = code

    def sendmsg(self, *_: object) -> int:
        raise OSError(self.code, os.strerror(self.code))

    send = sendmsg


@pytest.mark.parametrize("descriptors", [(), (0,)])
def test_a_packet_for_which_there_is_no_room_is_sent_later(descriptors: tuple[int, ...]) -> None:
    """Too many descriptors on the way are such a case; a peer that is gone is not."""
    noted: list[int] = []
    for code in (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS):
        sock: Any = Full(code)
        assert not peers.send_packet(sock, b"D", descriptors, [noted.append], [1])
    with pytest.raises(BrokenPipeError):
        peers.send_packet(Full(errno.EPIPE), b"D", descriptors, [noted.append], [1])  # type: ignore[arg-type]
    assert not noted


def hand(
    theirs: socket.socket, packet: bytes, count: int = 1, seals: int = fcntl.F_SEAL_SHRINK
) -> None:
    """Send a packet with so many descriptors."""
    numbers = [memfd(seals=seals) for _ in range(count)]
    socket.send_fds(theirs, [packet], numbers)
    for number in numbers:
        os.close(number)


FIRST = FRAME.pack(b"F", 0, 0, 1, 0, 0, 0, 0)


def test_more_descriptors_than_a_packet_may_have() -> None:
    ours, theirs = pair()
    with theirs:
        theirs.send(GREETING.pack(b"W", b"SBRG", 1, 4))
        with RingReader(ours, timeout=20) as reader:
            hand(theirs, NUMBER.pack(b"S", 0))
            theirs.send(NUMBER.pack(b"L", 0) + layout())
            hand(theirs, FIRST + json.dumps(META).encode(), MAX_DESCRIPTORS + 1)
            with pytest.raises(MessageError, match="received more than") as caught:
                reader.read()
            assert caught.value.field == "descriptors"


def test_memory_of_results_is_sealed_too() -> None:
    ours, theirs = pair()
    with theirs:
        theirs.send(GREETING.pack(b"W", b"SBRG", 1, 4))
        with RingReader(ours, timeout=20) as reader:
            hand(theirs, NUMBER.pack(b"S", 0))
            theirs.send(NUMBER.pack(b"L", 0) + layout())
            hand(theirs, FIRST + json.dumps(META).encode(), seals=0)
            with pytest.raises(MessageError, match="can still cut short"):
                reader.read()


def test_what_a_writer_sent_before_its_end_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was there when it was looked for, and then the writer's process had ended."""
    ours, theirs = pair()
    with theirs:
        theirs.send(GREETING.pack(b"W", b"SBRG", 1, 4))
        with RingReader(ours, timeout=20) as reader:
            asked: list[bool] = []

            def is_gone(_: Connection) -> bool:
                if not asked:
                    hand(theirs, NUMBER.pack(b"S", 0))
                    theirs.send(NUMBER.pack(b"L", 0) + layout())
                    theirs.send(FIRST)
                asked.append(True)
                return True

            monkeypatch.setattr(Connection, "writer_is_gone", is_gone)
            assert value_of(reader.read()) == 0
            with pytest.raises(EndOfStreamError):
                reader.read()
