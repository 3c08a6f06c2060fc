# SPDX-License-Identifier: Apache-2.0
"""The writer's sockets: who joins, what comes back, and who is gone."""

from __future__ import annotations

import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat

from samebytes import Fd
from samebytes.plugins import counted, deferred

from .._errors import MessageError, RingRefusedError
from .._sockets.addresses import Address, listening, unlink
from .._sockets.peers import check, send_packet, user_of
from .._sockets.waiting import LONGEST_WAIT, eventfd, wake_up
from .counts import Departure, ReaderStatistics, total_of
from .deliveries import Delivery
from .packets import pack_refused
from .remote_reader import RemoteReader

__all__ = ["Server"]

# How many of one user may have connected and not joined. Beyond that, the oldest one is closed.
_MOST_UNJOINED = 16
# How many are let in at a time, so that a crowd does not keep frames from being sent.
_MOST_AT_ONCE = 64
_UNJOINED_SECONDS = 10.0
_MOST_DEPARTURES = 64
# How long to wait before a packet that a socket had no room for is tried again.
_BLOCKED_SECONDS = 0.002
# How long a reader that joins, or ends, may go unnoticed while frames are sent.
_FRESH_SECONDS = 0.01
# How long nobody is let in after there was no descriptor left for one.
_FULL_SECONDS = 0.1


