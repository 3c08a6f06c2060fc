# SPDX-License-Identifier: Apache-2.0
"""A reader's connection to one writer, which lives until the last of its frames is gone."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from samebytes.plugins import Fd, in_forked_child

from .messages import MAX_PACKET, pack_done, pack_leave
from .sockets import has_ended, pidfd_of, send_packet

if TYPE_CHECKING:
    from .received import Received

__all__ = ["Connection"]


class Connection:
    """What a reader has of one writer.

    Attributes:
        sock: the socket.
        received: its slots and layouts.
        credits: how many frames the writer lets this reader have at a time.
        sequence: of the latest frame; 0 before the first.
        room: for the packet that is received.
    """

    __slots__ = ("_held", "_known", "_leaving", "_packet", "_pidfd", "_sending", "_unsent",
                 "credits", "received", "room", "sequence", "sock")  # fmt: skip

    def __init__(self, sock: socket.socket, received: Received) -> None:
        self.sock = sock
        self.received = received
        self.credits = 0
        self.sequence = 0
        self.room = bytearray(MAX_PACKET + 1)
        self._pidfd: Fd | None = None
        self._held: set[int] = set()
        # What the writer knows to be held here: it changes when a packet is made.
        self._known: set[int] = set()
        # What comes back, by slot and sequence; None where the reader leaves.
        self._unsent: deque[tuple[int, int] | None] = deque()
        self._packet: bytes | None = None  # of the first of them, if there was no room for it
        # Whoever puts a list of its own into it may send. No lock: a finalizer cannot wait for one,
        # and must not go on in the middle of what its own thread does.
        self._sending: dict[None, list[None]] = {}
        self._leaving = False
        _open.add(self)

    @property
    def held(self) -> int:
        """How many frames of it are used here."""
        return len(self._held)

    @property
    def ended(self) -> bool:
        """Whether no more frames are taken from it."""
        return self._leaving

    def watch(self, writer: int) -> None:
        """It has answered: notice the end of its process, also while another has its socket."""
        self._pidfd = pidfd_of(writer)
        # Nobody asks who sent what comes now, and credentials take time with each packet.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)

    def writer_is_gone(self) -> bool:
        """Whether the writer's process has ended."""
        return has_ended(self._pidfd)

    def has_more(self) -> bool:
        """Whether a packet is there."""
        waiting = select.poll()
        waiting.register(self.sock.fileno(), select.POLLIN)
        return bool(waiting.poll(0))

    def filenos(self) -> list[int]:
        """What becomes readable when something happens."""
        found = [self.sock.fileno()]
        if self._pidfd is not None:
            found.append(self._pidfd.fileno())
        return found

    def taken(self, slot: int, sequence: int) -> Callable[[], None]:
        """A frame is used from now on; what ends that."""
        self._known.add(sequence)
        self._held.add(sequence)
        return partial(self._give_back, slot, sequence)

    def _give_back(self, slot: int, sequence: int) -> None:
        """Called by whichever thread drops the last holder, in a finalizer: it cannot wait."""
        self._held.discard(sequence)
        self._unsent.append((slot, sequence))
        self.send_unsent()

    @property
    def waits_for_room(self) -> bool:
        """Whether something is to be sent for which there was no room."""
        return bool(self._unsent)

    def send_unsent(self) -> None:
        """Send what there is to say, as far as there is room.

        One thread at a time, in the order of `_unsent`: which frames are kept when the reader
        leaves is what was not given back before that in this order, whatever is dropped meanwhile.
        """
        me: list[None] = []
        while self._unsent:
            try:
                if self._sending.setdefault(None, me) is not me:
                    return  # whoever sends looks again
                room = self._send_first()
            finally:
                # No call is made here: a signal handler's exception comes after those.
                try:
                    if self._sending[None] is me:
                        del self._sending[None]
                except KeyError:
                    pass
            if not room:
                break
        if self._leaving and not self._sending and not self._held:
            self.close()

    def _send_first(self) -> bool:
        if self._packet is None:
            if not self._unsent:  # another thread was faster
                return True
            returned = self._unsent[0]
            if returned is None:
                self._packet = pack_leave(list(self._known))
            else:
                self._packet = pack_done(*returned)
                self._known.discard(returned[1])
        try:
            if not send_packet(self.sock, self._packet):
                return False
        except OSError:  # the writer is gone, and wants nothing any more
            pass
        self._packet = None
        self._unsent.popleft()
        return True

    def leave(self) -> None:
        """Take no more frames; the socket is closed when those that are used are gone."""
        if self._leaving:
            return
        self._unsent.append(None)
        self._leaving = True
        self.send_unsent()

    def close(self) -> None:
        """Close the descriptors: whatever is used here, the writer takes back."""
        _open.discard(self)
        self.sock.close()
        if self._pidfd is not None:
            self._pidfd.close()


# Strong: the socket of one that only a reference cycle holds would be finalized before its frames
# could give their slots back.
_open: set[Connection] = set()


def _leave_to_the_parent() -> None:
    for connection in list(_open):
        connection._leaving = True
        connection.close()


in_forked_child(_leave_to_the_parent)
