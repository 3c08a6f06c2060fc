# SPDX-License-Identifier: Apache-2.0
"""Our own references to FFmpeg's frames, and who else holds one.

A frame can move: make_writable() puts other buffers under it and gives the old ones back.
What a mapping hands out must survive that, so it holds its own AVFrame on the buffers that
it was made from. But FFmpeg counts that reference like any other, and calls a frame shared that
has two; so ours are counted, to know whether anybody else shares the frame.
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any

from samebytes.plugins import OwnedPointer

from ._avutil import PYAV
from ._avutil_abi import AV_BUFFER_FLAG_READONLY, AVBuffer, AVBufferRef
from ._owned import made
from ._pyav import FRAME_POINTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._libavutil import Libavutil

__all__ = [
    "ADVICE",
    "OwnReference",
    "cloning",
    "is_writable",
    "own_reference",
    "references_held",
    "shared_at",
    "writable_at",
]

ADVICE = (
    "the decoder, or another frame, still refers to these bytes. Ask again when it has released "
    "them, or call make_writable(copy=True) on the frame, which copies. What map() "
    'returned with access "r" stays read-only: map the frame itself again'
)
"""For frames and planes that are read-only because of somebody else's reference."""

# AVFrame*, and what distinguishes its buffers before make_writable() from those after: data[0], or
# the number of a surface.
_Key = tuple[int, int]


class _Counted:
    """One reference of ours."""

    __slots__ = ("__weakref__",)


# Our references, by the frame that they were made from. Each leaves by the callback of a weak
# reference, which is C: an exception of a signal handler cannot prevent it. A reference keeps the
# frame's Python object, so the address is not used again while there is one. Empty lists are
# removed when there are many.
_own: dict[_Key, list[weakref.ref[_Counted]]] = {}
_most = 64


class _OfFrame(OwnedPointer):
    """A pointer that keeps the frame. This slot is emptied after those of the derived class."""

    __slots__ = ("native",)

    native: Any
    """The frame's Python object."""


class OwnReference(_OfFrame):
    """An AVFrame* with references to the buffers of a frame. Dropping it gives them back.

    It is given back first, then uncounted, and then it drops the frame. Between the first two, a
    frame that one other shares would seem to be nobody else's, but no other thread runs there. If
    the frame is dropped with it, PyAV lets other threads run, which may get an AVFrame at the same
    address, over the same buffer of a pool: by then it must be uncounted.
    """

    __slots__ = ("counted",)

    counted: _Counted
    """Counts this reference for as long as it lives."""


def cloning(library: Libavutil) -> Callable[[int], OwnReference]:
    """The av_frame_clone of a library; its results are freed by the same library."""
    made = OwnReference.freed_by(library.function("av_frame_free"), "FrameReference")
    clone: Callable[[int], OwnReference] = library.quick("av_frame_clone", made, c_void_p)
    return clone


_pointer_at = c_void_p.from_address
_clone = cloning(PYAV)


def own_reference(
    native: Any, address: int, data: int, clone: Callable[[int], OwnReference] = _clone
) -> OwnReference:
    """A reference to the buffers that `native` has now.

    Args:
        native: an av frame with reference-counted buffers, or another owner of the AVFrame.
        address: its AVFrame*.
        data: its data[0], or whatever else identifies its buffers.
        clone: from `cloning`, of the library that made the frame.
    """
    reference = clone(address)
    if not reference:
        made(reference, "av_frame_clone")  # says that it is NULL
    reference.native = native
    key = (address, data)
    reference.counted = _Counted()
    while True:
        ours = _own.setdefault(key, [])
        ours.append(weakref.ref(reference.counted, ours.remove))
        if _own.get(key) is ours:  # else another thread has removed it, while it was empty
            break
    if len(_own) > _most:
        _remove_empty()
    return reference


def _remove_empty() -> None:
    global _most  # noqa: PLW0603 - grows with what is alive
    for key in list(_own):
        try:
            # No call comes between the two, and so no other thread and no signal handler.
            if not _own[key]:
                del _own[key]
        except KeyError:
            pass
    _most = 2 * len(_own) + 64


def _count(key: _Key) -> int:
    """Return the number of our references with this key."""
    return len(_own.get(key, ()))


def references_held() -> int:
    """Return the number of our references that are alive, for tests and for finding leaks."""
    return sum(_count(key) for key in list(_own))


def is_writable(native: Any) -> bool:
    """True if nobody but this av frame, and mappings of it, would notice a write."""
    address: Any = _pointer_at(id(native) + FRAME_POINTER).value
    if PYAV.frame_is_writable(address):
        return True
    frame = PYAV.AVFrame.from_address(address)
    if not frame.buf[0]:
        # Memory of an av frame's own, which FFmpeg does not count.
        return bool(frame.data[0])
    return _is_ours(PYAV, frame, address, frame.data[0])


def writable_at(library: Libavutil, address: int, data: int) -> bool:
    """True if all other references to an AVFrame's buffers are ours, and no buffer is read-only.

    Args:
        library, address: the libavutil that the AVFrame* belongs to, and the pointer.
        data: as in `own_reference`.
    """
    if library.frame_is_writable(address):
        return True
    return _is_ours(library, library.AVFrame.from_address(address), address, data)


def _is_ours(library: Libavutil, frame: Any, address: int, data: int) -> bool:
    """True as for `writable_at`, once FFmpeg has found other references."""
    ours = _count((address, data))
    if ours <= 0:
        return False
    uses = library.buffer_get_ref_count
    for reference in _buffers(frame):
        if uses(reference) != ours + 1:
            return False
        buffer = AVBuffer.from_address(AVBufferRef.from_address(reference).buffer)
        if buffer.flags & AV_BUFFER_FLAG_READONLY:
            return False
    return True


def shared_at(library: Libavutil, address: int, data: int) -> bool:
    """True if somebody else has a reference to a buffer of an AVFrame; see `writable_at`."""
    ours = _count((address, data))
    return any(
        library.buffer_get_ref_count(reference) != ours + 1
        for reference in _buffers(library.AVFrame.from_address(address))
    )


def _buffers(frame: Any) -> list[int]:
    """Every AVBufferRef* of a frame."""
    found: list[int] = list(filter(None, frame.buf[:]))
    count = frame.nb_extended_buf
    if count:
        found += (ctypes.c_void_p * count).from_address(frame.extended_buf)
    return found
