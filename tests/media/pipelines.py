# SPDX-License-Identifier: Apache-2.0
"""Frames through elements of GStreamer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import samebytes as sb
import samebytes_gstreamer

samebytes_gstreamer.GStreamerFrame  # noqa: B018 - loads gi, and asks for the versions
from gi.repository import Gst, GstAudio, GstVideo  # noqa: E402

__all__ = ["Gst", "GstAudio", "GstVideo", "played"]


@contextmanager
def played(elements: str, frame: Any) -> Iterator[Any]:
    """The frame that elements make of a frame, for the time of the block."""
    pipeline = Gst.parse_launch(f"appsrc name=in ! {elements} ! appsink name=out sync=false")
    source, sink = (pipeline.get_by_name(name) for name in ("in", "out"))
    own = frame if frame.memory_type == "gstreamer" else frame.map("gstreamer")
    source.set_property("caps", own.caps)
    source.set_property("format", Gst.Format.TIME)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        source.emit("push-buffer", own.buffer)
        source.emit("end-of-stream")
        sample = sink.emit("try-pull-sample", 10 * Gst.SECOND)
        errors = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        assert sample is not None, errors and errors.parse_error()
        yield sb.frame(sample)
    finally:
        pipeline.set_state(Gst.State.NULL)
