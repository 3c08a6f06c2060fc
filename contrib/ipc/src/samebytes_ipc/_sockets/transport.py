# SPDX-License-Identifier: Apache-2.0
"""Bytes and descriptors through a Unix socket: sendmsg() and recvmsg() with SCM_RIGHTS."""

from __future__ import annotations

import array
import socket
import time
from collections.abc import Sequence
from typing import Any

from samebytes import Fd
from samebytes.errors import UnsupportedObjectError

from .._errors import EndOfStreamError, MessageError
from .._wire.message import HEADER_SIZE, MAX_BODY, MAX_DESCRIPTORS, pack_header, unpack_header

__all__ = [
    "ANCILLARY",
    "CLOEXEC",
    "CONTROL_TRUNCATED",
    "SCM_CREDENTIALS",
    "TRUNCATED",
    "Ancillary",
    "Received",
    "descriptors_in",
    "receive_message",
    "receive_part",
    "rights",
    "send_message",
    "sender_in",
]

SCM_CREDENTIALS = 2
"""linux/socket.h: the process, user and group of a sender, which the kernel checks."""

Ancillary = list[tuple[int, int, bytes]]
Received = tuple[Any, Ancillary, int, Any]
"""The result of recvmsg(): the bytes or their number, the ancillary data, flags, and an address."""

_INT_SIZE = array.array("i").itemsize
# Plain numbers: comparing members of the enumeration takes as long as receiving a packet.
CLOEXEC = int(socket.MSG_CMSG_CLOEXEC)
CONTROL_TRUNCATED = int(socket.MSG_CTRUNC)
"""Flag of a packet whose descriptors, or some, did not come along."""
TRUNCATED = int(socket.MSG_TRUNC)
"""Flag of a packet that was longer than the room for it."""
# Room for one descriptor too many, and for credentials if the socket was set to pass them.
ANCILLARY = socket.CMSG_SPACE(_INT_SIZE * (MAX_DESCRIPTORS + 1)) + socket.CMSG_SPACE(256)


def send_message(sock: socket.socket, body: bytes, descriptors: Sequence[int]) -> None:
    """Send a message; the descriptors stay the caller's.

    Raises:
        MessageError: more than a message may have.
        UnsupportedObjectError: not a blocking Unix socket.
        OSError: raised by the socket.
    """
    _check(sock)
    message = memoryview(pack_header(len(descriptors), len(body)) + body)
    # If the receiver is gone, that is an error, and not the signal, which ends some programs.
    sent = sock.sendmsg([message], [rights(descriptors)], socket.MSG_NOSIGNAL)
    if sent < len(message):  # on a stream alone
        sock.sendall(message[sent:], socket.MSG_NOSIGNAL)


def rights(descriptors: Sequence[int]) -> tuple[int, int, bytes]:
    """Return the ancillary data by which these descriptors are passed."""
    return socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors).tobytes()


def receive_message(sock: socket.socket) -> tuple[bytes, list[Fd]]:
    """The body and the descriptors of the next message.

    Raises:
        EndOfStreamError: the other side closed the connection.
        MessageError: it is not a message, ends too soon, or comes with another number of
            descriptors than it announces.
        UnsupportedObjectError: not a blocking Unix socket.
        OSError: raised by the socket, a TimeoutError for instance.
    """
    _check(sock)
    fds: list[Fd] = []
    try:
        receive = _packet if sock.type == socket.SOCK_SEQPACKET else _stream
        descriptors, body = receive(sock, fds)
        if len(fds) != descriptors:
            raise MessageError(
                "descriptors", f"header announces {descriptors}, received {len(fds)}"
            )
    except BaseException:
        for fd in fds:
            fd.close()
        raise
    return body, fds


def _stream(sock: socket.socket, fds: list[Fd]) -> tuple[int, bytes]:
    # Read not one byte more than the message has: it would bring descriptors of the next one.
    timeout = sock.gettimeout()
    deadline = None if timeout is None else time.monotonic() + timeout
    header = _exactly(sock, HEADER_SIZE, fds, deadline)
    if not header and not fds:
        raise EndOfStreamError("the other side closed the connection")
    descriptors, nbytes = unpack_header(_whole(header, HEADER_SIZE))
    return descriptors, _whole(_exactly(sock, nbytes, fds, deadline), nbytes)


