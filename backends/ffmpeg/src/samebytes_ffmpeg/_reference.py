# SPDX-License-Identifier: Apache-2.0
"""Our own references to FFmpeg's frames, and who else holds one.

A frame can move: make_writable() puts other buffers under it and gives the old ones back.
What a mapping hands out must survive that, so it holds an AVFrame of its own on the buffers that
it was made from. FFmpeg counts such a reference like any other, though, and calls a frame that
has two of them shared; so ours are counted, to know whether anyone else shares it.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from samebytes.errors import NativeError

from ._avutil import PYAV
from ._avutil_abi import AV_BUFFER_FLAG_READONLY, AVBuffer, AVBufferRef
from ._pyav import FRAME_POINTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._libavutil import Libavutil

__all__ = [
    "OwnReference",
    "cloning",
    "is_writable",
    "own_reference",
    "references_held",
    "shared_at",
    "writable_at",
]

# (AVFrame*, what it holds) -> one entry for each living reference of ours that was made from it.
# A reference keeps the frame's Python object, so the address is not used again while it is a key;
# data[0] (or the number of a surface) tells the buffers before make_writable() from those after.
# list.append and list.pop need no lock, which a finalizer that runs inside of anything could not
# take.
_Key = tuple[int, int]
_own: dict[_Key, list[None]] = {}


class OwnReference(c_void_p):
    """An AVFrame* with references to the buffers of a frame. Dropping it gives them back."""

    __slots__ = ("held",)

    held: tuple[Any, _Key, list[None]]
    """The frame's Python object, the key of `_own`, and what the key stands for."""


def cloning(library: Libavutil) -> Callable[[int], OwnReference]:
    """av_frame_clone of a library, which gives references that it frees itself."""

    class Reference(OwnReference):
        __slots__ = ()

        def __del__(
            self, free: Any = library.frame_free, byref: Any = byref, own: Any = _own
        ) -> None:
            # Arguments, since a module's globals may be gone when the interpreter ends. Uncounted
            # before it is given back: in between, the frame seems shared, which does no harm.
            _, key, peers = self.held
            peers.pop()
            if not peers and own.get(key) is peers:
                own.pop(key, None)
            free(byref(self))

    # A subclass of a simple type is not turned into an int.
    clone: Callable[[int], OwnReference] = library.quick("av_frame_clone", Reference, c_void_p)
    return clone


_pointer_at = c_void_p.from_address
_clone = cloning(PYAV)


def own_reference(
    native: Any, address: int, data: int, clone: Callable[[int], OwnReference] = _clone
) -> OwnReference:
    """A reference to the buffers that `native` has now.

    Args:
        native: an av frame with reference-counted buffers, or what else owns the AVFrame.
        address: its AVFrame*.
        data: its data[0], or what else tells its buffers from others.
        clone: from `cloning`, of the library that made the frame.
    """
    reference = clone(address)
    key = (address, data)
    peers = _own.get(key)
    if peers is None:
        peers = _own.setdefault(key, [])
    reference.held = (native, key, peers)
    peers.append(None)
    if not reference:
        raise NativeError("av_frame_clone", 0, "out of memory")
    return reference


def references_held() -> int:
    """How many references of ours are alive, for tests and for finding leaks."""
    return sum(len(peers) for peers in _own.values())


def is_writable(native: Any) -> bool:
    """Whether nobody but this av frame, and mappings of it, would notice a write."""
    address: Any = _pointer_at(id(native) + FRAME_POINTER).value
    if PYAV.frame_is_writable(address):
        return True
    frame = PYAV.AVFrame.from_address(address)
    if not frame.buf[0]:
        # Memory of an av frame's own, which FFmpeg does not count.
        return bool(frame.data[0])
    return writable_at(PYAV, address, frame.data[0])


def writable_at(library: Libavutil, address: int, data: int) -> bool:
    """Whether all other references to the buffers of an AVFrame are ours.

    Args:
        library, address: whose AVFrame* it is, and the pointer.
        data: as in `own_reference`.
    """
    if library.frame_is_writable(address):
        return True
    return (
        (address, data) in _own
        and not shared_at(library, address, data)
        and not any(
            AVBuffer.from_address(AVBufferRef.from_address(reference).buffer).flags
            & AV_BUFFER_FLAG_READONLY
            for reference in _buffers(library.AVFrame.from_address(address))
        )
    )


def shared_at(library: Libavutil, address: int, data: int) -> bool:
    """Whether somebody else has a reference to the buffers of an AVFrame; see `writable_at`."""
    ours = len(_own.get((address, data), ()))
    return any(
        library.buffer_get_ref_count(reference) != ours + 1
        for reference in _buffers(library.AVFrame.from_address(address))
    )


def _buffers(frame: Any) -> list[int]:
    """Every AVBufferRef* of a frame."""
    found = [reference for reference in frame.buf if reference]
    count = frame.nb_extended_buf
    if count:
        found += (ctypes.c_void_p * count).from_address(frame.extended_buf)
    return found
