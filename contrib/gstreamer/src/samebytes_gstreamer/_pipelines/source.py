# SPDX-License-Identifier: Apache-2.0
"""GStreamerSource: read frames from a pipeline."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from samebytes import Access, Storage
from samebytes.errors import AccessError
from samebytes.plugins import Aside, check_access

from .._abi.gi import Gst, pointer_of
from .._buffers.frame import GStreamerFrame
from .._buffers.tensor import ADVICE
from .._caps.wanted_formats import ask_for_formats, usual_first
from .._memory.allocation import answer_with_pages
from .._memory.memory import sink_let_go, sink_took
from .._metadata.tags import TagReader, orientation_in
from .pipeline import Deadline, Pipeline, PipelineTimeoutError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["GStreamerSource"]

_BLINK = 0.0005

_APPSINK = re.compile(r"\bappsink\b")


def _clock(patience: float) -> Any:
    """An el.Clock; None outside a pipeline of samebytes, whose modules take a while to import."""
    elements = sys.modules.get("samebytes.elements")
    return None if elements is None else elements.Clock(patience)


def _running_time(segment: Any, pts: int) -> int | None:
    """The running time of a buffer, which GStreamer gives without its sign; None if it has none."""
    if pts == Gst.CLOCK_TIME_NONE or segment.format != Gst.Format.TIME:
        return None
    sign, time_ = segment.to_running_time_full(Gst.Format.TIME, pts)
    return sign * int(time_) if sign else None


class GStreamerSource(Storage.Uncopied):
    """The frames that arrive at the appsink of a pipeline.

        with GStreamerSource("filesrc location=clip.mp4 ! decodebin ! videoconvert") as source:
            for frame in source:
                y, u, v = frame.map("cpu")

    Iterating ends with the stream. The pipeline waits while `max_buffers` frames are unread; no
    frame is dropped. Frames stay valid as long as they are held, whatever becomes of the source;
    a decoder that has few buffers waits for them. One thread uses a source at a time.

    Args:
        pipeline: a description as for gst-launch-1.0; if it has no appsink, one is put at its end.
            Or a Gst.Pipeline of yours, which is played and stopped here.
        name: the name of the appsink, if there are several.
        timeout: seconds to wait for a frame. In a pipeline of samebytes, only the time counts in
            which none of its frames moves: while a model is compiled for the first one, elements
            with few buffers may give no other.
        max_buffers: how many unread frames may be waiting.
        sync: hold each frame back until its time has come, as a player does.
        access: "rw" holds each frame back until no element holds it any more, so that it can be
            mapped for writing; "r" hands it out at once.
        formats: names of pixel formats, best first: elements that can give several formats give one
            of these. Formats that the pipeline fixes, by its elements or by caps, are not changed.
            By default all that samebytes knows, NV12 and I420 first.

    Attributes:
        pipeline: the Gst.Pipeline, until close().
        running_time: the time at which a player shows the frame that was read last, in nanoseconds
            from the beginning; the frame itself has the time of its buffer, without the segment.
            It is negative before the segment, and None if the buffer or the segment has no time.

    Raises:
        PipelineError: the pipeline cannot be made: an element is not installed, or a property does
            not exist.
        UnsupportedObjectError: no appsink, or several and no name.
    """

    _instead = "use the same one, or make another"

    def __init__(
        self,
        pipeline: Any,
        *,
        name: str | None = None,
        timeout: float = 10.0,
        max_buffers: int = 4,
        sync: bool = False,
        access: Access = "r",
        formats: Sequence[str] = (),
    ) -> None:
        check_access(access)
        self._access = access
        if isinstance(pipeline, str) and not _APPSINK.search(pipeline):
            pipeline = f"{pipeline} ! appsink"
        self.timeout = timeout
        self._pipeline = Pipeline(pipeline)
        self._sink = self._pipeline.find("appsink", name)
        pad = self._sink.get_static_pad("sink")
        self._tags = TagReader(pad)
        answer_with_pages(pad)
        if self._sink.get_property("caps") is None:
            ask_for_formats(pad, formats or usual_first())
        self._taken = 0
        self.running_time: int | None = None
        self._ended = False
        self._interrupted = False
        for key, value in (
            ("emit-signals", False),
            ("enable-last-sample", False),
            ("drop", False),
            ("max-buffers", max_buffers),
            ("sync", sync),
        ):
            self._sink.set_property(key, value)

    @property
    def pipeline(self) -> Any:
        """The Gst.Pipeline.

        Raises:
            ClosedError: the source was closed.
        """
        self._pipeline.check_open()
        return self._pipeline.native

    def read(self, timeout: float | None = None) -> GStreamerFrame | None:
        """The next frame; None when the stream has ended, or was interrupted.

        Tags of the stream that came before it are in `metadata["gstreamer"]["tags"]`; the
        orientation in `image-orientation` is in `metadata["rotation"]` and `metadata["mirrored"]`.

        Args:
            timeout: seconds to wait, instead of the source's timeout.

        Raises:
            PipelineError: an element failed.
            PipelineTimeoutError: no frame came in time. Reading can be tried again.
            AccessError: access is "rw", and an element keeps the frame.
            LayoutError: the frame has a format that has no layout here.
            ClosedError: the source was closed.
        """
        if timeout is not None:
            return self._read(timeout)
        clock = _clock(self.timeout)
        while True:
            try:
                return self._read(self.timeout)
            except PipelineTimeoutError:
                if clock is None or clock.is_over():
                    raise

    def _read(self, timeout: float) -> GStreamerFrame | None:
        self._pipeline.check_open()
        if self._ended or self._interrupted:
            return None
        try:
            self._pipeline.play()
        except Aside.GivenUpError:
            return None
        deadline = Deadline(timeout, "no frame came")
        while (sample := self._pull(deadline.step())) is None:
            self._pipeline.check_bus()
            if self._interrupted:
                return None
            if self._sink.get_property("eos"):
                self._ended = True
                return None  # the appsink keeps the last sample until it is stopped
        buffer, caps = sample.get_buffer(), sample.get_caps()
        self.running_time = _running_time(sample.get_segment(), buffer.pts)
        del sample
        # The appsink keeps a sample from before the pipeline played apart, until it is taken.
        self._sink.emit("try-pull-preroll", 0)
        self._let_go()
        # The appsink keeps the sample it gave until it gives another.
        self._taken = pointer_of(buffer)
        sink_took(self._taken)
        frame = GStreamerFrame._of_buffer(buffer, caps, crop=True)
        tags = self._tags.read()
        if tags:
            frame.metadata["gstreamer"]["tags"] = tags
            frame.metadata.update(orientation_in(tags))
        if self._access != "r":
            self._wait_until_writable(frame, deadline)
        return frame

    def interrupt(self) -> None:
        """Make a waiting read return None, and all later ones. Any thread may call this."""
        self._interrupted = True
        self._pipeline.interrupt()

    def _pull(self, seconds: float) -> Any:
        return self._sink.emit("try-pull-sample", int(seconds * Gst.SECOND))

    def _wait_until_writable(self, frame: GStreamerFrame, deadline: Deadline) -> None:
        try:
            self.await_release(frame, deadline)
        except PipelineTimeoutError as error:
            raise AccessError(f"a frame cannot be written: {ADVICE}") from error

    def await_release(self, frame: GStreamerFrame, deadline: Deadline) -> None:
        """Return when a frame can be written, or after interrupt().

        The streaming thread that brought a buffer holds it a little longer.

        Args:
            frame: a frame from this source; it stays the caller's.
            deadline: the end of the wait.

        Raises:
            PipelineTimeoutError: elements hold it for longer than that.
        """
        while not (frame.writable or self._interrupted):
            time.sleep(min(deadline.step(), _BLINK))

    def _let_go(self) -> None:
        if self._taken:
            sink_let_go(self._taken)
            self._taken = 0

    def close(self) -> None:
        """Stop the pipeline. Frames that were read stay valid.

        An element that has not returned after 10 seconds is left to a thread.
        """
        self._let_go()
        self._sink = None
        self._pipeline.stop()

    def __iter__(self) -> Iterator[GStreamerFrame]:
        return self

    def __next__(self) -> GStreamerFrame:
        frame = self.read()
        if frame is None:
            raise StopIteration
        return frame

    def __enter__(self) -> Self:
        self._pipeline.play()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_taken", 0):
            self._let_go()
