# SPDX-License-Identifier: Apache-2.0
"""The writer's record of one reader: its place in the stream, and the frames that it has."""

from __future__ import annotations

import errno
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
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
    END,
    JOIN,
    LATE,
    LEAVES,
    MAX_LAYOUTS,
    MAX_SLOTS,
    MOST_FROM_READER,
    MOST_RECORDS,
    pack_slot,
    pack_welcome,
    unpack_join,
    unpack_records,
)

if TYPE_CHECKING:
    from .deliveries import Delivery

__all__ = ["RemoteReader"]


class RemoteReader:
    """A reader as its writer knows it: one connection.

    Attributes:
        sock: its socket.
        returns: the socket through which it gives frames back.
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
        packets, records: what came through each socket and was not acted on yet. While there is
            any, the socket need not become readable.
    """

    __slots__ = (
        "_credits",
        "_done",
        "_dropped",
        "_last_read",
        "_layouts",
        "_lost",
        "_other_end",
        "_receive",
        "_receive_records",
        "_send_packet",
        "_slots",
        "_unpacked",
        "finished",
        "full",
        "held",
        "joined",
        "leaving",
        "packets",
        "pending",
        "pidfd",
        "process",
        "records",
        "returns",
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
        # The versions of slots and of layouts that it was sent, by number.
        self._slots = [-1] * MAX_SLOTS
        self._layouts = [-1] * MAX_LAYOUTS
        self._done = self._dropped = self._lost = 0
        self._last_read: int | None = None  # the last frame that it has read, when it leaves
        self.packets: list[Any] = []
        self.records: list[bytes] = []
        self._unpacked: Iterator[tuple[Any, ...]] | None = None  # of the first of them
        # A stream, of which many records are read by one call. The reader gets the other end.
        self.returns, self._other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.returns.setblocking(False)
        self._receive_records = [partial(self.returns.recv, MOST_RECORDS)]
        self._send_packet = sock.send
        # Room for credentials only: the kernel closes descriptors that come along.
        space = socket.CMSG_SPACE(CREDENTIALS_SIZE)
        self._receive: list[Callable[[], Any]] = [
            partial(sock.recvmsg, MOST_FROM_READER + 1, space, CLOEXEC)
        ]

    @property
    def unfinished(self) -> bool:
        """True if something was received and not acted on yet."""
        return bool(self.packets or self.records)

    def take(self, welcome: Callable[[RemoteReader], int], events: Sequence[int] | None) -> bool:
        """Act on what the reader has sent and given back.

        A packet or record leaves its list with the last step of acting on it. If the exception of a
        signal handler comes before that, the next call goes on with it.

        Args:
            welcome: called when it joins; returns how many frames it may have at a time.
            events: the descriptors that are readable; None where that is not known.

        Returns:
            False at the end: it has closed its socket, or has left and has nothing any more.

        Raises:
            MessageError: it sent something that it must not.
        """
        stays = True
        if events is None or self.sock.fileno() in events:
            stays = self._take_packets(welcome)
        # After the packets: if the socket was closed, all that it wrote before is there now.
        return self._take_records() and stays and not (self.leaving and not self.held)

    def _take_packets(self, welcome: Callable[[RemoteReader], int]) -> bool:
        """Act on its packets. False at the end of its socket."""
        while True:
            while self.packets:
                packet = self.packets[0]
                if not self.joined:
                    packet = self._greeting(packet)
                if not packet:
                    return False
                if self.joined or packet[0] != JOIN:
                    raise MessageError(
                        "packet", f"{shown(packet)} is not a packet that can come now"
                    )
                self._join(unpack_join(packet), welcome)
            try:
                # No instruction of Python comes between the socket and the list, so a signal
                # handler that raises loses nothing.
                self.packets.extend(map(call, self._receive))
            except BlockingIOError:
                return True
            except ConnectionResetError:
                continue  # once, if the reader had not read all; its packets are still there
            except OSError:
                return False

    def _greeting(self, received: Received) -> bytes:
        if received[2] & CONTROL_TRUNCATED:
            raise MessageError("descriptors", "come with the greeting of a reader")
        self.process = sender_in(received[1])
        return bytes(received[0])

    def _join(self, wanted: int, welcome: Callable[[RemoteReader], int]) -> None:
        if wanted > MAX_SLOTS:
            raise MessageError("join.credits", f"must be at most {MAX_SLOTS}, not {wanted}")
        if self.pidfd is None:
            self.pidfd = pidfd_of(self.process)
        offered = welcome(self)
        self._credits = min(wanted or MAX_SLOTS, MAX_SLOTS)
        packet = pack_welcome(min(offered, self._credits))
        greet(self.sock, packet, [self._other_end.fileno()], self._welcomed)

    def _welcomed(self) -> None:
        self.joined = True
        # recv() has no buffer for descriptors, so the kernel closes any that are sent.
        self._receive = [partial(self.sock.recv, MOST_FROM_READER + 1)]
        self._other_end.close()
        del self.packets[0]
        # The sender of what comes now is of no interest, and credentials cost time in each packet.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)

    def _take_records(self) -> bool:
        """Act on what it has given back. False at the end of that socket."""
        try:
            # As in _take_packets(). All that a reader can have written comes at once.
            self.records.extend(map(call, self._receive_records))
        except OSError:
            if not self.records:  # nothing has come
                return True
        held = self.held
        while self.records:
            if not self.records[0]:
                return False
            if self._unpacked is None:
                self._unpacked = unpack_records(self.records[0])
            # Up to free() no call is made: a signal handler's exception comes after all of it.
            for given, sequence in self._unpacked:
                if given == LEAVES:
                    if self._last_read is not None:
                        raise MessageError("leave", "comes twice")
                    self._last_read = sequence
                    continue
                try:
                    delivery = held[sequence]
                except KeyError:
                    raise MessageError(
                        "done.sequence", f"{sequence} is not a frame that the reader has"
                    ) from None
                slot = delivery.slot
                if slot.number != given:
                    raise MessageError(
                        "done.slot", f"{given}, but frame {sequence} is in slot {slot.number}"
                    )
                del held[sequence]
                self._done += 1
                delivery.awaited -= 1
                slot.awaited -= 1
                if delivery.holds is not None and not delivery.awaited:
                    delivery.free()
            if self._last_read is not None and not self.leaving:
                self._leave(self._last_read)
            self._unpacked = None
            del self.records[0]
        return True

    def _leave(self, last_read: int) -> None:
        """Note that it wants no more; it may still have frames up to the last that it has read."""
        with deferred():
            self._lose([sequence for sequence in self.held if sequence > last_read])
            self._forget_pending()
            self.leaving = True

    def send(self, most: int, may_have: Callable[[Delivery], bool]) -> None:
        """Send what waits, as far as there is room and the reader has fewer than `most` frames.

        Args:
            most: how many it may have.
            may_have: whether a frame can be sent now, given what other readers have.

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
        """Send the usual frame: in a slot and layout that the reader knows, when no other waits.

        While the reader keeps up, a frame costs this function and a packet.

        Args:
            delivery: the last of those that wait, if any do.
            most: how many frames the reader may have.

        Returns:
            Whether it was sent. If not, `send` does it, or raises the reason why it cannot be.
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
        # Noted before it is sent, as it must not be sent twice, and without another call in
        # between: a signal handler's exception comes after all three lines.
        self.held[delivery.sequence] = delivery
        del self.pending[0]
        try:
            send()
        except OSError:
            self._take_back(delivery)
            raise

    def _take_back(self, delivery: Delivery) -> None:
        """Let a frame wait again that was noted as sent and could not be."""
        del self.held[delivery.sequence]
        self.pending.appendleft(delivery)

    def drop(self, delivery: Delivery) -> None:
        """Leave out a frame that it was not sent."""
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

        One that joined after the last frame was too late for this stream, and gets another packet.

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
        for sock in (self.sock, self.returns, self._other_end):
            sock.close()
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
