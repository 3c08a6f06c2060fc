# SPDX-License-Identifier: Apache-2.0
"""The process at the other end of a socket: packets for it, its user, and whether it lives."""

from __future__ import annotations

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

from .._errors import MessageError, RingRefusedError
from .addresses import Address
from .transport import SCM_CREDENTIALS, rights

__all__ = [
    "AT_ONCE",
    "CREDENTIALS_SIZE",
    "check",
    "check_writer",
    "finds_no_room",
    "greet",
    "has_ended",
    "pidfd_of",
    "send_packet",
    "sender",
    "stream_of",
    "user_of",
]

_CREDENTIALS = struct.Struct("iII")
CREDENTIALS_SIZE = _CREDENTIALS.size
AT_ONCE = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
"""Flags of a call that does not wait, even if another holder of the socket has made it blocking,
and that raises no SIGPIPE, which ends some programs, if the stream has ended."""


def check(sock: socket.socket) -> None:
    """Prepare a socket that the caller has given.

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


def greet(
    sock: socket.socket,
    packet: bytes,
    descriptors: Sequence[int] = (),
    then: Callable[[], object] | None = None,
) -> None:
    """Send the first packet, with the number of this process, which the kernel confirms.

    Args:
        sock, packet, descriptors: as for `send_packet`.
        then: called when it was sent, to note that; no signal handler runs in between.
    """
    own = _CREDENTIALS.pack(os.getpid(), os.getuid(), os.getgid())
    along = [(socket.SOL_SOCKET, SCM_CREDENTIALS, own)]
    if descriptors:
        along.append(rights(descriptors))
    with deferred():
        sock.sendmsg([packet], along)
        if then is not None:
            then()


def send_packet(sock: socket.socket, packet: bytes, descriptors: Sequence[int] = ()) -> bool:
    """Send a packet without waiting. Returns False if the socket's buffer is full.

    Args:
        sock: the socket.
        packet: its bytes.
        descriptors: sent along with it.

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
    return partial(sock.sendmsg, [packet], [rights(descriptors)])


def stream_of(fds: Sequence[Fd], process: int, name: str) -> socket.socket:
    """The end of a stream that a process has made and passed, to be written with `AT_ONCE`.

    Args:
        fds: the descriptors that were received; they stay the caller's.
        process: the one that passed it, which must also have made it. Otherwise it could pass a
            connection to some service, which would then take this process for its client.
        name: of the stream, for an error.

    Raises:
        MessageError: it is something else.
    """
    if len(fds) != 1:
        raise MessageError(name, f"comes with {len(fds)} descriptors, not with one")
    own = fds[0].dup()
    try:
        sock = socket.socket(fileno=own.fileno())
    except OSError:
        raise MessageError(name, "is not a socket") from None
    own.detach()
    sock.setblocking(False)
    is_stream = sock.family == socket.AF_UNIX and sock.type == socket.SOCK_STREAM
    if not is_stream or _maker_of(sock)[0] != process:
        sock.close()
        raise MessageError(name, "is not a stream that the other process has made")
    return sock


def finds_no_room(error: OSError) -> bool:
    """True if a packet can be tried again later: it had no room in the socket's buffer, or in the
    system's memory, or too many descriptors are on their way (unix(7), ETOOMANYREFS).
    """
    return error.errno in (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS)


def user_of(sock: socket.socket) -> int:
    """The user whose process made the other end."""
    return _maker_of(sock)[1]


def _maker_of(sock: socket.socket) -> tuple[int, ...]:
    """The process, user and group that made the other end."""
    said = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS_SIZE)
    return _CREDENTIALS.unpack(said)


def check_writer(sock: socket.socket, address: Address) -> None:
    """Refuse a writer of another user: any user may take an abstract name that is free.

    Root reads the rings of all users.

    Raises:
        RingRefusedError: the writer is another user's.
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
