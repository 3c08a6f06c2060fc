# SPDX-License-Identifier: Apache-2.0
"""The writer's record of one reader: its place in the stream, and the frames that it has."""

from __future__ import annotations

import errno
import socket
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import call
from typing import TYPE_CHECKING, Any

from samebytes import Fd
from samebytes.plugins import deferred

from .._errors import MessageError
from .._sockets.peers import (
    CREDENTIALS_SIZE,
    finds_no_room,
    greet,
    has_ended,
    pidfd_of,
    send_packet,
    sender,
)
from .._sockets.transport import CLOEXEC, CONTROL_TRUNCATED, Received, sender_in
from .._wire.message import shown
from .counts import ReaderStatistics
from .packets import (
    DONE,
    END,
    JOIN,
    LATE,
    LEAVE,
    MAX_LAYOUTS,
    MAX_SLOTS,
    MOST_FROM_READER,
    pack_slot,
    pack_welcome,
    unpack_done,
    unpack_join,
    unpack_leave,
)

if TYPE_CHECKING:
    from .deliveries import Delivery

__all__ = ["RemoteReader"]

_MOST_AT_ONCE = 16
"""Packets that are received together: whoever sends without end does not fill the memory."""


class RemoteReader:
    """One connection.

    Attributes:
        sock: its socket.
        process: the number of its process, once it has joined; 0 where the kernel does not say.
        pidfd: of that process.
        joined: it has sent its greeting.
        leaving: it wants no more frames.
        finished: it was sent the end of the stream.
        since: when it connected, as of time.monotonic().
        pending: accepted frames that it was not sent, the oldest first.
        held: those that it was sent and has not given back, by sequence.
        full: its socket had no room for the frame that comes next.
        room_awaited: the ring waits for that room.
        packets: what was received, until what it says is done. While there is any, its socket need
            not be readable.
    """

    __slots__ = (
        "_credits",
        "_done",
        "_dropped",
        "_layouts",
        "_lost",
        "_receive",
        "_send_packet",
        "_slots",
        "finished",
        "full",
        "held",
        "joined",
        "leaving",
        "packets",
        "pending",
        "pidfd",
        "process",
        "room_awaited",
        "since",
        "sock",
    )  # fmt: skip

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.process = 0
        self.pidfd: Fd | None = None
        self.joined = False
        self.leaving = self.finished = self.full = self.room_awaited = False
        self.since = time.monotonic()
        self.pending: deque[Delivery] = deque()
        self.held: dict[int, Delivery] = {}
        self._credits = MAX_SLOTS
        # The versions that it was sent, by number.
        self._slots = [-1] * MAX_SLOTS
        self._layouts = [-1] * MAX_LAYOUTS
        self._done = self._dropped = self._lost = 0
        self.packets: list[Any] = []
        self._send_packet = sock.send
        # Room for credentials alone: the kernel closes descriptors that come along.
        space = socket.CMSG_SPACE(CREDENTIALS_SIZE)
        self._receive: list[Callable[[], Any]] = [
            partial(sock.recvmsg, MOST_FROM_READER + 1, space, CLOEXEC)
        ]

    def take_packets(self, welcome: Callable[[RemoteReader], int]) -> bool:
        """Act on what the reader has sent.

        A packet leaves `packets` with the last step of what it says. Where the exception of a
        signal handler comes before that, the next call goes on with it.

        Args:
            welcome: called when it joins; how many frames it may have at a time.

        Returns:
            False at the end: it has closed its socket, or has left and has nothing any more.

        Raises:
            MessageError: it sent something that it must not.
        """
        more = True
        while True:
            while self.packets:
                packet = self.packets[0]
                if not self.joined:
                    packet = self._greeting(packet)
                if not packet:
                    return False
                if packet[0] == DONE and self.joined:
                    self._return(packet)
                else:
                    self._take(packet, welcome)
            if not more:
                return not (self.leaving and not self.held)
            try:
                # Without an instruction of Python between the socket and the list, which has what
                # came before an error.
                self.packets.extend(map(call, self._receive))
            except BlockingIOError:
                more = False
            except ConnectionResetError:
                continue  # once, where the reader had not read all; its packets are there still
            except OSError:
                return False

    def _greeting(self, received: Received) -> bytes:
        if received[2] & CONTROL_TRUNCATED:
            raise MessageError("descriptors", "come with the greeting of a reader")
        self.process = sender_in(received[1])
        return bytes(received[0])

    def _take(self, packet: bytes, welcome: Callable[[RemoteReader], int]) -> None:
        kind = packet[0]
        if kind == LEAVE and self.joined and not self.leaving:
            self._leave(unpack_leave(packet))
        elif kind == JOIN and not self.joined:
            self._join(unpack_join(packet), welcome)
        else:
            raise MessageError("packet", f"{shown(packet)} is not a packet that can come now")

    def _join(self, wanted: int, welcome: Callable[[RemoteReader], int]) -> None:
        if wanted > MAX_SLOTS:
            raise MessageError("join.credits", f"must be at most {MAX_SLOTS}, not {wanted}")
        if self.pidfd is None:
            self.pidfd = pidfd_of(self.process)
        offered = welcome(self)
        self._credits = min(wanted or MAX_SLOTS, MAX_SLOTS)
        greet(self.sock, pack_welcome(min(offered, self._credits)), self._welcomed)

    def _welcomed(self) -> None:
        self.joined = True
        # recv() has no buffer for descriptors, so the kernel closes any that are sent.
        self._receive = [partial(self.sock.recv, MOST_FROM_READER + 1)] * _MOST_AT_ONCE
        del self.packets[0]
        # Nobody asks who sent what comes now, and credentials take time with each packet.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)

    def _return(self, packet: bytes) -> None:
        slot, sequence = unpack_done(packet)
        delivery = self.held.get(sequence)
        if delivery is None:
            raise MessageError("done.sequence", f"{sequence} is not a frame that the reader has")
        if delivery.slot.number != slot:
            raise MessageError(
                "done.slot", f"{slot}, but frame {sequence} is in slot {delivery.slot.number}"
            )
        # No call is made here: a signal handler's exception comes after those.
        del self.held[sequence]
        del self.packets[0]
        self._done += 1
        delivery.awaited -= 1
        delivery.slot.awaited -= 1
        if not delivery.awaited and delivery.holds is not None:
            delivery.free()

    def _leave(self, kept: list[int]) -> None:
        """It wants no more, and still has some frames."""
        for sequence in kept:
            if sequence not in self.held:
                raise MessageError("leave", f"{sequence} is not a frame that the reader has")
        with deferred():
            self._lose([s for s in self.held if s not in kept])
            self._forget_pending()
            self.leaving = True
            del self.packets[0]

    def send(self, most: int, may_have: Callable[[Delivery], bool]) -> None:
        """Send what waits, as far as there is room and the reader has fewer than `most` frames.

        Args:
            most: how many it may have.
            may_have: whether a frame can be sent now, for what other readers have.

        Raises:
            OSError: it is gone.
        """
        most = min(most, self._credits)
        self.full = False
        while self.pending and len(self.held) < most and may_have(self.pending[0]):
            try:
                self._send(self.pending[0])
            except OSError as error:
                if not finds_no_room(error):
                    raise
                self.full = error.errno == errno.EAGAIN
                return

    def send_at_once(self, delivery: Delivery, most: int) -> bool:
        """Send the usual frame: in a slot and layout that the reader knows, and it awaits no other.

        What a frame costs while the reader keeps up is this function and a packet.

        Args:
            delivery: is the last of those that wait, if any do.
            most: how many frames the reader may have.

        Returns:
            Whether it was sent; else `send` does it, or raises what there is to say.
        """
        held, pending = self.held, self.pending
        slot, layout, have = delivery.slot, delivery.layout, len(held)
        if (
            have >= most
            or have >= self._credits
            or self._slots[slot.number] != slot.version
            or self._layouts[layout.number] != layout.version
            or delivery.results
            or len(pending) != 1  # 0: a finalizer that serves was faster
        ):
            return False
        held[delivery.sequence] = delivery  # as in _send()
        del pending[0]
        try:
            self._send_packet(delivery.packet)
        except OSError:
            self._take_back(delivery)
            return False
        return True

    def _send(self, delivery: Delivery) -> None:
        slot, layout = delivery.slot, delivery.layout
        if self._slots[slot.number] != slot.version:
            assert slot.buffer is not None
            sender(self.sock, pack_slot(slot.number), [slot.buffer.fileno()])()
            self._slots[slot.number] = slot.version
        if self._layouts[layout.number] != layout.version:
            sender(self.sock, layout.packet, ())()
            self._layouts[layout.number] = layout.version
        results = [buffer.fileno() for buffer in delivery.results]
        send = sender(self.sock, delivery.packet, results)
        # Noted before it is sent, as it must not be sent twice, and with no other call in between:
        # a signal handler's exception comes after those.
        self.held[delivery.sequence] = delivery
        del self.pending[0]
        try:
            send()
        except OSError:
            self._take_back(delivery)
            raise

    def _take_back(self, delivery: Delivery) -> None:
        """It was noted as sent, and could not be: it waits again."""
        del self.held[delivery.sequence]
        self.pending.appendleft(delivery)

    def drop(self, delivery: Delivery) -> None:
        """Leave a frame out that it was not sent."""
        with deferred():
            self.pending.remove(delivery)
            self._dropped += 1
            delivery.lose_reader()

    def is_gone(self) -> bool:
        """True if its process has ended, even if another process still holds its socket."""
        return has_ended(self.pidfd)

    def end(self) -> None:
        """Take back the frames that it had or awaited, and count them as lost."""
        with deferred():
            self._lose(list(self.held))
            self._forget_pending()

    def finish(self, frames: int) -> None:
        """Tell it that the stream has ended, if it was sent everything and there is room.

        One that joined after the last frame was too late for this stream, and gets another word.

        Args:
            frames: how many the stream had.

        Raises:
            OSError: it is gone.
        """
        if not (self.pending or self.finished):
            late = frames and not self.statistics.offered
            self.finished = send_packet(self.sock, bytes([LATE if late else END]))

    def without_pending(self) -> ReaderStatistics:
        """Drop what it awaits at the ring's end, and return its counts; it keeps what it has."""
        with deferred():
            self._forget_pending()
        return self.statistics

    def close(self) -> None:
        """Close the descriptors, and nothing else."""
        self.sock.close()
        if self.pidfd is not None:
            self.pidfd.close()

    def _lose(self, sequences: list[int]) -> None:
        for sequence in sequences:
            self._lose_one(self.held.pop(sequence))

    def _forget_pending(self) -> None:
        while self.pending:
            self._lose_one(self.pending.popleft())

    def _lose_one(self, delivery: Delivery) -> None:
        self._lost += 1
        delivery.lose_reader()

    @property
    def statistics(self) -> ReaderStatistics:
        """The counts of its frames."""
        waiting, held = len(self.pending), len(self.held)
        offered = self._done + self._dropped + self._lost + waiting + held
        return ReaderStatistics(
            self.process, offered, self._done, self._dropped, self._lost, waiting, held
        )
