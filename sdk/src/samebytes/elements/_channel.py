# SPDX-License-Identifier: Apache-2.0
"""Bounded queues between the threads of a pipeline.

    port = channel.port(room=4)      # one for each writer
    port.put((stream, frame))        # waits while 4 items of this writer are there
    stream, frame = channel.get()    # whichever came first

It is made of two kinds of SimpleQueue: tickets, which tell at which port an item lies, and credits,
one for each item that a writer may still put. Both are written in C, take no lock of Python's, and
wake one thread for each item. A port always has as many tickets as items: a new item that takes the
place of a dropped one gets its ticket.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from .._aside import LOOK, taken_from
from .._core.owner.locks import Lock
from ..errors import UnknownNameError
from ._current import blocked

__all__ = ["END", "FAILED", "STOP", "WHEN_FULL", "Channel", "Mark", "Port", "Stopped", "Taker"]

WHEN_FULL = ("wait", "drop-oldest", "drop-newest")


class Mark:
    """A marker that stands in the place of a frame."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


STOP: Final = Mark("STOP")
"""The value that get() returns once the channel was stopped."""

END: Final = Mark("END")
"""Stands for the frame in the last item of a stream."""

FAILED: Final = Mark("FAILED")
"""As END, if the stream ends early because an element raised."""


class Stopped(Exception):  # noqa: N818 - no error: the end of a writer's work
    """put() was called, or was waiting, when the channel was stopped."""


Listener = Callable[[], object]


class Taker(Protocol):
    """A consumer that takes items from a channel.

    Attributes:
        busy: True if it has an item.
    """

    busy: bool


def _tell(listeners: deque[Listener]) -> None:
    while listeners:
        with suppress(IndexError, RuntimeError):  # another thread was faster; its loop has ended
            listeners.popleft()()


class Port:
    """The end of a channel where one writer puts its items.

    Attributes:
        items: the items that wait here.
        dropped: how many items were dropped.
        lost: how many frames could not go on when the channel was stopped.
    """

    __slots__ = ("_credits", "_listeners", "_replacing", "_tickets", "_when_full", "dropped",
                 "items", "lost")  # fmt: skip

    def __init__(
        self, tickets: SimpleQueue[Any], listeners: deque[Listener], room: int, when_full: str
    ) -> None:
        self.items: deque[Any] = deque()
        self.dropped = self.lost = 0
        self._replacing = Lock()
        self._tickets = tickets
        self._listeners = listeners
        self._when_full = when_full
        self._credits: SimpleQueue[Any] = SimpleQueue()
        for _ in range(room):
            self._credits.put(None)

    def put(self, item: Any) -> bool:
        """Add an item, or do what was chosen for a full queue.

        Returns:
            True if the item was added; False if it was dropped itself.

        Raises:
            Stopped: the channel was stopped.
        """
        if self._when_full == "wait":
            try:
                credit = self._credits.get_nowait()
            except Empty:
                with blocked():
                    credit = taken_from(self._credits)
        else:
            while True:
                try:
                    credit = self._credits.get_nowait()
                    break
                except Empty:
                    pass
                if self._when_full == "drop-newest":
                    self.dropped += 1
                    return False
                # One step for readers: whoever has a ticket finds an item.
                with self._replacing:
                    # The end of a stream stays; another thread may have put it there meanwhile.
                    oldest = int(bool(self.items) and isinstance(self.items[0][1], Mark))
                    if oldest >= len(self.items):
                        continue  # a reader was faster: its credit is on its way
                    # The ticket and the credit of the old item are the new one's.
                    del self.items[oldest]
                    self.items.append(item)
                self.dropped += 1
                return True
        if credit is STOP:
            self._credits.put(STOP)
            self.lose()
            raise Stopped
        self._add(item)
        return True

    def put_mark(self, item: Any) -> None:
        """Add the end of a stream, which needs no room and is never dropped."""
        self._add(item)

    def _add(self, item: Any) -> None:
        self.items.append(item)
        self._tickets.put(self)
        if self._listeners:
            _tell(self._listeners)

    def lose(self) -> None:
        """Count a frame that cannot go on."""
        with self._replacing:
            self.lost += 1

    def take(self) -> Any:
        """The oldest item; for whoever has a ticket.

        Raises:
            IndexError: the channel was stopped.
        """
        with self._replacing:
            item = self.items.popleft()
        if not isinstance(item[1], Mark):
            self._credits.put(None)
        return item

    def stop(self) -> None:
        """Wake the writer, and drop what waits."""
        self._credits.put(STOP)
        with self._replacing:
            # Not by iterating: a writer that had its credit may add an item meanwhile.
            while self.items:
                self.lost += not isinstance(self.items.popleft()[1], Mark)


class Channel:
    """A channel that passes the items of several writers to one or several readers."""

    def __init__(self) -> None:
        self._tickets: SimpleQueue[Any] = SimpleQueue()
        self._listeners: deque[Listener] = deque()
        self.ports: list[Port] = []

    def port(self, room: int, when_full: str = "wait") -> Port:
        """A place for another writer.

        Raises:
            UnknownNameError: there is no such policy.
        """
        if when_full not in WHEN_FULL:
            raise UnknownNameError("when_full", when_full, WHEN_FULL)
        made = Port(self._tickets, self._listeners, room, when_full)
        self.ports.append(made)
        return made

    def get(self, taker: Taker | None = None) -> Any:
        """The next item, or STOP.

        Args:
            taker: it is busy before the item is gone from here, so that a look at both finds
                the item at one of them.
        """
        while True:
            port = taken_from(self._tickets)
            if taker is not None:
                taker.busy = True
            if port is STOP:
                self._tickets.put(STOP)  # for the other readers
                return STOP
            try:
                return port.take()
            except IndexError:
                if taker is not None:
                    taker.busy = False

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return when get() does not wait.

        A signal that Linux gives to another thread does not end the sleep of an event loop: its
        handler would run with the next frame, which a silent camera never gives.
        """
        while self._tickets.empty():
            came = asyncio.Event()
            look = loop.call_later(LOOK, came.set)
            listener = partial(loop.call_soon_threadsafe, came.set)
            self._listeners.append(listener)
            try:
                if self._tickets.empty():  # still, so whoever puts sees the listener
                    await came.wait()
            finally:
                look.cancel()
                # Cancelled, as by a time-out. What another thread does meanwhile ends the search.
                with suppress(ValueError, IndexError, RuntimeError):
                    self._listeners.remove(listener)

    def stop(self) -> None:
        """Wake all readers and writers; what waits is dropped."""
        self._tickets.put(STOP)
        _tell(self._listeners)
        for port in self.ports:
            port.stop()

    def __len__(self) -> int:
        return sum(len(port.items) for port in self.ports)

    @property
    def dropped(self) -> int:
        """The number of items that were dropped."""
        return sum(port.dropped for port in self.ports)

    @property
    def lost(self) -> int:
        """The number of frames that could not go on when the channel was stopped."""
        return sum(port.lost for port in self.ports)
