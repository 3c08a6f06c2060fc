# SPDX-License-Identifier: Apache-2.0
"""The sockets of rings: files and locks, room in them, and what comes at the last moment."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samebytes import Fd
from samebytes_ipc import (
    EndOfStreamError,
    MessageError,
    RingReader,
    RingTimeoutError,
    RingWriter,
)

from .both_ends import join, pair, ring, sent, served, value_of, writer_at
from .ring_packets import FRAME, META, NUMBER, layout, memfd, welcome

forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_writer_removes_its_own_file_alone(address: str) -> None:
    """Another one may have taken the place of one whose file somebody removed."""
    with writer_at(address):
        Path(address).unlink()
        second = writer_at(address)
    assert Path(address).exists()
    second.close()
    assert not Path(address).exists()


@forks
def test_a_child_does_not_keep_the_lock_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has been forked while its parent made a socket there."""
    reading, writing = os.pipe()
    children: list[int] = []
    bind = socket.socket.bind

    def forked(self: socket.socket, name: Any) -> None:
        number = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(number)
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        children.append(child)
        bind(self, name)

    monkeypatch.setattr(socket.socket, "bind", forked)
    with writer_at(str(tmp_path / "ring")):
        number = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(writing)
            (child,) = children
            assert os.waitpid(child, 0) == (child, 0)
            os.close(reading)
            os.close(number)


class Full(socket.socket):
    """A socket that has no room, until it is given some."""

    code = 0

    def sendmsg(self, *given: Any) -> int:
        self._check()
        return super().sendmsg(*given)

    def send(self, *given: Any) -> int:
        self._check()
        return super().send(*given)

    def _check(self) -> None:
        if self.code:
            raise OSError(self.code, os.strerror(self.code))


def full_returns(reader: RingReader) -> Full:
    """The socket through which a reader gives frames back, replaced by such a one."""
    connection = reader._connection
    assert connection is not None
    connection.returns = full = Full(fileno=connection.returns.detach())
    return full


NO_ROOM = (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS)


@pytest.mark.parametrize("code", NO_ROOM)
def test_a_packet_for_which_there_is_no_room_is_sent_later(code: int) -> None:
    """Too many descriptors on the way are such a case."""
    options: Any = {"format": "GRAY8", "width": 64, "height": 16, "timeout": 20}
    with RingWriter(slots=2, **options) as writer:
        theirs, ours = (Full(fileno=end.detach()) for end in pair())
        with join(writer, ends=(theirs, ours), timeout=20) as reader:
            theirs.code = code  # a slot with its descriptor, then a frame
            sent(writer, 5)
            writer.serve()
            theirs.code = 0
            writer.serve()
            frame = reader.read()
            assert value_of(frame) == 5
            returns = full_returns(reader)
            returns.code = code
            del frame
            writer.serve()
            with pytest.raises(RingTimeoutError):
                writer.wait_until_read(0)
            returns.code = 0
            with pytest.raises(RingTimeoutError):
                reader.read(0)
            writer.wait_until_read()


@pytest.mark.parametrize("code", NO_ROOM)
def test_a_reader_for_whose_leave_there_is_no_room_says_it_later(code: int) -> None:
    with ring(slots=2) as (writer, reader):
        sent(writer, 5)
        kept = reader.read()
        returns = full_returns(reader)
        returns.code = code
        reader.close()
        writer.serve()
        assert not writer.departures
        returns.code = 0
        del kept
        assert served(writer, lambda: writer.departures)
        assert writer.departures[0].reason == "left"


def test_a_peer_that_is_gone_is_not_waited_for() -> None:
    with ring(slots=2) as (writer, reader):
        sent(writer, 5)
        theirs, ours = (Full(fileno=end.detach()) for end in pair())
        gone = join(writer, ends=(theirs, ours), timeout=20)
        theirs.code = errno.EPIPE
        sent(writer, 6)
        assert served(writer, lambda: len(writer.statistics.readers) == 1)
        assert [value_of(reader.read()) for _ in range(2)] == [5, 6]
        gone.close()


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
    with theirs, welcome(theirs), RingReader(ours, timeout=20) as reader:
        hand(theirs, NUMBER.pack(b"S", 0))
        theirs.send(NUMBER.pack(b"L", 0) + layout())
        hand(theirs, FIRST + json.dumps(META).encode(), 65)
        with pytest.raises(MessageError, match="received more than") as caught:
            reader.read()
        assert caught.value.field == "descriptors"


def test_a_slot_for_which_no_descriptor_is_left_is_taken_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not lost: later frames would show the memory before."""
    with ring(slots=2) as (writer, reader):
        sent(writer, 5)

        def no_descriptor(_: Fd) -> Fd:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        with monkeypatch.context() as here:
            here.setattr(Fd, "dup", no_descriptor)
            with pytest.raises(OSError, match="open files"):
                reader.read()
        assert value_of(reader.read()) == 5


def test_memory_of_results_is_sealed_too() -> None:
    ours, theirs = pair()
    with theirs, welcome(theirs), RingReader(ours, timeout=20) as reader:
        hand(theirs, NUMBER.pack(b"S", 0))
        theirs.send(NUMBER.pack(b"L", 0) + layout())
        hand(theirs, FIRST + json.dumps(META).encode(), seals=0)
        with pytest.raises(MessageError, match="can still cut short"):
            reader.read()


class Late(socket.socket):
    """A socket on which nothing has come yet, when the other side sends everything and ends."""

    act: Callable[[], object] | None = None

    def recvmsg_into(self, *given: Any) -> Any:
        act, self.act = self.act, None
        if act is not None:
            act()
            raise BlockingIOError
        return super().recvmsg_into(*given)


@forks
def test_what_a_writer_sent_before_its_end_is_read() -> None:
    """Nothing was there when it was looked for, and then the writer's process had ended."""
    ours, theirs = pair()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            ours.close()
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            returns = welcome(theirs)
            os.read(reading, 1)
            hand(theirs, NUMBER.pack(b"S", 0))
            theirs.send(NUMBER.pack(b"L", 0) + layout())
            theirs.send(FIRST)
            returns.close()
            os._exit(0)
        finally:
            os._exit(99)

    def let_it_end() -> None:
        os.write(writing, b"x")
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

    late = Late(fileno=ours.detach())
    with RingReader(late, timeout=20) as reader, theirs:  # so that the socket does not end
        late.act = let_it_end
        assert value_of(reader.read()) == 0
        with pytest.raises(EndOfStreamError):
            reader.read()
    assert os.waitpid(child, 0) == (child, 0)
    os.close(reading)
    os.close(writing)
