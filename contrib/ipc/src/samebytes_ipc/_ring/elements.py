# SPDX-License-Identifier: Apache-2.0
"""The elements ring.sink and ring.source: a pipeline that goes on in other processes."""

from __future__ import annotations

import threading
import time
import weakref
from collections import defaultdict
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import samebytes.elements as el
from samebytes import Context, Frame
from samebytes.errors import ClosedError
from samebytes.formats import duration_of
from samebytes.metadata import SourceIdentifier, find

from .._errors import RingTimeoutError
from .items import InDMA, leads_to_dma
from .packets import MAX_SLOTS
from .reader import RingReader
from .writer import MOST_OWN, RingWriter

__all__ = ["RingSink", "RingSource"]

_SERVED_SECONDS = 0.5
"""The longest that the thread which serves a ring keeps it where nobody closes it."""
_PAUSE = 0.002
"""Seconds between two looks: a sink that is busy writing serves in these calls itself."""
_USUAL = Fraction(1, 25)
"""Seconds of a frame that does not say how long it is shown."""


class RingSink(el.Sink):
    """Frames for other processes, as `RingWriter` sends them.

        el.Pipeline(..., el.create("ring.sink", "/run/user/1000/camera", copy=True))

    Memory of "dma" and surfaces of VA-API go where they lie; the rest is copied into a slot, if
    `copy` allows it. Elements after it must not write into frames that were not copied.

    A thread takes what readers give back while the element has nothing to write: the source may
    wait for that very memory, as a camera does for its few buffers.
    """

    name = "ring.sink"
    takes: ClassVar[Any] = el.Media()

    address: Annotated[str, el.Doc('a path for the socket, or "@name" for one without a file')]
    slots: Annotated[
        int, el.Range(2, 64), el.Doc("how many copied frames there can be at a time")
    ] = 8
    when_full: Annotated[
        Literal["wait", "drop-oldest"], el.Doc("for the slowest reader, or leave frames out")
    ] = "wait"
    readers: Annotated[int, el.Range(0), el.Doc("wait for so many before the first frame")] = 0
    timeout: Annotated[
        float, el.Range(0), el.Doc("seconds to wait for readers, and at the end")
    ] = 10.0
    most_readers: Annotated[
        int, el.Range(0, MOST_OWN), el.Doc("how many may take part; 0: what the slots allow")
    ] = 0
    adopt: Annotated[
        int,
        el.Range(1, MAX_SLOTS - MOST_OWN),
        el.Doc("how many pieces of memory are remembered of frames that go where they lie"),
    ] = 16
    memory: Annotated[str, el.Doc("where slots come from: memfd, udmabuf, heap; empty: any")] = ""
    copy: Annotated[bool, el.Doc("copy what lies in other memory; it is counted")] = False

    _ring: RingWriter | None = None
    _serving: threading.Thread | None = None
    _waited = False

    @property
    def ring(self) -> RingWriter:
        """The ring, while the element is open.

        Raises:
            ClosedError: it is not.
        """
        if self._ring is None:
            raise ClosedError(f"{self.name!r} is not open")
        return self._ring

    def copies(self, given: el.FrameInfo, frame: Frame | None) -> str:
        """Frames that do not go where they lie."""
        if not self.copy:
            return ""
        lies = leads_to_dma(given.memory) if frame is None else InDMA()(frame) is not None
        return "" if lies else "into a slot of the ring"

    def open(self, context: Context | None) -> None:
        """Listen for readers; slots are allocated with the first frame that needs one."""
        self._waited = False
        self._ring = RingWriter(
            self.address, slots=self.slots, when_full=self.when_full, timeout=self.timeout,
            memory=self.memory or None, adopt=self.adopt, most_readers=self.most_readers or None,
        )  # fmt: skip
        # A daemon: a ring that nobody closes must not keep the process from ending.
        serving = threading.Thread(
            target=_serve, args=(weakref.ref(self._ring),), name=self.name, daemon=True
        )
        serving.start()
        self._serving = serving

    def write(self, frame: Any) -> None:
        """Send a frame.

        Raises:
            CopyRequiredError: it must be copied, and `copy` is False.
            RingTimeoutError: no slot came back, or no readers came, in time.
            ClosedError: interrupt() was called.
        """
        ring = self.ring
        if not self._waited:
            ring.wait_for_readers(self.readers)
            self._waited = True
        ring.send(frame, copy=self.copy)

    def interrupt(self) -> None:
        """End a write that waits."""
        ring = self._ring
        if ring is not None:
            ring.interrupt()

    def close(self) -> None:
        """End the stream, and wait until readers were sent everything."""
        ring, self._ring = self._ring, None
        serving, self._serving = self._serving, None
        if ring is not None:
            try:
                ring.close()
            finally:
                ring.interrupt()
        # A finalizer that closes the pipeline may run in that very thread; and what is released
        # there runs code of others, which may wait for this one.
        if serving is not None and serving is not threading.current_thread():
            serving.join(min(self.timeout, threading.TIMEOUT_MAX))


