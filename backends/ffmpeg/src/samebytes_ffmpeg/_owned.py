# SPDX-License-Identifier: Apache-2.0
"""Calls of libavutil whose results own what they return, and release it."""

from __future__ import annotations

from ctypes import c_int, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, TypeVar

from samebytes.errors import NativeError
from samebytes.plugins import OwnedPointer, untrack

from ._avutil_abi import AVBufferRef

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OwningCalls", "acquired", "buffer_data", "made"]

_P = TypeVar("_P")


class OwningCalls:
    """Calls that return an OwnedPointer: dropping it gives back what it points to.

    Args:
        quick, function: as for the Libavutil whose calls they are.

    Attributes:
        BufferPointer: an AVBufferRef*, for calls that store one through a pointer.
    """

    def __init__(self, quick: Callable[..., Any], function: Callable[[str], Any]) -> None:
        pointer = c_void_p
        buffer = OwnedPointer.freed_by(function("av_buffer_unref"), "AVBufferReference")
        frame = OwnedPointer.freed_by(function("av_frame_free"), "AVFramePointer")
        self.BufferPointer = buffer
        self.buffer_create = quick(
            "av_buffer_create", buffer, pointer, c_size_t, pointer, pointer, c_int
        )
        self.buffer_ref = quick("av_buffer_ref", buffer, pointer)
        self.frame_alloc = quick("av_frame_alloc", frame)
        self.frame_clone = quick("av_frame_clone", frame, pointer)
        self.hwdevice_ctx_alloc = quick("av_hwdevice_ctx_alloc", buffer, c_int)
        self.hwframe_ctx_alloc = quick("av_hwframe_ctx_alloc", buffer, pointer)

    def reference(self, pointer: int) -> OwnedPointer:
        """Our own reference to what an AVBufferRef* of somebody else refers to."""
        made_here: OwnedPointer = self.buffer_ref(pointer)
        return acquired(made_here, "av_buffer_ref")


def acquired(pointer: OwnedPointer, call: str) -> OwnedPointer:
    """Return the pointer that a call returned; its users can release it last, even in a cycle.

    Raises:
        NativeError: it is NULL.
    """
    untrack(pointer)
    return made(pointer, call)


def made(pointer: _P, call: str) -> _P:
    """Return the pointer that a call returned, after a check.

    Raises:
        NativeError: it is NULL.
    """
    if not pointer:
        raise NativeError(call, 0, "out of memory")
    return pointer


def buffer_data(pointer: int) -> int:
    """Return the address of the data of an AVBufferRef*; 0 if it has none."""
    return int(AVBufferRef.from_address(pointer).data or 0)
