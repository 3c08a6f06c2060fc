# SPDX-License-Identifier: Apache-2.0
"""The process at the other end of a socket: packets for it, its user, and whether it lives."""

from __future__ import annotations

import array
import errno
import os
import select
import socket
import struct
from collections.abc import Callable, Sequence
from functools import partial

from samebytes import Fd
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import deferred

from .._errors import RingRefusedError
from .addresses import Address
from .transport import SCM_CREDENTIALS

__all__ = [
    "CREDENTIALS_SIZE",
    "check",
    "check_writer",
    "finds_no_room",
    "greet",
    "has_ended",
    "pidfd_of",
    "send_packet",
    "sender",
    "user_of",
]

_CREDENTIALS = struct.Struct("iII")
CREDENTIALS_SIZE = _CREDENTIALS.size


def check(sock: socket.socket) -> None:
    """Make ready a socket of the caller's.

    Raises:
        UnsupportedObjectError: it is another kind of socket.
    """
    if not isinstance(sock, socket.socket):
        raise UnsupportedObjectError(
            f"sock={sock!r}: a ring needs a socket.socket, as by socket.socketpair("
            "socket.AF_UNIX, socket.SOCK_SEQPACKET)"
        )
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_SEQPACKET:
        raise UnsupportedObjectError(
            "a ring needs a Unix socket that keeps packets apart, as by socket.socketpair("
            f"socket.AF_UNIX, socket.SOCK_SEQPACKET), not {sock.family.name} {sock.type.name}"
        )
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def greet(sock: socket.socket, packet: bytes, then: Callable[[], object] | None = None) -> None:
    """Send the first packet, with the number of this process, which the kernel confirms.

    Args:
        then: notes that it was sent; no signal handler comes in between.
    """
    own = _CREDENTIALS.pack(os.getpid(), os.getuid(), os.getgid())
    credentials = (socket.SOL_SOCKET, SCM_CREDENTIALS, own)
    with deferred():
        sock.sendmsg([packet], [credentials])
        if then is not None:
            then()


def send_packet(sock: socket.socket, packet: bytes, descriptors: Sequence[int] = ()) -> bool:
    """Send a packet without waiting. Returns False if the socket's buffer is full.

    Args:
        sock: the socket.
        packet: its bytes.
        descriptors: go along.

    Raises:
        OSError: the peer is gone.
    """
    try:
        sender(sock, packet, descriptors)()
    except OSError as error:
        if finds_no_room(error):
            return False
        raise
    return True


def sender(sock: socket.socket, packet: bytes, descriptors: Sequence[int]) -> Callable[[], int]:
    """Return a function written in C that sends a packet, and descriptors along with it."""
    if not descriptors:
        return partial(sock.send, packet)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    return partial(sock.sendmsg, [packet], [rights])


def finds_no_room(error: OSError) -> bool:
    """True if a packet can be tried again later: it had no room in the socket's buffer, or in the
    system's memory, or too many descriptors are on their way (unix(7), ETOOMANYREFS).
    """
    return error.errno in (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS)


def user_of(sock: socket.socket) -> int:
    """The user whose process made the other end."""
    size = _CREDENTIALS.size
    return int(_CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])


def check_writer(sock: socket.socket, address: Address) -> None:
    """Refuse a writer of another user: any may take an abstract name that nobody has.

    Root reads the rings of all users.

    Raises:
        RingRefusedError: another user has.
    """
    user, own = user_of(sock), os.getuid()
    if own != 0 and user not in (own, 0):
        sock.close()
        raise RingRefusedError(
            f"a process of user {user} writes to the ring {address}: frames are taken from "
            f"processes of user {own} and of root alone"
        )


def pidfd_of(process: int) -> Fd | None:
    """Return a pidfd, which becomes readable when the process ends; None if there can be none."""
    if process <= 0 or process == os.getpid():
        return None
    try:
        return Fd(os.pidfd_open(process))
    except (OSError, AttributeError):
        return None


def has_ended(pidfd: Fd | None) -> bool:
    """True if the process of a pidfd has ended."""
    if pidfd is None:
        return False
    waiting = select.poll()
    waiting.register(pidfd.fileno(), select.POLLIN)
    return bool(waiting.poll(0))
