# SPDX-License-Identifier: Apache-2.0
"""Frames over memory that was lent to FFmpeg, and how close() finds out who else holds it.

close() drops every reference of ours and looks whether the memory lives on. If it does, somebody
else holds the frame, or FFmpeg itself its buffers. In the first case the frame is found again
through a weak reference, which av's own frames do not take; in the second, it is made again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from av import AudioFrame, VideoFrame

from samebytes.errors import ClosedError

__all__ = ["Lent", "LentAudioFrame", "LentVideoFrame", "is_lent", "recall"]


class Lent:
    """What FFmpeg's buffers hold: it lives until FFmpeg has let go of all of them.

    Attributes:
        held: what keeps the memory alive, and with what the frame can be made again.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self, held: Any) -> None:
        self.held = held


class LentVideoFrame(VideoFrame):
    """An av.VideoFrame over lent memory.

    Attributes:
        lent: refers weakly to what FFmpeg's buffers hold.
    """

    __slots__ = ("__weakref__", "lent")

    lent: weakref.ref[Lent]


class LentAudioFrame(AudioFrame):
    """An av.AudioFrame over lent memory. See LentVideoFrame."""

    __slots__ = ("__weakref__", "lent")

    lent: weakref.ref[Lent]


class _Lost:
    """Stands in for a frame whose memory is held by neither a frame nor FFmpeg."""

    def __getattr__(self, name: str) -> Any:
        raise ClosedError("this frame was given back by a close() that failed: map it again")


def is_lent(native: Any) -> bool:
    """Whether the frame is over lent memory."""
    return getattr(native, "lent", None) is not None


def recall(native: Any, again: Callable[[Lent], Any]) -> Callable[[], Any]:
    """What gives the frame after close() was refused, and does not hold lent memory until then.

    Args:
        native: the frame.
        again: makes a frame over the same memory.
    """
    if not is_lent(native):
        return lambda: native
    frame_alive, lent_alive = weakref.ref(native), native.lent

    def recalled() -> Any:
        frame = frame_alive()
        if frame is not None:
            return frame
        lent = lent_alive()
        return _Lost() if lent is None else again(lent)

    return recalled
