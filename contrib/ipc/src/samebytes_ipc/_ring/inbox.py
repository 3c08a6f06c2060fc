# SPDX-License-Identifier: Apache-2.0
"""The packet of a socket that is acted on next: a signal handler that raises loses none."""

from __future__ import annotations

import socket
from contextlib import suppress
from functools import partial
from operator import call

from samebytes import Fd
from samebytes.plugins import deferred

from .._errors import MessageError
from .._sockets.transport import (
    ANCILLARY,
    CLOEXEC,
    CONTROL_TRUNCATED,
    TRUNCATED,
    Received,
    descriptors_in,
    sender_in,
)
from .._wire.message import MAX_DESCRIPTORS
from .packets import MAX_PACKET

__all__ = ["Inbox"]


class Inbox:
    """The packet of a socket that is acted on next.

    It stays here until that is done. If an exception comes before, the next call finds it again, so
    acting on it twice must do no harm. If a packet were lost that brings other memory for a slot,
    later frames would show the bytes of the memory before.

    Attributes:
        packets: what the socket returned for it; empty if none was received.
        room: the buffer that begins with its bytes.
        fds: its descriptors.
        sender: the process that sent it, or the last one that is known; 0 if none is.
    """

    __slots__ = ("_receive", "fds", "packets", "room", "sender")

    def __init__(self, sock: socket.socket) -> None:
        # Most packets are short, and room for the longest takes a while to allocate.
        self.room = bytearray(MAX_PACKET + 1)
        self._receive = [partial(sock.recvmsg_into, (self.room,), ANCILLARY, CLOEXEC)]
        self.packets: list[Received] = []
        self.fds: list[Fd] = []
        self.sender = 0

    def first(self) -> int:
        """Return the length of the next packet; 0 at the end of the connection.

        Raises:
            BlockingIOError: there is none.
            MessageError: it is too long, or has too many descriptors.
            OSError: raised by the socket.
        """
        packets = self.packets
        if not packets:
            # Received and stored in one instruction: a signal handler runs before or after it.
            packets += map(call, self._receive)
        nbytes, ancillary, flags, _ = packets[0]
        if ancillary or flags & _CUT:
            self._own(packets[0])
        return int(nbytes)

    def _own(self, packet: Received) -> None:
        """Own its descriptors, and refuse a packet that is not whole."""
        nbytes, ancillary, flags, address = packet
        with deferred():  # each descriptor has one owner
            self.packets[0] = nbytes, [], flags, address
            self.fds += map(Fd, descriptors_in(ancillary))
            self.sender = sender_in(ancillary) or self.sender
        if flags & TRUNCATED:
            raise MessageError("packet", f"has more than {MAX_PACKET} bytes")
        if flags & CONTROL_TRUNCATED or len(self.fds) > MAX_DESCRIPTORS:
            raise MessageError(
                "descriptors",
                f"received more than {MAX_DESCRIPTORS}, or more than this process may open",
            )

    def packet(self, nbytes: int) -> bytes:
        """Return its bytes, of which there are `nbytes`."""
        return bytes(self.room[:nbytes])

    def done(self) -> None:
        """Forget the packet, which was acted on."""
        # No call is made here: a signal handler's exception comes after these lines.
        self.fds = []
        del self.packets[:]

    def clear(self) -> None:
        """Close the descriptors of what was not acted on. The socket is closed."""
        if self.packets:
            with suppress(MessageError):
                self._own(self.packets[0])
        self.done()


_CUT = TRUNCATED | CONTROL_TRUNCATED
