# SPDX-License-Identifier: Apache-2.0
"""Rings at abstract names, which any user can take: whose frames a reader takes."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from typing import Any

import pytest

from samebytes_ipc import RingReader, RingRefusedError
from samebytes_ipc._sockets import peers

from .both_ends import sent, value_of, writer_at

# Python's own word on threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")
WRITER, OTHER = 65534, 65533


def child_of(user: int, act: Callable[[], object]) -> int:
    """A child of another user, which ends with 0 if nothing is raised."""
    child = os.fork()
    if not child:
        try:
            os.setgid(user)
            os.setuid(user)
            act()
            os._exit(0)
        finally:
            os._exit(99)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@AS_ROOT
def test_a_ring_of_another_user_is_for_that_user_and_root() -> None:
    name = f"@{secrets.token_hex(8)}"
    ready, writing = os.pipe()

    def write() -> None:
        with writer_at(name) as writer:
            os.write(writing, b"x")
            writer.wait_for_readers(1)
            sent(writer, 5)

    def read() -> None:
        with pytest.raises(RingRefusedError, match=f"of user {WRITER} writes to the ring {name}"):
            RingReader(name, timeout=20)

    writer = child_of(WRITER, write)
    assert os.read(ready, 1) == b"x"
    assert ended(child_of(OTHER, read)) == 0
    with RingReader(name, timeout=20) as reader:
        assert value_of(reader.read()) == 5
    assert ended(writer) == 0
    os.close(ready)
    os.close(writing)


@pytest.mark.parametrize(
    ("user", "own", "takes"),
    [(1234, 1234, True), (0, 1234, True), (WRITER, 1234, False), (WRITER, 0, True)],
)
def test_a_reader_asks_for_the_user_of_the_writer(
    user: int, own: int, takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def getuid(self) -> int:
            return own

    monkeypatch.setattr(peers, "os", Own())
    monkeypatch.setattr(peers, "user_of", lambda _: user)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        if takes:
            peers.check_writer(ours, "@camera")
            return
        with pytest.raises(RingRefusedError, match="of user 1234 and of root alone"):
            peers.check_writer(ours, "@camera")
        assert theirs.recv(1) == b""  # its end is closed at once
