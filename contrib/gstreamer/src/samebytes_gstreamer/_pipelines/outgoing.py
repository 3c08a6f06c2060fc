# SPDX-License-Identifier: Apache-2.0
"""Buffers on their way out, with the times of their frames."""

from __future__ import annotations

import ctypes
from typing import Any

from samebytes.errors import UnsupportedObjectError

from .._abi.gi import pointer_of
from .._abi.gstreamer import (
    GST_BUFFER_COPY_ALL,
    GST_CLOCK_TIME_NONE,
    GST_MEMORY_FLAG_NO_SHARE,
    GstBuffer,
    GstMiniObject,
)
from .._abi.libraries import gst
from .._buffers.frame import GStreamerFrame
from .._memory.memory import is_kept_by_us
from .._metadata.analytics import copy_tensors
from .._metadata.meta import clock_time

__all__ = ["Outgoing", "has_other_time", "set_time", "to_be_changed"]

_ALL_BYTES = ctypes.c_size_t(-1).value


class Outgoing:
    """One reference to a GstBuffer*, which `push` or `given` hands on and dropping gives back."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    @classmethod
    def of(cls, frame: GStreamerFrame) -> Outgoing:
        """A reference to the buffer of a frame.

        If the frame's time was changed, the buffer gets it; if others hold the buffer, another one
        on the same memory does.

        Raises:
            UnsupportedObjectError: others hold it, and its memory cannot be in two buffers.
        """
        if not has_other_time(frame):
            return cls(gst.gst_mini_object_ref(frame.handle("gst_buffer")))
        buffer, other = to_be_changed(frame)
        set_time(buffer, frame)
        return cls(gst.gst_mini_object_ref(buffer)) if other is None else other

    def again(self) -> Outgoing:
        """One more reference."""
        return Outgoing(gst.gst_mini_object_ref(self.pointer))

    def given(self) -> int:
        """The GstBuffer*, with the reference, for a function that takes it over."""
        pointer, self.pointer = self.pointer, 0
        return pointer

    def push(self, pad: Any) -> int:
        """Hand it to the pad's peer, with no holder in Python; the number of a Gst.FlowReturn."""
        return int(gst.gst_pad_push(pointer_of(pad), self.given()))

    def __del__(self) -> None:
        if self.pointer:
            gst.gst_mini_object_unref(self.pointer)


def has_other_time(frame: GStreamerFrame) -> bool:
    """True if a frame has another time than its buffer."""
    head = GstBuffer.from_address(frame.handle("gst_buffer"))
    return bool(head.pts != clock_time(frame.meta))


def set_time(buffer: int, frame: GStreamerFrame) -> None:
    """Put the time of a frame onto a GstBuffer*. Another time for decoding would not go with it."""
    head, time = GstBuffer.from_address(buffer), clock_time(frame.meta)
    if head.pts != time:
        head.pts, head.dts = time, GST_CLOCK_TIME_NONE


def to_be_changed(frame: GStreamerFrame, *, metas: bool = False) -> tuple[int, Outgoing | None]:
    """A GstBuffer* of the frame's memory whose times can be changed.

    Args:
        metas: True if they are changed too, which GStreamer forbids while a sink holds the buffer.

    Returns:
        The frame's own, and None; or another one, since others hold that, and the reference to it.

    Raises:
        UnsupportedObjectError: others hold it, and its memory cannot be in two buffers.
    """
    buffer = frame.handle("gst_buffer")
    if gst.gst_mini_object_is_writable(buffer) or (not metas and is_kept_by_us(buffer)):
        return buffer, None
    for number in range(gst.gst_buffer_n_memory(buffer)):
        memory = gst.gst_buffer_peek_memory(buffer, number)
        if GstMiniObject.from_address(memory).flags & GST_MEMORY_FLAG_NO_SHARE:
            raise UnsupportedObjectError(
                "times, regions and results cannot be changed: others hold the buffer (a tee), and "
                "its memory cannot be in a second one; put the element before the tee"
            )
    other = Outgoing(gst.gst_buffer_copy_region(buffer, GST_BUFFER_COPY_ALL, 0, _ALL_BYTES))
    copy_tensors(buffer, other.pointer)
    return other.pointer, other
