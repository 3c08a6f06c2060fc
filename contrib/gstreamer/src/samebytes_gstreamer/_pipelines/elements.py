# SPDX-License-Identifier: Apache-2.0
"""The elements gstreamer.source and gstreamer.sink: GStreamer at the ends of a pipeline."""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import samebytes.elements as el
from samebytes import Context, FrameMeta, ImageInfo
from samebytes.errors import ClosedError
from samebytes.formats import duration_of, length_of

from .._buffers.frame import GStreamerFrame
from .._caps.wanted_formats import usual_first
from .._metadata.meta import GStreamerMeta
from .pipeline import Deadline, PipelineTimeoutError
from .sink import GStreamerSink
from .source import GStreamerSource

__all__ = ["SinkElement", "SourceElement"]

_USUAL = Fraction(1, 25)
"""The seconds of a frame that has neither a duration nor a rate."""
_SOON = 0.05
"""The seconds within which a streaming thread that does not keep its frames has released one."""


class _Offered(el.Media):
    """Any frame. Before they come, pictures in memory may be of every format."""

    def offers(self, like: el.FrameInfo | None) -> list[el.FrameInfo]:
        """One of each format."""
        return [el.FrameInfo("image", "gstreamer", format=name) for name in usual_first()]


class SourceElement(el.Source):
    """The frames of a pipeline of GStreamer, as `GStreamerSource` reads them.

        el.Pipeline(el.create("gstreamer.source", "filesrc location=in.mp4 ! decodebin"), ...)

    A source that is `live` waits for frames as long as the pipeline runs; others fail after
    `timeout`, which counts only while no frame of the pipeline moves.

    Elements of GStreamer that can give several formats give one that the next elements take, if
    there is one. Caps in the pipeline take precedence.

    Times are those at which a player shows the frames (running times): a stream whose buffers begin
    at 80 ms, like those of an MP4 with B-frames, begins at 0. They always rise, by `el.Timeline`:
    times that repeat or step back, and in a `live` source those that jump far ahead, go on after
    the frame before; pictures without a time get one from the rate.
    """

    name = "gstreamer.source"
    gives: ClassVar[Any] = _Offered()

    pipeline: Annotated[str, el.Doc("as for gst-launch-1.0; an appsink is put at its end")]
    appsink: Annotated[str, el.Doc("the name of the appsink, if there are several")] = ""
    timeout: Annotated[float, el.Range(0), el.Doc("seconds to wait for a frame")] = 10.0
    max_buffers: Annotated[int, el.Range(1), el.Doc("how many unread frames may wait")] = 4
    sync: Annotated[bool, el.Doc("wait until the time of each frame has come")] = False
    access: Annotated[
        Literal["r", "rw"] | None,
        el.Doc("rw: wait with each frame until it can be written; None: as the pipeline needs it"),
    ] = None
    live: Annotated[  # type: ignore[misc]  # of each object: a camera, or a file
        bool, el.Doc("frames arrive at their own pace: a camera, a network stream")
    ] = False

    _source: GStreamerSource | None = None
    _timeline = el.Timeline()
    _released_soon = False

    def negotiate(self, wanted: el.FrameInfo | None) -> None:
        """None: the frames are only known with the first one."""

    def open(self, context: Context | None) -> None:
        """Make the pipeline and play it."""
        # Before it plays, which may wait for a peer: interrupt() needs it.
        self._source = GStreamerSource(
            self.pipeline, name=self.appsink or None, timeout=self.timeout,
            max_buffers=self.max_buffers, sync=self.sync, access=self.access or "r",
            formats=self.wanted_formats,
        )  # fmt: skip
        self._source.__enter__()
        self._timeline = el.Timeline(live=self.live)
        self._released_soon = self.access is None and self.wanted_access != "r"

    def read(self) -> Any:
        """The next frame; None at the end of the stream, and after interrupt().

        Raises:
            PipelineError: an element failed.
            PipelineTimeoutError: no frame came in time.
        """
        source = self._source
        assert source is not None
        while True:
            try:
                frame = source.read()
                break
            except PipelineTimeoutError:
                if not self.live:
                    raise
        if frame is not None:
            _place(frame, source.running_time, self._timeline)
        if self._released_soon and frame is not None:
            try:
                source.await_release(frame, Deadline(_SOON, "no release"))
            except PipelineTimeoutError:
                # As for a decoder that refers to it: frames wait before the element that writes.
                self._released_soon = False
        return frame

    def interrupt(self) -> None:
        """End a waiting read."""
        source = self._source
        if source is not None:
            source.interrupt()

    def close(self) -> None:
        """Stop the pipeline. Frames stay valid."""
        source, self._source = self._source, None
        if source is not None:
            source.close()


