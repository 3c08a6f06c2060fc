# SPDX-License-Identifier: Apache-2.0
"""RingReader: a process that uses the frames of a ring."""

from __future__ import annotations

import os
import socket
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from threading import get_ident
from typing import Any, Literal, Self

from samebytes import Fd, Storage
from samebytes.errors import BusyError, ClosedError, LayoutError
from samebytes.plugins import Lock, in_forked_child

from .._errors import EndOfStreamError, MessageError, RingTimeoutError
from .._sockets.addresses import Address, connected
from .._sockets.peers import check, check_writer, greet
from .._sockets.waiting import (
    deadline_of,
    eventfd,
    events_before,
    seconds_until,
    wake_up,
)
from .._wire.message import shown
from .arguments import check_target, check_timeout, is_whole
from .connection import Connection
from .counts import ReadStatistics
from .packets import (
    END,
    FRAME,
    LATE,
    LAYOUT,
    MAX_SLOTS,
    SLOT,
    pack_join,
    unpack_frame,
    unpack_layout,
    unpack_slot,
)

__all__ = ["RingReader"]


class RingReader(Storage.Uncopied):
    """The frames of a RingWriter in another process.

        with samebytes_ipc.RingReader("/run/user/1000/camera", target="cpu") as ring:
            for frame in ring:
                y, uv = frame.native

    A frame is read-only, and its slot goes back to the writer when nothing uses it
    any more: no frame, plane, array, slice or capsule. Frames stay valid after the ring has ended
    or was closed. Any thread may use it at any time.

    Args:
        address: where the writer is, or the other end of its `add()`: a socket, which becomes the
            reader's.
        frames: how many frames this process wants to have at a time, those that wait in its
            socket included; None for what the writer allows.
        timeout: seconds to wait for the writer and for each frame; None without limit.
        live: when the writer has ended, wait for the next one at the same address.
        spin: for how many seconds this reader, when it must wait, looks again and again before it
            sleeps. A process that sleeps is woken tens of microseconds late on some machines, an
            idle virtual one above all; one that spins keeps a CPU busy.
        target: of what memory frames are: "dma", which maps to what uses them, or "cpu", for arrays
            at once. Those cost the least.

    Raises:
        RingRefusedError: the writer takes no more readers, or is another user's.
        RingTimeoutError: no writer connected in time.
        MessageError: the other end is not a writer of a ring.
        UnsupportedObjectError: another kind of socket, or no address.
        LayoutError: a number of frames that a reader cannot have, or another target.
        ValueError: a timeout that is not a number.
        OSError: of the socket, for instance PermissionError.
    """

    _instead = "another process makes a RingReader of its own, with the address"

    def __init__(
        self,
        address: Address | socket.socket,
        *,
        frames: int | None = None,
        timeout: float | None = 10.0,
        live: bool = False,
        spin: float = 0.0,
        target: Literal["dma", "cpu"] = "dma",
    ) -> None:
        if frames is not None and not is_whole(frames, 1, MAX_SLOTS):
            raise LayoutError(f"frames={frames!r}: a reader has 1 to {MAX_SLOTS} at a time")
        check_timeout(timeout)
        check_timeout(spin, "spin")
        if live and isinstance(address, socket.socket):
            raise ValueError("live=True needs an address: nobody connects a socket again")
        check_target(target, "frames are read as")
        self.timeout = timeout
        self._mapped = target == "cpu"
        self._address = None if isinstance(address, socket.socket) else address
        self._frames = frames or 0
        self._live = live
        self._spin = spin or 0.0
        self._lock = Lock()
        # The number of the thread that connects, in a list that only its call has.
        self._connecting: dict[None, list[int]] = {}
        self._wake: Fd | None = eventfd()
        self._stopped = self._ended = self._reading = False
        self._received = self._missed = self._writers = 0
        self._connection: Connection | None = None
        self._begin(address)

    def _begin(self, address: Address | socket.socket) -> None:
        """Join the ring, or wait for a writer to join."""
        deadline = deadline_of(self.timeout)
        try:
            if isinstance(address, socket.socket):
                check(address)
                self._join(address, deadline)
            else:
                self._connect(deadline)
        except BaseException:
            self._wake = None
            raise
        _living.add(self)

    def read(self, timeout: float | None = None) -> Any:
        """The next frame or tensor; None at the end of the stream, and after `interrupt()`.

        Args:
            timeout: seconds to wait, instead of the ring's.

        Raises:
            RingTimeoutError: none came. Reading can be tried again.
            EndOfStreamError: the writer ended without closing the ring, or before this reader had
                taken all of it; not if it is `live`. Of several threads that read, one gets it,
                and the others get None.
            MessageError: the writer sent something else, or an invalid message. The
                connection is closed.
            RingRefusedError: `live`, and the next writer takes no more readers, or is another
                user's.
            ClosedError: the ring was closed, or belongs to the parent of this process.
            BusyError: a finalizer or signal handler calls this in the middle of another read().
        """
        if timeout is not None:
            check_timeout(timeout)
        seconds = self.timeout if timeout is None else timeout
        deadline, waits = None, False
        while True:
            connection = self._connection
            if connection is None:
                self._check()
            if self._stopped or (connection is None and self._ended):
                return None
            if connection is not None:
                found = self._look(connection)
                if found is not _NOTHING:
                    return found
                if self._connection is not connection:
                    continue
            if not waits:
                deadline, waits = deadline_of(seconds), True
            if connection is None:
                self._connect(deadline)
            else:
                self._wait(connection, deadline)

    def interrupt(self) -> None:
        """Let a read that waits return None, and all after it. Any thread may call this."""
        self._stopped = True
        wake_up(self._wake)

    @property
    def statistics(self) -> ReadStatistics:
        """The counts of frames read so far."""
        connection = self._connection
        held = 0 if connection is None else connection.held
        return ReadStatistics(self._received, self._missed, held, self._writers)

    @property
    def frames(self) -> int:
        """The number of frames the writer lets this process have at a time; 0 if not connected."""
        connection = self._connection
        return 0 if connection is None else connection.credits

    def close(self) -> None:
        """Take no more frames. Those that were read stay valid, and give their slots back."""
        with self._lock:
            self._ended = True  # first, as in _lost()
            self._live = False
            connection = self._connection
            if connection is not None:
                connection.leave()
            # Only then: if a signal handler raised before, close() can be called again.
            self._connection = None
            if self._wake is not None:
                self._address = _CLOSED
        self.interrupt()
        self._wake = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        found = self.read()
        if found is None:
            raise StopIteration
        return found

    def __enter__(self) -> Self:
        self._check()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.leave()

    def __repr__(self) -> str:
        state = "closed" if self._address is _CLOSED else "ended" if self._ended else "open"
        return f"<RingReader {state}, {self._received} received>"

    def _check(self) -> None:
        if self._address is _CLOSED:
            raise ClosedError("this ring was closed")
        if self._address is _PARENTS:
            raise ClosedError("this ring belongs to the parent process: make another reader here")

    # Packets.

    def _look(self, connection: Connection) -> Any:
        """Return as `_next` does; if nothing has come, prepare the next frames."""
        with self._lock:
            if self._reading:
                raise BusyError("this ring is being read by the call that this one interrupted")
            self._reading = True
            try:
                found = self._next(connection)
                if found is _NOTHING:
                    connection.received.prepare()
                return found
            except BaseException:
                if connection.inbox.packets:  # which other threads do not see come
                    self._rouse(again=True)
                raise
            finally:
                self._reading = False

    def _next(self, connection: Connection) -> Any:
        """The next frame that has arrived; _NOTHING if none has, or the connection is given up."""
        if connection.unsent:
            connection.send_unsent()
        inbox = connection.inbox
        while self._connection is connection:
            try:
                nbytes = inbox.first()
                if not nbytes:
                    return self._lost(connection, closed=False)
                kind = inbox.room[0]
                if kind == FRAME:
                    return self._frame(connection, nbytes)
                self._take(connection, kind, inbox.packet(nbytes))
            except BlockingIOError:
                if connection.alarmed and not connection.has_more():
                    return self._lost(connection, closed=False)
                return _NOTHING
            except ConnectionResetError:
                continue  # once, if the writer had not read all; its packets are still there
            except MessageError:
                self._ended = True
                self._give_up(connection)
                raise
            if kind in (END, LATE):  # it stays in the inbox for as long as the connection lasts
                return self._lost(connection, closed=True, late=kind == LATE)
        return _NOTHING

    def _frame(self, connection: Connection, nbytes: int) -> Any:
        inbox, before = connection.inbox, connection.sequence
        slot, layout, sequence, pts, base, body = unpack_frame(inbox.room, nbytes)
        if sequence <= before:
            raise MessageError("frame.sequence", f"{sequence} comes after {before}")
        if len(connection.uses) >= MAX_SLOTS:
            raise MessageError("frame", f"{sequence} is one more than the {MAX_SLOTS} of a reader")
        frame, use = connection.received.frame(slot, layout, pts, base, body, inbox.fds)
        # No call is made from here on: a signal handler's exception comes after these lines.
        if connection.ended:  # a finalizer has closed this reader
            return _NOTHING
        use.connection, use.slot, use.sequence = connection, slot, sequence
        connection.uses[sequence] = use
        connection.sequence = sequence
        inbox.fds = []
        del inbox.packets[:]
        self._received += 1
        if before:
            self._missed += sequence - before - 1
        return frame

    def _take(self, connection: Connection, kind: int, packet: bytes) -> None:
        """Act on a packet of another kind than a frame."""
        inbox, received = connection.inbox, connection.received
        if kind == SLOT:
            received.put_slot(unpack_slot(packet), inbox.fds)
            inbox.done()
        elif inbox.fds:
            raise MessageError("descriptors", f"come with {shown(packet[:1])}")
        elif kind == LAYOUT:
            received.put_layout(*unpack_layout(packet))
            inbox.done()
        elif kind == END or (kind == LATE and not connection.sequence):
            if len(packet) != 1:
                raise MessageError("end", f"has {len(packet)} bytes, not 1")
        else:
            raise MessageError("packet", f"{shown(packet)} is not a packet that can come now")

    def _lost(self, connection: Connection, *, closed: bool, late: bool = False) -> Any:
        """Give up the connection to a writer that has ended; let read() wait for the next, or end.

        Args:
            closed: the writer has closed the ring.
            late: this reader joined after its last frame: it waits for the next writer, as if it
                had come a moment later.
        """
        next_ = self._live or (late and not isinstance(self._address, _Mark | None))
        self._ended = not next_  # first: without a connection another thread makes one
        self._give_up(connection)
        if next_:
            return _NOTHING
        if closed:
            return None
        raise EndOfStreamError(
            "the writer of the ring ended without closing it, or before this reader read everything"
        )

    def _give_up(self, connection: Connection) -> None:
        connection.leave()
        if self._connection is connection:
            self._connection = None
        # Of several threads one learns of the end; the others wait for a socket that is closed.
        self._rouse(again=not self._ended)

    def _rouse(self, *, again: bool) -> None:
        """Wake the threads that wait.

        Args:
            again: they may wait again, by another eventfd, since this one stays readable.
        """
        wake = self._wake
        if wake is not None:
            with suppress(OSError):  # no descriptor is left: they wait until their time is over
                next_wake, number = eventfd() if again else wake, wake.fileno()
                self._wake = next_wake
                # No other call comes in between, and so no signal handler.
                os.eventfd_write(number, 1)

    # Waiting.

    def _wait(self, connection: Connection, deadline: float | None) -> None:
        if seconds_until(deadline) == 0:
            if not connection.alarmed and connection.look_for_writer():
                return  # it may have sent something before it ended
            raise RingTimeoutError(connection.why_no_frame())
        wake = self._wake
        if wake is None:
            return
        room = bool(connection.unsent)
        try:
            waiting = connection.poll_for(wake, room)
        except ValueError:  # another thread has closed it: read() says so
            return
        # Whoever writes to `wake` has stopped this reader, ended the connection, or left a packet
        # in the inbox before that.
        if self._stopped or connection.ended or connection.inbox.packets:
            return
        events = events_before(waiting, deadline, self._spin)
        connection.polls += ((wake, room, waiting),)
        if events != connection.packet_came:
            connection.look_for_writer()

    def _connect(self, deadline: float | None) -> None:
        """Wait for a writer and its welcome. One thread does this for all that read."""
        me = [get_ident()]
        try:
            other = self._connecting.setdefault(None, me)
            if other[0] != me[0]:  # else this thread, or a signal handler in it
                self._nap(deadline)
            elif self._connection is None:
                self._find_writer(deadline)
        finally:
            # No call is made here: a signal handler's exception comes after these lines.
            try:
                if self._connecting[None] is me:
                    del self._connecting[None]
            except KeyError:
                pass

    def _nap(self, deadline: float | None) -> None:
        left = seconds_until(deadline)
        if left == 0:
            raise RingTimeoutError(f"nobody writes to the ring {self._address}")
        time.sleep(min(left, _NAP))

    def _find_writer(self, deadline: float | None) -> None:
        ended = False
        while not self._needs_none():
            address = self._address
            assert address is not None
            if isinstance(address, _Mark):  # read() says so
                return
            try:
                sock = connected(address, deadline, self._needs_none)
            except InterruptedError:
                return
            except TimeoutError as error:
                raise RingTimeoutError(str(error)) from None
            try:
                check_writer(sock, address)
                self._join(sock, deadline)
            except EndOfStreamError:  # it ended just now, or it ends every connection so
                ended = True
                time.sleep(min(seconds_until(deadline), _NAP))
                continue
            except RingTimeoutError:
                if not ended:
                    raise
                raise RingTimeoutError(
                    f"the writer of the ring {address} ended a connection without an answer, and "
                    "accepted no other from this reader: use one release of samebytes-ipc on both "
                    "ends"
                ) from None
            return

    def _join(self, sock: socket.socket, deadline: float | None) -> None:
        connection = Connection(sock, self._mapped)
        try:
            greet(sock, pack_join(self._frames))
            while not self._needs_none():
                self._wait(connection, deadline)
                if connection.welcomed():
                    self._take_up(connection)
                    return
            connection.close()
        except (BrokenPipeError, ConnectionResetError):
            connection.close()
            raise EndOfStreamError("the writer of the ring ended") from None
        except BaseException:
            if self._connection is not connection:
                connection.close()
            raise

    def _needs_none(self) -> bool:
        """True if no connection is needed: the reader is to stop, or a signal handler connected."""
        return self._stopped or self._connection is not None

    def _take_up(self, connection: Connection) -> None:
        with self._lock:
            if self._connection is None:  # else a signal handler has connected this reader
                # Before anything else: whatever comes from now on, this reader has it.
                self._connection = connection
                self._writers += 1
                if not isinstance(self._address, _Mark):
                    return
                self._connection = None  # this reader was closed meanwhile
        connection.leave()

    def _abandon(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._wake = None
        self._address = _PARENTS


class _Mark(str):
    """A state of the reader, in place of an address."""

    __slots__ = ()


# For how long a thread sleeps while another one waits for a writer.
_NAP = 0.02
_CLOSED = _Mark("closed")
_PARENTS = _Mark("of the parent process")
_NOTHING = object()

_living: weakref.WeakSet[RingReader] = weakref.WeakSet()


def _leave_to_the_parent() -> None:
    for ring in list(_living):
        ring._abandon()


in_forked_child(_leave_to_the_parent)