def _serve(ring: weakref.ref[RingWriter]) -> None:
    """Serve a ring until it is closed, interrupted or dropped."""
    with suppress(ClosedError):
        while (living := ring()) is not None:
            living.serve(_SERVED_SECONDS)
            del living
            time.sleep(_PAUSE)


class _LateReader(RingReader):
    """A reader that can be interrupted from the moment when it begins to wait for a writer."""

    def _begin(self, address: Any) -> None:
        """Nothing yet: begin() does it."""

    def begin(self, address: Any) -> None:
        """Wait for the writer."""
        super()._begin(address)


class RingSource(el.Source):
    """Frames of another process, as `RingReader` reads them.

    el.Pipeline(el.create("ring.source", "/run/user/1000/camera"), ...)

    Times of each stream rise, as with `el.Timeline`, even if those of the next writer begin again.
    Frames without a time get none.
    """

    name = "ring.source"
    gives: ClassVar[Any] = el.Media(memory="dma")

    address: Annotated[str, el.Doc("where the ring.sink, or the RingWriter, is")]
    frames: Annotated[
        int, el.Range(0, MAX_SLOTS), el.Doc("how many to have at a time; 0: what the writer allows")
    ] = 0
    timeout: Annotated[float, el.Range(0), el.Doc("seconds to wait for the writer and a frame")] = (
        10.0
    )
    live: Annotated[  # type: ignore[misc]  # of each object: a camera, or a file
        bool, el.Doc("frames arrive at their own pace; when the writer ends, wait for the next")
    ] = False
    spin: Annotated[
        float, el.Range(0), el.Doc("seconds to look for a frame again and again before sleeping")
    ] = 0.0

    _ring: RingReader | None = None

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._timelines: defaultdict[int | None, el.Timeline] = defaultdict(el.Timeline)

    @property
    def pool_size(self) -> int | None:  # type: ignore[override]  # it depends on the writer
        """The number of frames that the writer lets this reader have; None if it is not known yet.

        The writer may have fewer slots than that, which it does not report: then read() waits.
        """
        ring = self._ring
        return None if ring is None else ring.frames or None

    def open(self, context: Context | None) -> None:
        """Wait for the writer."""
        self._timelines = defaultdict(partial(el.Timeline, live=self.live))
        ring = self._ring = _LateReader(
            self.address, frames=self.frames or None, timeout=self.timeout, live=self.live,
            spin=self.spin,
        )  # fmt: skip
        ring.begin(self.address)

    def read(self) -> Any:
        """The next frame; None at the end of the stream, and after interrupt().

        Raises:
            RingTimeoutError: none came in time; `live`: all that the writer allows are held here.
            EndOfStreamError: the writer ended without closing the ring.
            MessageError: it sent an invalid message.
        """
        ring = self._ring
        assert ring is not None
        clock = el.Clock(self.timeout)
        while True:
            try:
                frame = ring.read()
                if isinstance(frame, Frame):
                    self._place(frame)
                return frame
            except RingTimeoutError:
                held = ring.statistics.held >= ring.frames > 0
                if (held or not self.live) and clock.is_over():
                    raise

    def _place(self, frame: Frame) -> None:
        meta = frame.meta
        if meta.pts is None or meta.time_base is None:
            return
        source = find(frame, SourceIdentifier)
        timeline = self._timelines[None if source is None else source.stream_id]
        length = duration_of(meta.metadata) or _USUAL
        meta.pts, meta.time_base = timeline.place(meta.pts, meta.time_base, length)

    def interrupt(self) -> None:
        """End a read that waits."""
        ring = self._ring
        if ring is not None:
            ring.interrupt()

    def close(self) -> None:
        """Take no more frames. Those that were read stay valid."""
        ring, self._ring = self._ring, None
        if ring is not None:
            ring.close()
