# SPDX-License-Identifier: Apache-2.0
"""Buffers on their way through a hosted element: copied, and lent."""

from __future__ import annotations

from typing import Any

import samebytes as sb
import samebytes.elements as el
from samebytes import Frame

from .._abi.gstreamer import GST_CLOCK_TIME_NONE, GstBuffer
from .._buffers.frame import GStreamerFrame
from .._pipelines.outgoing import Outgoing
from .._pipelines.results_of_frames import as_it_is
from .caps import check_result

__all__ = ["lend", "own_copy"]


def own_copy(frame: GStreamerFrame) -> GStreamerFrame:
    """The picture, sound or tensors in a buffer of its own. The copy is counted."""
    return el.own_copy(frame).map("gstreamer", "rw")  # type: ignore[return-value]  # its own frames


def lend(given: Any, like: GStreamerFrame | None, caps: Any, *, copy: bool) -> Outgoing:
    """A buffer over the bytes that an element gave, without a copy unless `copy` allows one.

    Args:
        given: a samebytes.Frame or a native one.
        like: the frame that it was made of, which gives it the time if it has none.
        caps: the caps that were agreed on.
        copy: allow a copy if there is no other way.

    Raises:
        UnsupportedObjectError: it cannot be wrapped as a frame.
        CopyRequiredError, NoRouteError: it does not map to "gstreamer".
        LayoutError: it does not have these caps.
    """
    frame = given if isinstance(given, Frame) else sb.frame(given)
    if isinstance(frame, GStreamerFrame):
        check_result(frame, caps)
        return as_it_is(frame)  # one that the element kept has what was added since
    # Later elements may write into it, as into any frame that an element gave.
    own: Any = frame.map("gstreamer", "r" if frame.readonly else "rw", copy=copy)
    check_result(own, caps)
    made = Outgoing.of(own)
    own.close()  # a holder less
    head = GstBuffer.from_address(made.pointer)
    if like is not None and head.pts == GST_CLOCK_TIME_NONE:
        before = GstBuffer.from_address(like.handle("gst_buffer"))
        head.pts, head.dts = before.pts, before.dts
        if head.duration == GST_CLOCK_TIME_NONE:
            head.duration = before.duration
    return made
