# SPDX-License-Identifier: Apache-2.0
"""What the writer knows of one reader: its place in the stream, and what it has."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from samebytes.plugins import Fd

from .._passing.message import MessageError, shown
from .._passing.transport import receive_part
from .counts import ReaderStatistics
from .messages import (
    DONE,
    END,
    JOIN,
    LEAVE,
    MAX_SLOTS,
    MOST_FROM_READER,
    pack_slot,
    pack_welcome,
    unpack_done,
    unpack_join,
    unpack_leave,
)
from .sockets import greet, has_ended, pidfd_of, send_packet

if TYPE_CHECKING:
    from .deliveries import Delivery

__all__ = ["Reader"]


class Reader:
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
    """

    __slots__ = (
        "_credits",
        "_done",
        "_dropped",
        "_layouts",
        "_lost",
        "_offered",
        "_slots",
        "finished",
        "held",
        "joined",
        "leaving",
        "pending",
        "pidfd",
        "process",
        "since",
        "sock",
    )  # fmt: skip

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.process = 0
        self.pidfd: Fd | None = None
        self.joined = False
        self.leaving = self.finished = False
        self.since = time.monotonic()
        self.pending: deque[Delivery] = deque()
        self.held: dict[int, Delivery] = {}
        self._credits = MAX_SLOTS
        self._slots: dict[int, int] = {}
        self._layouts: dict[int, int] = {}
        self._offered = self._done = self._dropped = self._lost = 0

    def take_packets(self, welcome: Callable[[Reader], int]) -> bool:
        """Act on what the reader has sent.

        Args:
            welcome: called when it joins; how many frames it may have at a time.

        Returns:
            False at the end: it has closed its socket, or has left and has nothing any more.

        Raises:
            MessageError: it sent something that it must not.
        """
        while True:
            try:
                if not self.joined:
                    packet = self._greeting()
                else:
                    # recv() has no buffer for descriptors, so the kernel closes any that are sent.
                    packet = self.sock.recv(MOST_FROM_READER + 1)
            except BlockingIOError:
                return not (self.leaving and not self.held)
            except ConnectionResetError:
                continue  # once, where the reader had not read all; its packets are there still
            except OSError:
                return False
            if not packet:
                return False
            self._take(packet, welcome)

    def _greeting(self) -> bytes:
        fds: list[Fd] = []
        try:
            packet, _, self.process = receive_part(self.sock, MOST_FROM_READER + 1, fds)
        finally:
            for fd in fds:
                fd.close()
        if fds:
            raise MessageError("descriptors", "come with the greeting of a reader")
        return packet

    def _take(self, packet: bytes, welcome: Callable[[Reader], int]) -> None:
        kind = packet[0]
        if kind == DONE and self.joined:
            self._return(*unpack_done(packet))
        elif kind == LEAVE and self.joined and not self.leaving:
            self._leave(unpack_leave(packet))
        elif kind == JOIN and not self.joined:
            self._join(unpack_join(packet), welcome)
        else:
            raise MessageError("packet", f"{shown(packet)} is not a packet that can come now")

    def _join(self, wanted: int, welcome: Callable[[Reader], int]) -> None:
        if wanted > MAX_SLOTS:
            raise MessageError("join.credits", f"must be at most {MAX_SLOTS}, not {wanted}")
        self.pidfd = pidfd_of(self.process)
        offered = welcome(self)
        self._credits = min(wanted or MAX_SLOTS, MAX_SLOTS)
        greet(self.sock, pack_welcome(min(offered, self._credits)))
        self.joined = True
        # Nobody asks who sent what comes now, and credentials take time with each packet.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)

    def _return(self, slot: int, sequence: int) -> None:
        delivery = self.held.get(sequence)
        if delivery is None:
            raise MessageError("done.sequence", f"{sequence} is not a frame that the reader has")
        if delivery.slot.number != slot:
            raise MessageError(
                "done.slot", f"{slot}, but frame {sequence} is in slot {delivery.slot.number}"
            )
        del self.held[sequence]
        self._done += 1
        delivery.done()

    def _leave(self, kept: list[int]) -> None:
        """It wants no more, and still has some frames."""
        for sequence in kept:
            if sequence not in self.held:
                raise MessageError("leave", f"{sequence} is not a frame that the reader has")
        self.leaving = True
        for sequence in [s for s in self.held if s not in kept]:
            self._lost += 1
            self.held.pop(sequence).done()
        self._forget_pending()

    def offer(self, delivery: Delivery) -> None:
        """A frame was accepted."""
        self._offered += 1
        self.pending.append(delivery)

    def send(self, most: int, may_have: Callable[[Delivery], bool]) -> None:
        """Send what waits, as far as there is room and the reader has fewer than `most` frames.

        Args:
            most: how many it may have.
            may_have: whether a frame can be sent now, for what other readers have.

        Raises:
            OSError: it is gone.
        """
        most = min(most, self._credits)
        while self.pending and len(self.held) < most:
            delivery = self.pending[0]
            if not may_have(delivery):
                return
            self.held[delivery.sequence] = delivery
            sent = False
            try:
                sent = self._send(delivery)
            finally:
                if not sent:
                    del self.held[delivery.sequence]
            if not sent:
                return
            self.pending.popleft()

    def _send(self, delivery: Delivery) -> bool:
        slot, layout = delivery.slot, delivery.layout
        if self._slots.get(slot.number) != slot.version:
            assert slot.buffer is not None
            if not send_packet(self.sock, pack_slot(slot.number), [slot.buffer.fileno()]):
                return False
            self._slots[slot.number] = slot.version
        if self._layouts.get(layout.number) != layout.version:
            if not send_packet(self.sock, layout.packet):
                return False
            self._layouts[layout.number] = layout.version
        results = [buffer.fileno() for buffer in delivery.results]
        return send_packet(self.sock, delivery.packet, results)

    def drop(self, delivery: Delivery) -> None:
        """Leave a frame out that it was not sent."""
        self.pending.remove(delivery)
        self._dropped += 1
        delivery.done()

    def is_gone(self) -> bool:
        """Whether its process has ended, while somebody else may hold its socket."""
        return has_ended(self.pidfd)

    def end(self) -> None:
        """What it had and awaited comes back, and counts as lost; its socket is closed."""
        for sequence in list(self.held):
            self._lost += 1
            self.held.pop(sequence).done()
        self._forget_pending()
        self.close()

    def finish(self) -> None:
        """Tell it that the stream has ended, if it was sent everything and there is room.

        Raises:
            OSError: it is gone.
        """
        if not (self.pending or self.finished):
            self.finished = send_packet(self.sock, bytes([END]))

    def without_pending(self) -> ReaderStatistics:
        """What became of its frames when the ring ends: what it has stays its own."""
        self._forget_pending()
        return self.statistics

    def close(self) -> None:
        """Close the descriptors, and nothing else."""
        self.sock.close()
        if self.pidfd is not None:
            self.pidfd.close()

    def _forget_pending(self) -> None:
        while self.pending:
            self._lost += 1
            self.pending.popleft().done()

    @property
    def statistics(self) -> ReaderStatistics:
        """What became of its frames."""
        return ReaderStatistics(
            self.process, self._offered, self._done, self._dropped, self._lost,
            len(self.pending), len(self.held),
        )  # fmt: skip