def _exactly(sock: socket.socket, nbytes: int, fds: list[Fd], deadline: float | None) -> bytes:
    """So many bytes, or fewer at the end of the stream."""
    received = bytearray()
    while len(received) < nbytes:
        # The socket's timeout starts again at each call: one byte at a time could take forever.
        if received and deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("timed out in the middle of a message")
        part, _, _ = receive_part(sock, nbytes - len(received), fds)
        if not part:
            break
        received += part
    return bytes(received)


def _packet(sock: socket.socket, fds: list[Fd]) -> tuple[int, bytes]:
    packet, flags, _ = receive_part(sock, HEADER_SIZE + MAX_BODY, fds)
    if not packet and not fds:
        raise EndOfStreamError("the other side closed the connection")
    if flags & TRUNCATED:
        raise MessageError("length", f"a packet has more than {HEADER_SIZE + MAX_BODY} bytes")
    descriptors, nbytes = unpack_header(_whole(packet[:HEADER_SIZE], HEADER_SIZE))
    if len(packet) > HEADER_SIZE + nbytes:
        raise MessageError("length", f"{nbytes} bytes, but the packet is longer")
    return descriptors, _whole(packet[HEADER_SIZE:], nbytes)


def receive_part(sock: socket.socket, room: int, fds: list[Fd]) -> tuple[bytes, int, int]:
    """One recvmsg().

    Args:
        sock: the socket.
        room: how many bytes at most.
        fds: the descriptors that come along are appended, which makes it their owner.

    Returns:
        The bytes, the flags, and the number of the process that sent its credentials; 0 without.

    Raises:
        MessageError: more descriptors than a message may have, or than this process may open.
        OSError: raised by the socket.
    """
    part, ancillary, flags, _ = sock.recvmsg(room, ANCILLARY, CLOEXEC)
    fds.extend(map(Fd, descriptors_in(ancillary)))
    sender = sender_in(ancillary)
    if flags & CONTROL_TRUNCATED or len(fds) > MAX_DESCRIPTORS:
        raise MessageError(
            "descriptors",
            f"received more than {MAX_DESCRIPTORS}, or more than this process may open",
        )
    return part, flags, sender


def sender_in(ancillary: Ancillary) -> int:
    """The process that sent its credentials, which the kernel has confirmed; 0 without them."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SCM_CREDENTIALS):
            return array.array("i", data[:_INT_SIZE])[0]
    return 0


def descriptors_in(ancillary: Ancillary) -> list[int]:
    """The numbers of the descriptors in ancillary data, which nobody owns yet."""
    numbers: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers += array.array("i", data[: len(data) // _INT_SIZE * _INT_SIZE])
    return numbers


def _whole(part: bytes, nbytes: int) -> bytes:
    if len(part) < nbytes:
        raise MessageError("message", f"ends after {len(part)} of {nbytes} bytes")
    return part


def _check(sock: socket.socket) -> None:
    if not isinstance(sock, socket.socket):
        raise UnsupportedObjectError(
            f"a {type(sock).__name__} is not a socket.socket: make one around its descriptor, "
            "socket.socket(fileno=os.dup(x.fileno()))"
        )
    if sock.family != socket.AF_UNIX or sock.type not in (
        socket.SOCK_STREAM,
        socket.SOCK_SEQPACKET,
    ):
        raise UnsupportedObjectError(
            "descriptors go through Unix sockets (socket.AF_UNIX) of type SOCK_STREAM or "
            f"SOCK_SEQPACKET, not through {sock.family.name} {sock.type.name}"
        )
    if sock.gettimeout() == 0:
        raise UnsupportedObjectError(
            "a non-blocking socket would stop in the middle of a message: give it a timeout, "
            "sock.settimeout(seconds), and call this when it is readable"
        )