class Server:
    """The readers of one ring. One thread at a time calls it, except for `poll` and `wake`.

    Args:
        address: where readers connect; None if they come by `add`.
        most_readers: how many may take part.
        most_held: how many frames each of so many readers may have at a time.
        most_slots: how many slots they may have together; None for all.

    Attributes:
        accepted: the number of the latest frame, 0 before the first.
        departures: those of the last readers that are gone.
        over: memory of others that readers are done with. The caller drops it, without its lock.
        waiting: one object for each call that waits for a slot.
        behind: some readers may still have to be sent what was accepted.
        fresh_until: until when frames are sent without a look for readers that have come or gone,
            as of time.monotonic().
    """

    def __init__(
        self,
        address: Address | None,
        most_readers: int,
        most_held: Callable[[int], int],
        most_slots: int | None,
    ) -> None:
        self.accepted = 0
        self.over: deque[object] = deque()
        self.waiting: set[object] = set()
        self.behind = False
        self.fresh_until = 0.0
        self.departures: deque[Departure] = deque(maxlen=_MOST_DEPARTURES)
        self._gone = ReaderStatistics(0)
        self._most_readers = most_readers
        self._most_held = most_held
        self._most_slots = most_slots
        self._address = address
        self._file: os.stat_result | None = None
        self._listener: socket.socket | None = None
        self._full_until: float | None = None
        self._readers: list[RemoteReader] = []
        # Connections from the listener that may not have joined, with their user; oldest first.
        self._silent: list[tuple[int, RemoteReader]] = []
        # The readers that get the next frame, and how many each may have at a time; see _count().
        self._joined: list[RemoteReader] = []
        self._most = 1
        self._by_number: dict[int, RemoteReader] = {}
        # The descriptors through which these give frames back.
        self._expected: set[int] = set()
        # A reader may have joined or left since _count().
        self._uncounted = False
        wake = eventfd()
        self._wake: Fd | None = wake
        self._wake_number = wake.fileno()
        self._epoll = select.epoll()
        self._epoll.register(wake.fileno(), select.EPOLLIN)
        if address is not None:
            self._listener, self._file = listening(address)
            self._epoll.register(self._listener.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there is something to do."""
        return self._epoll.fileno()

    def wake(self) -> None:
        """End a poll(), from any thread."""
        wake_up(self._wake)

    def dropped(self, _: object = None) -> None:
        """A frame of this process has ended. Called by a finalizer, in any thread."""
        if self.waiting:
            self.wake()

    def poll(self, seconds: float) -> None:
        """Wait until there is something to do."""
        readers = list(self._readers)
        if any(r.unfinished for r in readers):
            return
        if any(r.pending and len(r.held) < self._most for r in readers):
            seconds = min(seconds, _BLOCKED_SECONDS)
        wake = self._wake
        if wake is None:
            return
        # Held here, it still wakes this thread when another one closes the ring.
        with suppress(ValueError, OSError):  # it was closed meanwhile
            self._epoll.poll(min(seconds, LONGEST_WAIT))

    def add(self, sock: socket.socket) -> None:
        """Add a connection whose other end a reader has, or will have."""
        check(sock)
        self._enter(sock)

    def joined(self) -> list[RemoteReader]:
        """Return the readers that get the next frame."""
        if self._uncounted:
            self._count()
        return self._joined

    @property
    def readers(self) -> list[RemoteReader]:
        """All readers that may have frames."""
        return [r for r in self._readers if r.joined]

    @property
    def gone(self) -> ReaderStatistics:
        """The sum over all readers that are gone."""
        return self._gone

    def serve(self) -> None:
        """Do what there is to do, without waiting.

        If the exception of a signal handler ends it, the next call does the rest.
        """
        for each in self._readers.copy():
            if each.unfinished:
                self._look_at(each)
        if self._full_until is not None and time.monotonic() >= self._full_until:
            self._listen(True)
        events = [number for number, _ in self._epoll.poll(0)]
        for number in events:
            if (reader := self._by_number.get(number)) is not None:
                self._look_at(reader, events)
            elif number == self._wake_number:
                with suppress(BlockingIOError):
                    os.eventfd_read(number)
            elif self._listener is not None and number == self._listener.fileno():
                self._accept(self._listener)
        for each in self._readers.copy():
            if each.pending or each.room_awaited:
                self._send_to(each)
            elif not each.joined and each.since < time.monotonic() - _UNJOINED_SECONDS:
                self._depart(each, "did not join")
        self.behind = any(each.pending for each in self._readers)

    def take_back(self) -> None:
        """Take what readers have given back. It costs less than serve(), which does the rest."""
        for reader in self.joined():
            self._look_at(reader, (reader.returns.fileno(),))

    def look_for_changes(self) -> None:
        """Serve if a reader has come or gone: twice, as a greeting is read only by the second call.

        What readers give back stays where it is.
        """
        for number, event in self._epoll.poll(0):
            if event != select.EPOLLIN or number not in self._expected:
                self.serve()
                self.serve()
                break
        self.fresh_until = time.monotonic() + _FRESH_SECONDS

    def offer(self, delivery: Delivery) -> int:
        """Send a frame to all readers that take part; return how many these are.

        Each gets it, if not now, then in a later call.

        Frames that readers give back cost more to take one by one than together. So they are not
        taken after a frame in a slot of the ring's own, until a slot or a reader's share is wanted.
        For memory of others they are taken at once: its owner may be waiting for it.
        """
        self.behind = True  # until all is done
        while True:
            readers = self.joined() if self._uncounted else self._joined
            slot, count = delivery.slot, len(readers)
            note: Callable[[], object]
            if count == 1:  # the usual case, and quicker without iterators
                note = partial(readers[0].pending.append, delivery)
            else:
                each = [reader.pending for reader in readers]
                note = partial(any, map(deque.append, each, repeat(delivery)))
            if readers is self._joined:  # else a finalizer that serves saw a reader come or go
                break
        # Only one call is made here, of functions written in C: a signal handler's exception comes
        # before or after all of it, when every reader has the frame or none does.
        delivery.awaited = count
        slot.awaited += count
        self.accepted = delivery.sequence
        note()
        if not readers:
            delivery.free()
        most, behind = self._most if self._most_slots is None else 0, False
        for reader in readers:  # one of them may depart meanwhile: that makes another list
            if not reader.send_at_once(delivery, most):
                self._send_to(reader)
                behind = behind or bool(reader.pending)
        self.behind = behind
        again = slot.awaited > delivery.awaited
        if behind or again or delivery.holds is not None:
            self.serve()  # now, as the frame is on its way
        return len(readers)

    def drop_oldest(self, droppable: Callable[[Delivery], bool]) -> bool:
        """Leave out the oldest frame that waits for readers and has not been sent to any.

        Args:
            droppable: which frames it may be.

        Returns:
            Whether there was one. Its slot is free.
        """
        sent = {d.slot for r in self._readers for d in r.held.values()}
        waiting = (d for d in self._waiting() if d.slot not in sent and droppable(d))
        oldest = min(waiting, key=lambda d: d.sequence, default=None)
        if oldest is None:
            return False
        for reader in self._readers:
            for delivery in [d for d in reader.pending if d.slot is oldest.slot]:
                reader.drop(delivery)
        return True

    def _waiting(self) -> Iterator[Delivery]:
        for reader in self._readers:
            yield from reader.pending

    def send_away(self, process: int) -> bool:
        """Close the connections of a process; return whether there were any."""
        found = [r for r in self._readers if r.joined and r.process == process]
        for reader in found:
            self._depart(reader, "sent away")
        return bool(found)

    def finish(self) -> bool:
        """Tell those readers that the stream has ended which were sent everything.

        Nobody joins from now on.

        Returns:
            Whether all of them know.
        """
        unlink(self._address or "", self._file)
        self._file = None
        if self._listener is not None:
            self._accept(self._listener)  # those in the queue are to see an end, and no error
            self._epoll.unregister(self._listener.fileno())
            self._listener.close()
            self._listener = None
        for reader in [r for r in self._readers if not r.joined]:
            self._depart(reader, "too late")  # it looks for the next writer
        for reader in list(self.joined()):
            try:
                reader.finish(self.accepted)
            except OSError as error:
                self._cannot_send(reader, error)
        return all(reader.finished for reader in self.joined())

    def close(self) -> None:
        """Close all sockets; what readers were not sent is lost, what they have is theirs."""
        self.finish()
        for reader in self.readers:
            self._gone = total_of([self._gone, reader.without_pending()])
        self.wake()
        self.over.extend(self._readers)  # what they have may be memory of others
        self.close_descriptors()

    def close_descriptors(self) -> None:
        """Close what this process has, and nothing else: other processes do not notice."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()
        self._silent.clear()
        self._joined = []
        self._by_number.clear()
        if self._listener is not None:
            self._listener.close()
        self._epoll.close()
        self._wake = None

    def leave_to_the_parent(self) -> list[object]:
        """Close the descriptors in a forked child, and return what only the parent releases."""
        with_readers = [*self._readers, *self.over]
        self.over.clear()
        self.close_descriptors()
        return with_readers

    def _count(self) -> None:
        """Update who gets the next frame, after a reader has joined, left or gone."""
        self._joined = [r for r in self._readers if r.joined and not r.leaving]
        self._most = self._most_held(len(self._joined))
        self._expected = {r.returns.fileno() for r in self._joined}
        self._uncounted = False

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_MOST_AT_ONCE):
            # A signal handler's exception would leave a connection open that nobody owns.
            with deferred():
                try:
                    sock, _ = listener.accept()
                except BlockingIOError:
                    return
                except OSError:  # no descriptor is left: those who wait stay in the kernel's queue
                    self._listen(False)
                    return
                user = user_of(sock)
                if user not in (os.getuid(), 0):
                    sock.close()
                    continue
                check(sock)
                try:
                    entered = self._enter(sock)
                except OSError:  # no descriptor is left for its other socket: it tries again
                    sock.close()
                    self._listen(False)
                    return
                self._silent.append((user, entered))
            if len(self._silent_of(user)) > _MOST_UNJOINED:
                # Some may have sent their greeting by now. It is read here only for that: usually
                # it waits for the next call, so that a reader that comes after the last frame
                # reads the next ring.
                for each in self._silent_of(user):
                    self._look_at(each)
                silent = self._silent_of(user)
                if len(silent) > _MOST_UNJOINED:
                    self._depart(silent[0], "did not join, and others came")

    def _silent_of(self, user: int) -> list[RemoteReader]:
        """Return the connections of a user that have not joined, the oldest first."""
        self._silent = [(u, r) for u, r in self._silent if r in self._readers and not r.joined]
        return [r for u, r in self._silent if u == user]

    def _listen(self, now: bool) -> None:
        """Let readers that wait to be accepted end a poll(), either now or only after a while."""
        if self._listener is not None:
            self._epoll.modify(self._listener.fileno(), select.EPOLLIN if now else 0)
            self._full_until = None if now else time.monotonic() + _FULL_SECONDS

    def _enter(self, sock: socket.socket) -> RemoteReader:
        with deferred():  # else it could be among the readers without being polled
            reader = RemoteReader(sock)
            self._readers.append(reader)
            for number in (sock.fileno(), reader.returns.fileno()):
                self._by_number[number] = reader
                self._epoll.register(number, select.EPOLLIN)
        return reader

    def _welcome(self, reader: RemoteReader) -> int:
        taking_part = len(self.readers)
        if taking_part >= self._most_readers:
            raise RingRefusedError(
                f"the ring has {counted(taking_part, 'reader')} already, which is its limit"
            )
        if reader.pidfd is not None:
            self._by_number[reader.pidfd.fileno()] = reader
            with suppress(FileExistsError):  # a signal handler raised after the first attempt
                self._epoll.register(reader.pidfd.fileno(), select.EPOLLIN)
        return self._most_held(taking_part + 1)

    def _look_at(self, reader: RemoteReader, events: Sequence[int] | None = None) -> None:
        # Asked before its packets are taken, so that all that an ended process gave back is there.
        # Once a reader has joined, its pidfd is polled, and asked only if an event of it came.
        if events is None or reader.pidfd is None or not reader.joined:
            gone = reader.is_gone()
        else:  # asked all the same: the event may be that of a closed pidfd of the same number
            gone = reader.pidfd.fileno() in events and reader.is_gone()
        if self._uncounted:  # a signal handler has ended the last call, for another reader
            self._count()
        self._uncounted = True
        try:
            stays = reader.take(self._welcome, events)
        except RingRefusedError as error:
            self._refuse(reader, str(error))
            self._depart(reader, str(error))
        except MessageError as error:
            if not reader.joined:  # usually one of another release, which would come again
                self._refuse(reader, str(error))
            # The error is kept; what its traceback holds must not be.
            error.__context__ = None
            self._depart(reader, str(error), error.with_traceback(None))
        except OSError:
            self._depart(reader, "ended")
        else:
            if gone or not stays:
                self._depart(reader, "left" if reader.leaving else "ended")
            elif (reader.joined and not reader.leaving) != (reader in self._joined):
                self._count()
        finally:
            if reader.unfinished and reader in self._readers:  # a signal handler has raised
                self.wake()  # for an event loop that waits for fileno()
        self._uncounted = False

    def _refuse(self, reader: RemoteReader, reason: str) -> None:
        with suppress(OSError):
            send_packet(reader.sock, pack_refused(reason))

    def _send_to(self, reader: RemoteReader) -> None:
        try:
            reader.send(self._most, self._may_have)
        except OSError as error:
            self._cannot_send(reader, error)
            return
        if reader.full or reader.room_awaited:
            reader.room_awaited = True  # first: if modify() is not reached, serve() tries again
            events = select.EPOLLIN | (select.EPOLLOUT if reader.full else 0)
            self._epoll.modify(reader.sock.fileno(), events)
            reader.room_awaited = reader.full

    def _may_have(self, delivery: Delivery) -> bool:
        """True if the writer still has the slots that it needs after a frame is sent.

        A reader may have more frames than its share: from before others joined, or since it has
        left and keeps them.
        """
        if self._most_slots is None:
            return True
        sent = {d.slot for r in self._readers for d in r.held.values()}
        return delivery.slot in sent or len(sent) < self._most_slots

    def _cannot_send(self, reader: RemoteReader, error: OSError) -> None:
        # It may have given frames back before it closed its socket.
        self._look_at(reader)
        # One that has shut down only its receiving half would hold up all others.
        self._depart(reader, "ended" if isinstance(error, ConnectionError) else str(error))

    def _depart(self, reader: RemoteReader, reason: str, error: MessageError | None = None) -> None:
        with deferred():
            if reader not in self._readers:
                return
            self._readers.remove(reader)
            reader.end()
            statistics = reader.statistics
            if reader.joined:
                self._gone = total_of([self._gone, statistics])
            if reader.joined or error is not None:
                self.departures.append(Departure(statistics, reason, error))
            for number in [n for n, r in self._by_number.items() if r is reader]:
                with suppress(OSError):
                    self._epoll.unregister(number)
                del self._by_number[number]
            reader.close()
            self._count()
            if self._full_until is not None:  # there are descriptors again
                self._listen(True)
