# SPDX-License-Identifier: Apache-2.0
"""Peers are let in by the user of the process at the other end: the ring's own, and root."""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import samebytes
from samebytes_ipc import OfferError, RingWriter

from .both_ends import connect, sent, value_of
from .owners import fetched_with
from .ring_packets import JOIN

# Python's own word on threads.
pytestmark = [
    pytest.mark.usefixtures("nothing_stays_offered"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

NOBODY = 65534
OWN = 1234
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")


def as_nobody(address: bytes | str, kind: int, says: bytes) -> bytes:
    """Return the answer that a process of another user gets."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with socket.socket(socket.AF_UNIX, kind) as sock:
                sock.settimeout(20)
                sock.connect(address)
                answer = b""
                try:
                    sock.sendall(says)
                    answer = sock.recv(100)
                except ConnectionError:
                    pass
                os.write(writing, b"answered " + answer)
            os._exit(0)
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answered = file.read()
    assert os.waitpid(child, 0) == (child, 0)
    return answered


@pytest.fixture
def ring() -> Any:
    """A writer at an abstract name, to which any user can connect."""
    name = f"@{secrets.token_hex(8)}"
    with RingWriter(name, format="GRAY8", width=64, height=16, timeout=20) as writer:
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                writer.serve(0.01)

        thread = threading.Thread(target=serve)
        thread.start()
        yield writer, name
        stop.set()
        thread.join()


@AS_ROOT
def test_another_user_does_not_join_a_ring(ring: Any) -> None:
    writer, name = ring
    assert as_nobody(name.replace("@", "\0"), socket.SOCK_SEQPACKET, JOIN) == b"answered "
    assert not writer.statistics.readers


@pytest.mark.parametrize(("user", "joins"), [(OWN, True), (0, True), (NOBODY, False)])
def test_a_ring_asks_for_the_user_of_who_connects(
    user: int,
    joins: bool,
    tmp_path: Any,
    connecting_user: Callable[[int, int], None],
) -> None:
    connecting_user(user, OWN)
    address = str(tmp_path / "ring")
    with RingWriter(address, format="GRAY8", width=64, height=16, timeout=20) as writer:
        if joins:
            with connect(writer, address, timeout=20) as reader:
                sent(writer, 3)
                assert value_of(reader.read()) == 3
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            sock.settimeout(20)
            sock.connect(address)
            writer.serve()
            assert sock.recv(1) == b""


def pickled_frame() -> bytes:
    """A pickle."""
    frame = samebytes.context("dma").allocate_frame("GRAY8", 64, 16)
    return bytes(ForkingPickler.dumps(frame))


@AS_ROOT
def test_another_user_gets_nothing_for_a_key() -> None:
    pickled = pickled_frame()
    address, key = fetched_with(pickled)
    assert as_nobody(address, socket.SOCK_STREAM, key) == b"answered "
    assert value_of(pickle.loads(pickled)) == 0  # it was not spent


def here(_: socket.socket) -> bool:
    """True in the thread that answers, where the other end is the one that loads."""
    return threading.current_thread().name == "samebytes offers"


@pytest.mark.parametrize("other_one", ["who loads", "who answers"])
def test_both_ends_of_a_pickle_ask_for_the_user_of_the_other(
    other_one: str, answering: Any, offered: Callable[[], int]
) -> None:
    pickled = pickled_frame()
    for user in (NOBODY, 0):  # the first one fetches nothing, and spends nothing
        asked: list[Any] = []

        def user_of(sock: socket.socket, user: int = user, asked: list[Any] = asked) -> int:
            asked.append(sock)
            return user if here(sock) is (other_one == "who loads") else OWN

        with answering.among(OWN, user_of):
            if user:
                with pytest.raises(OfferError):
                    pickle.loads(pickled)
                assert offered() == 1
            else:
                assert value_of(pickle.loads(pickled)) == 0
        assert asked
