# SPDX-License-Identifier: Apache-2.0
"""Reading from the sources, and the limit on those whose frames come from a pool."""

from __future__ import annotations

import time
import weakref
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from .._core.memory.frame import Frame
from .._raising import throw
from ._channel import Stopped
from ._element import Source
from ._graph import Step
from ._identity import note_of
from ._media import FrameInfo
from ._negotiation import Negotiation
from ._stage import announced, wrapped
from ._statistics import Meter
from ._watch import Clock, Watch

__all__ = ["Reader"]


class Origin:
    """The part of a source that its frames refer to.

    It does not refer to the pipeline, which may itself refer to the frame.

    Attributes:
        stream: the number of the source's stream.
        info: the frames that the source gives; None until they are known.
    """

    __slots__ = ("info", "stream")

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.info: FrameInfo | None = None


class Reader:
    """Reads the frames of one source, which are one stream.

    A source can report that its frames come from a pool of a certain size (`FrameInfo.pool`). Then
    it is not asked for another frame while all of them are alive: a decoder without a free surface
    fails, or waits forever. Frames in queues count too, so even long queues cannot take more than
    there are. A step in which frames wait until they can be written to lets one fewer wait, so it
    gives up first.

    Args:
        step: the source.
        stream: the number of its stream.
        negotiation: checks the frames that the source gives.
        watch: decides how long to wait for a frame of the pool, and whether frames still move.
        several: True if the pipeline has other sources too: then this number of the stream holds,
            whatever the frames' metadata say.
    """

    def __init__(
        self,
        step: Step,
        stream: int,
        negotiation: Negotiation,
        watch: Watch,
        *,
        several: bool = False,
    ) -> None:
        self.step = step
        assert isinstance(step.element, Source)
        self._source: Source = step.element  # its class is abstract, which is slow to ask for
        self.stream = stream
        self.name = step.name
        self.meter = Meter(step.name, waits=True)
        self.origin = Origin(stream)
        self._negotiation = negotiation
        self._watch = watch
        self._note = note_of(stream, several)
        self._ending = False
        self._last_seen: tuple[Any, Any] | None = None
        self._out: set[weakref.ref[Frame]] = set()
        self._back: SimpleQueue[weakref.ref[Frame] | None] = SimpleQueue()

    @property
    def info(self) -> FrameInfo | None:
        """The frames that the source gives; None until they are known."""
        return self.origin.info

    @property
    def pool(self) -> int | None:
        """The number of the source's frames that can be in use; None if it reports none."""
        info = self.origin.info
        said = None if info is None else info.pool
        return self._source.pool_size if said is None else said

    def expected(self) -> int | None:
        """The number of frames that the open source expects to give; None if it does not know.

        Raises:
            ElementError: the source raised.
        """
        try:
            return self._source.frames_expected()
        except Exception as error:
            throw(self.step.failed(error, "frames_expected"))

    def read(self) -> Frame | None:
        """The next frame; None at the end of the stream.

        Raises:
            ElementError: the source raised, or gave a frame that it did not announce.
            PoolTimeoutError: all frames of its pool are in use.
        """
        source = self._source
        if self._ending:
            return None
        info = self.origin.info  # as for `pool`, without a call for each frame
        pool = source.pool_size if info is None or info.pool is None else info.pool
        try:
            if pool is not None:
                self._wait_for_room(pool)
        except Stopped:
            if self._ending:
                return None
            raise
        began = time.perf_counter_ns()
        try:
            native = source.read()
            if native is None:
                return None
            frame = wrapped(native, self.name)
            seen = (frame.context, frame.meta.info)
            if seen != self._last_seen:
                self._check(frame, seen)
            frame.meta.when_read(self._note)
        except Stopped:
            raise
        except Exception as error:
            if self._ending:  # a source may raise when it is interrupted
                return None
            self.meter.raised()
            throw(self.step.failed(error, stream=self.stream))
        frame._origin = (self.origin, self.meter.took(began, gave=True))
        if pool is not None:
            self._out.add(weakref.ref(frame, self._back.put))
        return frame

    def _check(self, frame: Frame, seen: tuple[Any, Any]) -> None:
        # The layout of a stream may change on its way: then `gives` of the class holds, not the
        # result of negotiate(), which was about the first frame.
        plans = (self.info,) if self._last_seen is None and self.info is not None else ()
        found = announced(self._negotiation, self.step, frame, plans)
        self.origin.info = self.info or replace(found, pool=self.pool)
        self._last_seen = seen

    def end(self) -> None:
        """Let the stream end: no further frame is read."""
        self._ending = True
        self.stop()

    def stop(self) -> None:
        """Make a call of read() that waits for the pool end with `Stopped`."""
        self._back.put(None)

    def _wait_for_room(self, pool: int) -> None:
        while True:
            try:
                self._returned(self._back.get_nowait())
            except Empty:
                if len(self._out) < pool:
                    return
                self._wait(pool)

    def _returned(self, frame: weakref.ref[Frame] | None) -> None:
        if frame is None:
            raise Stopped
        self._out.discard(frame)

    def _wait(self, pool: int) -> None:
        clock = Clock(self._watch.patience)
        while True:
            try:
                self._returned(self._back.get(timeout=clock.look_after))
                return
            except Empty:
                if clock.is_over():
                    break
        raise clock.pool_error(self.name, pool, self.stream)