def _place(frame: GStreamerFrame, shown: int | None, timeline: el.Timeline) -> None:
    """Give a frame its time. Sound and tensors without a time have no rate to count by."""
    meta = frame.meta
    if shown is not None and meta.pts is not None:
        meta.pts = shown
    if meta.pts is None and not isinstance(meta.info, ImageInfo):
        return
    rate = meta.metadata["gstreamer"].get("framerate")
    length = 1 / rate if rate else duration_of(meta.metadata) or _USUAL
    meta.pts, meta.time_base = timeline.place(meta.pts, meta.time_base, length)


class SinkElement(el.Sink):
    """Writes frames to a pipeline of GStreamer, as `GStreamerSink` does.

        el.Pipeline(..., el.create("gstreamer.sink", "videoconvert ! autovideosink"))

    Pictures without a time get the end of the one before, unless the appsrc has do-timestamp.

    When the element is closed, the stream is ended, and the pipeline gets at most `timeout` seconds
    to finish the frames that were written.
    """

    name = "gstreamer.sink"
    one_stream = True
    takes: ClassVar[Any] = el.Media(memory="gstreamer|gstreamer:VA")

    pipeline: Annotated[str, el.Doc("as for gst-launch-1.0; an appsrc is put at its beginning")]
    appsrc: Annotated[str, el.Doc("the name of the appsrc, if there are several")] = ""
    caps: Annotated[str, el.Doc("of the frames; by default what each frame says")] = ""
    timeout: Annotated[float, el.Range(0), el.Doc("seconds to wait for room, and at the end")] = (
        10.0
    )
    max_buffers: Annotated[int, el.Range(1), el.Doc("how many frames may wait")] = 4
    on_failure: Annotated[
        Literal["finish", "stop"],
        el.Doc("when the run fails: finish what was written, or stop at once"),
    ] = "finish"

    _sink: GStreamerSink | None = None
    _timeline = el.Timeline()
    _stamps = False

    def open(self, context: Context | None) -> None:
        """Make the pipeline; it plays with the first frame."""
        self._timeline = el.Timeline()
        self._sink = GStreamerSink(
            self.pipeline, name=self.appsrc or None, caps=self.caps or None,
            timeout=self.timeout, max_buffers=self.max_buffers,
        )  # fmt: skip
        self._stamps = self._sink.stamps

    def write(self, frame: Any) -> None:
        """Hand a frame to the pipeline.

        Raises:
            PipelineError: an element failed.
            PipelineTimeoutError: there was no room in time.
            ClosedError: an element ended the stream, or interrupt() was called.
        """
        sink = self._sink
        if sink is None:
            raise ClosedError(f"{self.name!r} is not open")
        meta = frame.meta
        if self._stamps or not isinstance(meta.info, ImageInfo):
            sink.write(frame)
            return
        pts, unit = meta.pts, meta.time_base
        length = length_of(meta.metadata, unit) or _USUAL
        placed = self._timeline.place(pts, unit, length)
        if pts is not None:
            sink.write(frame)
            return
        # Muxers leave out buffers without a time, or fail. Other branches share the frame's meta.
        known = isinstance(meta, GStreamerMeta)
        frame.meta = (
            copy(meta) if known else FrameMeta(meta.info, None, None, meta.metadata, meta.regions)
        )
        frame.meta.pts, frame.meta.time_base = placed
        try:
            sink.write(frame)
        finally:
            if known:
                meta.said = frame.meta.said
            frame.meta = meta

    def interrupt(self) -> None:
        """End a write that is waiting for room."""
        sink = self._sink
        if sink is not None:
            sink.interrupt()

    def close(self) -> None:
        """End the stream, wait until the pipeline has done with it, and stop it.

        Raises:
            PipelineError: an element failed.
            PipelineTimeoutError: that took longer than `timeout`.
        """
        sink, self._sink = self._sink, None
        if sink is None:
            return
        if self.run_failed and self.on_failure == "stop":
            sink.stop()
            return
        if self.run_failed:
            sink.interrupt()
        sink.close()
