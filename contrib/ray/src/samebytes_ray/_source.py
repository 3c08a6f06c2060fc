# SPDX-License-Identifier: Apache-2.0
"""The driver's stage: it reads the source, and puts its frames into the object store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import ray

import samebytes as sb
import samebytes.elements as el

from ._frames import described, planes_of
from ._posts import Parcel, now
from ._stages import Stage
from ._worker import Outlet

__all__ = ["Feeder"]

_MOMENT = 0.05


class _GivenUpError(Exception):
    """Ends the block of the source's pipeline, so that its elements know that the run failed."""


class Feeder:
    """Reads the source in a thread of its own, and never more frames than may be under way.

    The driver owns the objects that it puts into the store: they stay there whichever actor dies.

    Args:
        stage: the source, and the elements that run in its process.
        on_error: as for `Pipeline.start`.
        in_flight: how many frames may be under way.
        says: called with each Parcel, then with None at the end, or the exception that ended it.
    """

    def __init__(
        self, stage: Stage, on_error: str, in_flight: int, says: Callable[[Any], None]
    ) -> None:
        self._name = stage.last
        self._says = says
        self._outlet = Outlet()
        self._pipe = el.Pipeline(*stage.items, self._outlet, copy=stage.copy)
        self._on_error = on_error
        self._running: el.Running | None = None
        self._ending = self._failed = False
        # One for each frame that may be read.
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(in_flight):
            self._room.put(None)
        self._thread: threading.Thread | None = None  # before it ran it would refer to this object
        self.accepted = 0

    def open(self) -> el.FrameInfo | None:
        """Open the elements; return the frames that they will give, as far as known.

        Raises:
            ElementError: one raised.
        """
        self._running = self._pipe.start(threads=0, on_error=self._on_error)
        return self._outlet.info

    def start(self) -> None:
        """Begin to read."""
        self._thread = threading.Thread(target=self._feed, name="source", daemon=True)
        self._thread.start()

    def more(self) -> None:
        """Let another frame be read, since one has left."""
        self._room.put(None)

    def stop(self, *, failed: bool) -> None:
        """Read no more, and close the elements."""
        self._ending, self._failed = True, failed
        self._room.put(None)
        if self._thread is None or self._thread.ident is None:
            if self._running is not None:
                self._running.stop()
            return
        if failed:  # where it waits for room, it ends its block itself, with an exception
            self._thread.join(_MOMENT)
        if self._thread.is_alive() and self._running is not None:
            self._running.stop()
        self._thread.join()

    def statistics(self) -> tuple[el.ElementStatistics, ...]:
        """The statistics of the elements."""
        return () if self._running is None else tuple(self._running.statistics())[:-1]

    def explain(self) -> str:
        """A description of what the elements agreed on."""
        return (self._running or self._pipe).explain()

    def _feed(self) -> None:
        assert self._running is not None
        said: Any = None
        try:
            with self._running as running:
                while True:
                    self._room.get()
                    frame = None if self._ending else next(running, None)
                    if frame is None:
                        break
                    self._says(self._stored(frame))
                    self.accepted += 1
                    del frame  # a decoder may want it back before there is room again
                if self._failed:
                    raise _GivenUpError
        except _GivenUpError:
            pass
        except BaseException as error:
            said = error
        self._says(said)

    def _stored(self, frame: sb.Frame) -> Parcel:
        read = now()
        description = described(frame, self._name)
        planes = ray.put([planes_of(frame, self._name)])
        return Parcel(self.accepted, planes, 0, description, read)
