# SPDX-License-Identifier: Apache-2.0
"""Rings at abstract names, which any user can take: whose frames a reader takes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

import pytest

from samebytes_ipc import RingReader, RingRefusedError

from .both_ends import connect, sent, value_of, writer_at

# Python's own word on threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")
WRITER, OTHER = 65534, 65533
OWN = os.getuid() or 1234


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
    [
        (OWN, OWN, True),
        (0, OWN, True),
        (WRITER, 1234, False),
        pytest.param(WRITER, 0, True, marks=AS_ROOT),
    ],
)
def test_a_reader_asks_for_the_user_of_the_writer(
    user: int, own: int, takes: bool, writing_user: Callable[[int, int], None]
) -> None:
    name = f"@{secrets.token_hex(8)}"
    with writer_at(name) as writer:
        writing_user(user, own)
        if takes:
            with connect(writer, name, timeout=20) as reader:
                sent(writer, 5)
                assert value_of(reader.read()) == 5
            return
        with pytest.raises(RingRefusedError, match=f"of user {own} and of root alone"):
            RingReader(name, timeout=20)
        writer.serve()  # the end of the reader is closed at once
        assert not writer.statistics.readers
