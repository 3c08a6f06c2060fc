# SPDX-License-Identifier: Apache-2.0
"""The packets that a reader receives: a signal handler that raises makes it lose none of them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
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

__all__ = ["Inbox", "Packet", "TakenError"]

Packet = tuple[int, bytes, list[Fd]]
"""Its number, by which it is taken out of the inbox, its bytes, and its descriptors."""


class TakenError(Exception):
    """A finalizer or signal handler that reads, too, has acted on the packet meanwhile."""


class Inbox:
    """The packets of a socket, one at a time.

    A packet goes from the socket into this object without an instruction of Python in between,
    where a signal handler could raise. It stays here until whoever acts on it takes it out, as
    part of the last step. Whoever is interrupted before that finds it again: to act on it once
    more must do no harm.

    Attributes:
        waiting: what was received: at most one packet, by a number, so that nobody takes out
            another one than that which was acted on.
    """

    __slots__ = ("_number", "_receive", "_room", "waiting")

    def __init__(self, sock: socket.socket) -> None:
        # Most packets are short, and room for the longest takes a while to allocate.
        room = self._room = bytearray(MAX_PACKET + 1)
        self._receive = [partial(sock.recvmsg_into, (room,), ANCILLARY, CLOEXEC)]
        self.waiting: dict[int, Received] = {}
        self._number = 0

    def first(self) -> Packet:
        """The packet whose turn it is; its bytes are empty at the end of the connection.

        Raises:
            BlockingIOError: there is none.
            MessageError: it is too long, or has too many descriptors.
            OSError: what the socket says; or no descriptor is left, and it can be tried again.
        """
        while True:
            number = next(iter(self.waiting), 0)
            received = self.waiting.get(number)
            if received is None:
                number = self._number = self._number + 1
                one = zip((number,), map(call, self._receive))  # noqa: B905 - slower if strict
                self.waiting.update(one)
                received = self.waiting.get(number)
                if received is None:
                    continue
            got, ancillary, flags, _ = received
            fds: list[Fd] = []
            if ancillary:  # the numbers that came stay here, for one who tries again
                try:
                    fds += [Fd(os.dup(n)) for n in descriptors_in(ancillary)]
                except OSError:
                    if number in self.waiting:
                        raise
                    continue
            data = bytes(self._room[:got])
            if number not in self.waiting:
                continue
            if flags & TRUNCATED:
                raise MessageError("packet", f"has more than {MAX_PACKET} bytes")
            if flags & CONTROL_TRUNCATED or len(fds) > MAX_DESCRIPTORS:
                raise MessageError(
                    "descriptors",
                    f"received more than {MAX_DESCRIPTORS}, or more than this process may open",
                )
            return number, data, fds

    def take(self, number: int, *then: Callable[[], object]) -> None:
        """Take a packet out, and make calls; no signal handler comes in between.

        Args:
            number: of the packet.
            then: what is called, if the packet is there.

        Raises:
            TakenError: it is not there any more. Nothing was called.
        """
        with deferred():
            received = self.waiting.pop(number, None)
            if received is None:
                raise TakenError
            for descriptor in descriptors_in(received[1]):
                os.close(descriptor)
            for call_next in then:
                call_next()

    def sender(self) -> int:
        """The number of the process that has sent the first packet; 0 where it is not known."""
        for received in self.waiting.copy().values():
            return sender_in(received[1])
        return 0

    def clear(self) -> None:
        """Forget what was not acted on. The socket is closed."""
        for number in self.waiting.copy():
            with suppress(TakenError):  # of another thread that does so, too
                self.take(number)
