# SPDX-License-Identifier: Apache-2.0
"""A reader's connection to one writer, which lives until the last of its frames is gone."""

from __future__ import annotations

import os
import select
import socket
import weakref
from collections import deque
from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any

from samebytes import Fd
from samebytes.plugins import in_forked_child

from .._errors import EndOfStreamError, MessageError, RingRefusedError
from .._sockets.peers import has_ended, pidfd_of, send_packet
from .._wire.message import shown
from .inbox import Inbox, TakenError
from .packets import (
    REFUSED,
    WELCOME,
    pack_done,
    pack_leave,
    unpack_refused,
    unpack_welcome,
)
from .slots import SlotBytes, SlotUse, User

if TYPE_CHECKING:
    from .received_frames import Received

__all__ = ["Connection"]


class Connection:
    """A reader's connection to one writer.

    Attributes:
        sock: the socket.
        received: its slots and layouts.
        credits: how many frames the writer lets this reader have at a time.
        sequence: of the latest frame; 0 before the first.
        inbox: what the writer sends.
        alarmed: the writer's process was seen to have ended.
    """

    __slots__ = ("_held", "_known", "_leaving", "_pidfd", "_polls", "_process", "_sending",
                 "_unsent", "alarmed", "credits", "inbox", "received", "sequence",
                 "sock")  # fmt: skip

    def __init__(self, sock: socket.socket, received: Received) -> None:
        self.sock = sock
        self.received = received
        self.credits = 0
        self.sequence = 0
        self.alarmed = False
        self.inbox = Inbox(sock)
        # For what else each waits, and whether for room; those with which no thread waits now.
        self._polls: list[tuple[Fd, bool, select.poll]] = []
        # A forked child sends nothing: its parent would do so again. fork() may come at any moment,
        # and what other hooks of the child drop may come before its own one here.
        self._process = os.getpid()
        self._pidfd: Fd | None = None
        # By sequence, who uses it. Another one, made for a packet that a finalizer or signal
        # handler had taken first, gives nothing back.
        self._held: dict[int, weakref.ref[User]] = {}
        # What the writer knows to be held here: it changes when a packet is made, or made again.
        self._known: dict[int, None] = {}
        # What comes back, by slot and sequence; None where the reader leaves.
        self._unsent: deque[tuple[int, int] | None] = deque()
        # Whoever puts a list of its own into it may send. No lock: a finalizer cannot wait for one,
        # and must not go on in the middle of what its own thread does.
        self._sending: dict[None, list[None]] = {}
        self._leaving = False
        _open.add(self)

    @property
    def held(self) -> int:
        """The number of the writer's frames that this process uses."""
        return len(self._held)

    @property
    def ended(self) -> bool:
        """True if no more frames are taken from the writer."""
        return self._leaving

    def welcomed(self) -> bool:
        """True if the writer has taken this reader; False if its answer has not come yet.

        Raises:
            RingRefusedError: it takes no more readers.
            EndOfStreamError: it ended without an answer.
            MessageError: the other end is not a writer of a ring.
        """
        try:
            number, packet, fds = self.inbox.first()
        except BlockingIOError:
            return False
        if not packet:
            raise EndOfStreamError("the writer of the ring ended")
        if packet[0] == REFUSED:
            raise RingRefusedError(f"the writer says: {unpack_refused(packet)!r}")
        if packet[0] != WELCOME or fds:
            raise MessageError("packet", f"{shown(packet)} does not begin a ring")
        self.credits = unpack_welcome(packet)
        self._watch(self.inbox.sender())
        self.inbox.take(number)
        return True

    def why_no_frame(self) -> str:
        """The text of the error where no frame came in time."""
        if self.held >= self.credits > 0:
            return (
                f"no frame came in time: this process holds {self.held}, and the writer sends it "
                f"no more than {self.credits} at a time: drop some, or copy them"
            )
        return "no frame came in time"

    def _watch(self, writer: int) -> None:
        """It has answered: notice the end of its process, also while another has its socket."""
        self._pidfd = pidfd_of(writer)
        # Nobody asks who sent what comes now, and credentials take time with each packet.
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
        """Return what waits for a packet, the end of the writer, `wake`, or room to send.

        Args:
            wake: what else to wait for.
            room: wait for room, too.

        Raises:
            ValueError: the socket was closed.
        """
        while self._polls:
            try:
                known = self._polls.pop()
            except IndexError:  # another thread was faster
                break
            if known[0] is wake and known[1] is room:
                return known[2]
        waiting = select.poll()
        waiting.register(self.sock.fileno(), select.POLLIN | (select.POLLOUT if room else 0))
        waiting.register(wake.fileno(), select.POLLIN)
        if self._pidfd is not None:
            waiting.register(self._pidfd.fileno(), select.POLLIN)
        return waiting

    def keep_poll(self, wake: Fd, room: bool, waiting: select.poll) -> None:
        """Have the next poll_for() of the same return that; what it waits for rarely changes."""
        if self.credits:
            self._polls.append((wake, room, waiting))

    def begin(
        self,
        packet: int,
        slot: int,
        sequence: int,
        use: SlotUse | SlotBytes,
    ) -> None:
        """A frame is used from now on, until the end of `use`.

        Args:
            packet: by which its packet is taken out of the inbox.
            slot: where it lies.
            sequence: its number.
            use: gives it back.

        Raises:
            TakenError: the packet is not there any more.
        """
        # It ends in two steps, which give nothing back before the frame is held. If a signal
        # handler's exception comes before the first instruction of one, the other gives the slot
        # back: of a storage, after its release, the end of the user that this alone holds; of
        # bytes, a second weak reference.
        give_back = partial(self._give_back, slot, sequence)
        me: weakref.ref[Any]
        if isinstance(use, SlotBytes):
            me = weakref.ref(use, give_back)
            use.ended = weakref.ref(use, partial(give_back, me))
        else:
            user = User()
            me = weakref.ref(user, give_back)
            use.release = partial(give_back, me, user)
            del user
        waiting, known, held = self.inbox.waiting, self._known, self._held
        received = waiting.get(packet)
        if received is None:
            raise TakenError
        if received[1]:
            notes = (known, None), (held, me)
            self.inbox.take(packet, *[partial(setitem, at, sequence, what) for at, what in notes])
        else:
            # No call is made here: a signal handler's exception comes after those.
            try:
                del waiting[packet]
            except KeyError:
                raise TakenError from None
            known[sequence] = None
            held[sequence] = me
        self.sequence = sequence

    def _give_back(
        self, slot: int, sequence: int, use: weakref.ref[User], _: object = None
    ) -> None:
        """Called by whichever thread drops the last holder, in a finalizer: it cannot wait."""
        # No call is made here: a signal handler's exception comes after those.
        try:
            if self._held[sequence] is use:
                del self._held[sequence]
                self._unsent += ((slot, sequence),)
        except KeyError:
            pass  # a signal handler came later the first time
        if self._unsent or self._leaving:
            self.send_unsent()

    @property
    def waits_for_room(self) -> bool:
        """True if something is still to be sent for which the socket had no room."""
        return bool(self._unsent)

    def send_unsent(self) -> None:
        """Send what there is to say, as far as there is room.

        One thread at a time, in the order of `_unsent`: which frames are kept when the reader
        leaves is what was not given back before that in this order, whatever is dropped meanwhile.
        """
        me: list[None] = []
        while self._unsent:
            if self._process != os.getpid():
                return
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
        if not self._unsent:  # another thread was faster
            return True
        returned = self._unsent[0]
        if returned is None:
            packet = pack_leave(list(self._known))
        else:
            self._known.pop(returned[1], None)
            packet = pack_done(*returned)
        try:
            return send_packet(self.sock, packet, (), [self._unsent.remove], [returned])
        except OSError:  # the writer is gone, and wants nothing any more
            self._unsent.popleft()
            return True

    def leave(self) -> None:
        """Take no more frames; the socket is closed when those that are used are gone."""
        if not self._leaving:
            # No call is made here: neither a signal handler nor a finalizer comes in between.
            self._leaving = True
            self._unsent += (None,)
        self.send_unsent()  # also where a signal handler kept it from that the first time

    def close(self) -> None:
        """Close the descriptors: whatever is used here, the writer takes back."""
        self.sock.close()
        self.inbox.clear()
        _open.discard(self)
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
