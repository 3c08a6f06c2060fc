# SPDX-License-Identifier: Apache-2.0
"""How close() finds out whether lent memory is still in use, and makes a frame over it again.

close() drops every reference of ours and looks whether the memory lives on. av frames take no
weak references, so a frame over lent memory is not kept meanwhile but made again, over what
FFmpeg's buffers still hold: because somebody has the frame, or a codec its buffers.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._avutil import PYAV
from ._lending import lent_in, sweep
from ._pyav import frame_address

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame

    from ._libavutil import Libavutil

__all__ = ["Lent", "is_lent", "is_lent_at", "recall"]


class Lent:
    """What FFmpeg's buffers hold: it lives until FFmpeg has let go of all of them.

    Attributes:
        held: what keeps the memory alive, and with what the frame can be made again.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self, held: Any) -> None:
        self.held = held


def is_lent(native: VideoFrame | AudioFrame) -> bool:
    """Whether an av frame is over lent memory."""
    return is_lent_at(PYAV, frame_address(native))


def is_lent_at(library: Libavutil, address: int) -> bool:
    """The same for an AVFrame*."""
    return _lent_at(library, address) is not None


def recall(
    native: Any, library: Libavutil, address: int, again: Callable[[Lent], Any]
) -> Callable[[], Any]:
    """What gives the frame after close() was refused, and does not hold lent memory until then.

    It gives None where a frame can no longer be made: only a storage of the memory is still held.

    Args:
        native: the frame.
        library, address: whose AVFrame* it is, and the pointer.
        again: makes a frame over the same memory.
    """
    lent = _lent_at(library, address)
    if lent is None:
        return lambda: native
    alive = weakref.ref(lent)

    def recalled() -> Any:
        sweep()
        found = alive()
        return None if found is None else again(found)

    return recalled


def _lent_at(library: Libavutil, address: int) -> Lent | None:
    reference = library.AVFrame.from_address(address).buf[0]
    found = lent_in(library, reference) if reference else None
    return found if isinstance(found, Lent) else None
