# SPDX-License-Identifier: Apache-2.0
"""GStreamerSink: write frames into a pipeline."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from samebytes import Access, Frame, FrameMeta
from samebytes.errors import ClosedError, LayoutError, UnsupportedObjectError
from samebytes.plugins import Aside, check_access

from .._abi.gi import Gst, GstApp, pointer_of
from .._abi.libraries import app
from .._abi.plugin_libraries import GST_FLOW_OK
from .._caps.caps import parsed
from .._caps.frame_rate import rate_of, with_rate
from .._metadata.tags import tag_event, with_orientation
from .pipeline import Deadline, Pipeline, PipelineError, PipelineTimeoutError
from .results_of_frames import as_it_is

if TYPE_CHECKING:
    from typing import Self

__all__ = ["GStreamerSink"]

_VARYING = Fraction(0)
_INTERRUPTED = "writing to this sink was interrupted"
_STALLED = 1.0
_APPSRC = re.compile(r"\bappsrc\b")


class GStreamerSink:
    """Writes frames to the appsrc of a pipeline. They are lent, not copied.

        with GStreamerSink("videoconvert ! x264enc ! mp4mux ! filesink location=out.mp4") as sink:
            for frame in frames:
                sink.write(frame)

    Leaving the block ends the stream, and waits until the pipeline has done with it; after an
    exception the pipeline is just stopped.

    Args:
        pipeline: a description as for gst-launch-1.0; if it has no appsrc, one is put at its
            beginning. Or a Gst.Pipeline of yours, which is played and stopped here.
        name: the name of the appsrc, if there are several.
        caps: Gst.Caps of the frames, or their text; by default those of each frame. If frames have
            no framerate (`metadata["gstreamer"]["framerate"]`), or 0, it is taken from the duration
            of the first one, or from a time base that counts frames (1/25); if neither is known,
            0/1 stands for a rate that varies.
        access: "r" lends frames for reading, so that elements copy before they write in place;
            "rw" lets them write into your memory.
        timeout: seconds to wait for room, and at the end for the pipeline.
        max_buffers: how many frames may wait in the appsrc.

    Raises:
        PipelineError: the pipeline cannot be made: an element is not installed, or a property does
            not exist.
        UnsupportedObjectError: no appsrc, or several and no name; caps that are something else.
        LayoutError: caps that GStreamer cannot parse, or that are not fixed.
    """

    def __init__(
        self,
        pipeline: Any,
        *,
        name: str | None = None,
        caps: Any = None,
        access: Access = "r",
        timeout: float = 10.0,
        max_buffers: int = 4,
    ) -> None:
        check_access(access)
        if isinstance(pipeline, str) and not _APPSRC.search(pipeline):
            pipeline = f"appsrc ! {pipeline}"
        self.timeout = timeout
        self._access = access
        self._max_buffers = max_buffers
        self._pipeline = Pipeline(pipeline)
        self._source = self._pipeline.find("appsrc", name)
        self._ended = False
        self._interrupted = False
        self._given_caps = caps is not None
        self._caps: Any = None
        self._rate: Fraction | None = None
        self._tags: Any = None
        for key, value in (
            ("emit-signals", False),
            ("block", False),
            ("format", Gst.Format.TIME),
            ("stream-type", GstApp.AppStreamType.STREAM),
            ("max-bytes", 0),
        ):
            self._source.set_property(key, value)
        if caps is not None:
            self._source.set_property("caps", _fixed(caps))

    @property
    def pipeline(self) -> Any:
        """The Gst.Pipeline.

        Raises:
            ClosedError: the sink was closed.
        """
        self._pipeline.check_open()
        return self._pipeline.native

    @property
    def stamps(self) -> bool:
        """True if the appsrc gives buffers the time at which they come (do-timestamp).

        Raises:
            ClosedError: the sink was closed.
        """
        self._pipeline.check_open()
        return bool(self._source.get_property("do-timestamp"))

    def write(self, frame: Frame, timeout: float | None = None) -> None:
        """Hand a frame to the pipeline, which holds it until it is done with it.

        The buffer gets the time, regions and results that the frame has now, including changes.

        New tags in `metadata["gstreamer"]["tags"]` are sent before it, with the `image-orientation`
        of `metadata["rotation"]` and `metadata["mirrored"]`.

        Args:
            frame: a frame in any memory type that maps to "gstreamer" without a copy.
            timeout: seconds to wait for room, instead of the sink's.

        Raises:
            CopyRequiredError, NoRouteError: it does not map: map it yourself, with copy=True.
            AccessError: the sink has access "rw", and the frame is read-only.
            PipelineError: an element failed.
            PipelineTimeoutError: there was no room in time. Writing can be tried again.
            ClosedError: the sink was closed, the stream was ended here or by an element, or
                interrupt() was called.
            UnsupportedObjectError: it is not a frame.
        """
        self._pipeline.check_open()
        if self._ended:
            raise ClosedError("the stream of this sink was ended")
        if not isinstance(frame, Frame):
            raise UnsupportedObjectError(
                f"a sink takes frames, not {type(frame).__name__}: samebytes.frame() makes them"
            )
        own: Any = frame
        if frame.memory_type != "gstreamer":
            own = frame.map("gstreamer", self._access)
        if not self._given_caps:
            self._tell_caps(with_rate(own.caps, self._rate_of(own.meta)))
        try:
            self._pipeline.play()
        except Aside.GivenUpError:
            raise ClosedError(_INTERRUPTED) from None
        self._wait_for_room(self.timeout if timeout is None else timeout)
        self._send_tags(own.metadata)
        # Elements write in place into buffers that nothing else holds, so no Python object may.
        buffer = as_it_is(own)
        if own is not frame:
            own.close()
        answer = app.gst_app_src_push_buffer(pointer_of(self._source), buffer.given())
        if answer != GST_FLOW_OK:
            self._pipeline.check_bus(wait=0.1)
            raise PipelineError(
                "gst_app_src_push_buffer", answer, "the appsrc does not accept buffers"
            )

    def interrupt(self) -> None:
        """Make a write that waits for room raise ClosedError, and all later ones. Any thread may
        call this. Ending the stream and closing still work, as long as the pipeline takes frames.
        """
        self._interrupted = True
        self._pipeline.interrupt()

    def end(self) -> None:
        """End the stream. Written frames are still being processed: `close` waits for that."""
        if not self._ended:
            self._ended = True
            self._pipeline.check_open()
            self._source.emit("end-of-stream")

    def close(self) -> None:
        """End the stream, wait until the pipeline has done with it, and stop it.

        Raises:
            PipelineError: an element failed.
            PipelineTimeoutError: that took longer than the sink's timeout; or after interrupt(),
                the pipeline took none of the waiting frames for a second.
        """
        try:
            if self._pipeline.playing and self._pipeline.native is not None:
                self.end()
                self._pipeline.wait_until_end(self.timeout, _Stall(self._waiting).check)
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the pipeline at once; frames that it has not finished are lost.

        An element that has not returned after 10 seconds is left to a thread.
        """
        self._ended = True
        self._source = None
        self._pipeline.stop()

    def _rate_of(self, meta: FrameMeta) -> Fraction:
        # Found out once: frames of varying durations must not set up elements again and again.
        if self._rate is None:
            self._rate = rate_of(meta) or _VARYING
        return self._rate

    def _tell_caps(self, caps: Any) -> None:
        # Compared as a whole: cropped pictures of one size may be cut from pictures of others.
        if self._caps is None or not caps.is_equal(self._caps):
            self._source.set_property("caps", caps)
            self._caps = caps

    def _send_tags(self, metadata: Mapping[str, Any]) -> None:
        details = metadata.get("gstreamer")
        given = details.get("tags") if isinstance(details, dict) else None
        tags = with_orientation(given, metadata)
        if tags is None or tags == self._tags:
            return
        self._tags = deepcopy(tags)
        event = tag_event(tags)
        if event is not None:
            # The appsrc queues it before the next buffer.
            self._source.send_event(event)

    def _waiting(self) -> int:
        """The number of frames that wait to be taken, if writing was interrupted; else 0."""
        return self._source.get_property("current-level-buffers") if self._interrupted else 0

    def _wait_for_room(self, timeout: float) -> None:
        deadline = Deadline(timeout, "the pipeline took no frame")
        self._pipeline.check_bus()
        while not (self._pipeline.ended or self._interrupted) and (
            self._source.get_property("current-level-buffers") >= self._max_buffers
        ):
            self._pipeline.check_bus(wait=deadline.step())
        if self._interrupted:
            raise ClosedError(_INTERRUPTED)
        if self._pipeline.ended:
            raise ClosedError("an element of the pipeline ended the stream")

    def __enter__(self) -> Self:
        self._pipeline.check_open()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self.close()
            return
        self.stop()


def _fixed(caps: Any) -> Any:
    found = parsed(caps) if isinstance(caps, str) else caps
    if not isinstance(found, Gst.Caps):
        raise UnsupportedObjectError(f"caps={caps!r} is neither a Gst.Caps nor its text")
    if not found.is_fixed():
        said = found.to_string()
        raise LayoutError(f"caps={said!r} are not fixed: they say what each frame is")
    return found


class _Stall:
    """A check for a stopping pipeline that takes no more frames, as when its peer is gone.

    Args:
        waiting: returns the number of frames that wait; 0 if that does not matter.
    """

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._waiting = waiting
        self._last = 0
        self._since = 0.0

    def check(self) -> None:
        """Raise PipelineTimeoutError if the number has not changed for a second."""
        number, now = self._waiting(), time.monotonic()
        if not number or number != self._last:
            self._last, self._since = number, now
        elif now - self._since > _STALLED:
            raise PipelineTimeoutError(
                f"the pipeline takes no frames, so the last {number} are lost: an element waits, "
                "as for a peer that does not read"
            )
