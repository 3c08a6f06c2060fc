# SPDX-License-Identifier: Apache-2.0
"""A reader's connection to one writer, which lives until the last of its frames is gone."""

from __future__ import annotations

import os
import select
import socket
from collections import deque

from samebytes import Fd
from samebytes.plugins import deferred, in_forked_child

from .._errors import EndOfStreamError, MessageError, RingRefusedError
from .._sockets.peers import AT_ONCE, finds_no_room, has_ended, pidfd_of, stream_of
from .._wire.message import shown
from .inbox import Inbox
from .packets import (
    REFUSED,
    WELCOME,
    pack_done,
    pack_leave,
    unpack_refused,
    unpack_welcome,
)
from .received_frames import Received
from .uses import Use

__all__ = ["Connection"]


class Connection:
    """A reader's connection to one writer.

    Attributes:
        sock: the socket.
        returns: the socket through which frames go back; `sock` until the writer has passed it.
        inbox: what the writer sends.
        received: its slots and layouts.
        credits: how many frames the writer lets this reader have at a time.
        sequence: of the latest frame; 0 before the first.
        uses: those that the writer knows of, by the sequence numbers of their frames.
        unsent: those of them that are over, and have not been given back yet.
        alarmed: the writer's process was seen to have ended.
        ended: no more frames are taken from the writer.
        polls: poll objects that no thread waits with now, each with the eventfd that it watches
            too, and with whether it waits for room.
        packet_came: the events that they return when a packet came, and nothing else happened.

    Args:
        sock: the attribute.
        mapped: whether frames are to be of the CPU's memory.
    """

    __slots__ = ("_left", "_pidfd", "_process", "_sending", "alarmed", "credits", "ended",
                 "inbox", "packet_came", "polls", "received", "returns", "sequence", "sock",
                 "unsent", "uses")  # fmt: skip

    def __init__(self, sock: socket.socket, mapped: bool) -> None:
        self.sock = self.returns = sock
        self.inbox = Inbox(sock)
        self.received = Received(mapped)
        self.credits = 0
        self.sequence = 0
        self.uses: dict[int, Use] = {}
        self.unsent: deque[Use] = deque()
        self.alarmed = self.ended = self._left = False
        self.packet_came = [(sock.fileno(), select.POLLIN)]
        self.polls: list[tuple[Fd, bool, select.poll]] = []
        # A forked child sends nothing, for its parent would send it again. fork() may come at any
        # moment, and other hooks of the child may drop frames before the hook of this module runs.
        self._process = os.getpid()
        self._pidfd: Fd | None = None
        # The call that has put a list of its own into it may send. A lock would not do: a finalizer
        # cannot wait for one, and must not send in the middle of what its own thread sends.
        self._sending: dict[None, list[None]] = {}
        _open.add(self)

    @property
    def held(self) -> int:
        """The number of the writer's frames that this process uses."""
        return sum(use() is not None for use in list(self.uses.values()))

    def welcomed(self) -> bool:
        """True if the writer has taken this reader; False if its answer has not come yet.

        Raises:
            RingRefusedError: it takes no more readers.
            EndOfStreamError: it ended without an answer.
            MessageError: the other end is not a writer of a ring.
        """
        try:
            nbytes = self.inbox.first()
        except BlockingIOError:
            return False
        if not nbytes:
            raise EndOfStreamError("the writer of the ring ended")
        packet = self.inbox.packet(nbytes)
        if packet[0] == REFUSED:
            raise RingRefusedError(f"the writer says: {unpack_refused(packet)!r}")
        if packet[0] != WELCOME:
            raise MessageError("packet", f"{shown(packet)} does not begin a ring")
        self.credits = unpack_welcome(packet)
        with deferred():
            self.returns = stream_of(self.inbox.fds, self.inbox.sender, "welcome.returns")
        self._watch(self.inbox.sender)
        self.inbox.done()
        return True

    def why_no_frame(self) -> str:
        """The text of the error where no frame, or no welcome, came in time."""
        if not self.credits:
            return (
                "the writer did not let this reader join in time: it does so in its calls, as "
                "RingWriter.serve()"
            )
        if self.held >= self.credits:
            return (
                f"no frame came in time: this process holds {self.held}, and the writer sends it "
                f"no more than {self.credits} at a time: drop some, or copy them"
            )
        return "no frame came in time"

    def _watch(self, writer: int) -> None:
        """Watch the process of a writer that has answered: another one may keep its socket open."""
        self._pidfd = pidfd_of(writer)
        self.polls.clear()  # they do not wait for its end
        # The sender of what comes now is of no interest, and credentials cost time in each packet.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)

    def look_for_writer(self) -> bool:
        """True if the writer's process has ended, as `alarmed` says from then on."""
        self.alarmed = has_ended(self._pidfd)
        return self.alarmed

    def has_more(self) -> bool:
        """True if a packet can be received without waiting."""
        waiting = select.poll()
        waiting.register(self.sock.fileno(), select.POLLIN)
        return bool(waiting.poll(0))

    def poll_for(self, wake: Fd, room: bool) -> select.poll:
        """Return a poll object for a packet, the end of the writer, `wake`, and room to give back.

        Args:
            wake: what else to wait for.
            room: wait for room, too.

        Raises:
            ValueError: the socket was closed.
        """
        while self.polls:
            try:
                known = self.polls.pop()
            except IndexError:  # another thread was faster
                break
            if known[0] is wake and known[1] is room:
                return known[2]
        waiting = select.poll()
        waiting.register(self.sock.fileno(), select.POLLIN)
        if room:
            waiting.register(self.returns.fileno(), select.POLLOUT)
        waiting.register(wake.fileno(), select.POLLIN)
        if self._pidfd is not None:
            waiting.register(self._pidfd.fileno(), select.POLLIN)
        return waiting

    def send_unsent(self) -> None:
        """Give back what is over, and leave, as far as there is room: one thread at a time."""
        me: list[None] = []
        while True:
            try:
                # If another call is sending, it will look again.
                if self._sending.setdefault(None, me) is not me or self._process != os.getpid():
                    return
                room = self._send_all()
            finally:
                # No call is made here: a signal handler's exception comes after these lines.
                try:
                    if self._sending[None] is me:
                        del self._sending[None]
                except KeyError:
                    pass
            if not room or (not self.unsent and self.ended is self._left):
                return

    def _send_all(self) -> bool:
        """Send all; False if there is no room.

        An exception of a signal handler may lose the record that is being sent. The writer then
        gets the slot back when the socket is closed.
        """
        while self.unsent:
            use = self.unsent.popleft()
            del self.uses[use.sequence]
            try:
                self.returns.send(pack_done(use.slot, use.sequence), AT_ONCE)
            except OSError as error:
                if finds_no_room(error):
                    self.uses[use.sequence] = use
                    self.unsent.appendleft(use)
                    return False
                # Otherwise the writer is gone, and needs nothing any more.
        if self.ended and not self._left:
            with deferred():
                try:
                    self.returns.send(pack_leave(self.sequence), AT_ONCE)
                    self._left = True
                except OSError as error:
                    self._left = not finds_no_room(error)
            if not self._left:
                return False
        if self._left and not self.held:
            self.close()
        return True

    def leave(self) -> None:
        """Take no more frames; the socket is closed when those that are used are gone."""
        self.ended = True
        self.send_unsent()

    def close(self) -> None:
        """Close the descriptors; the writer takes back all that is used here."""
        self.sock.close()
        self.returns.close()
        self.inbox.clear()
        self.polls.clear()
        _open.discard(self)
        if self._pidfd is not None:
            self._pidfd.close()


# Strong references: the socket of a connection that only a reference cycle holds would be finalized
# before its frames could give their slots back.
_open: set[Connection] = set()


def _leave_to_the_parent() -> None:
    for connection in list(_open):
        connection.ended = connection._left = True
        connection.close()


in_forked_child(_leave_to_the_parent)
