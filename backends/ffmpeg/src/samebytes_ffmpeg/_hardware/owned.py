# SPDX-License-Identifier: Apache-2.0
"""Owned: a native pointer that is ours, and given back by a call of the library that made it."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from samebytes.errors import NativeError

from .._avutil_abi import AVBufferRef

if TYPE_CHECKING:
    from .._libavutil import Libavutil

__all__ = ["Owned", "buffer_data", "buffer_reference"]


class Owned(c_void_p):
    """A pointer with an owner. Dropping it calls `free` with the address of the pointer.

    Args:
        pointer: what a call returned.
        free: av_frame_free, av_buffer_unref or the like.
        call: the name of the call that returned it.

    Raises:
        NativeError: the pointer is NULL.
    """

    __slots__ = ("_free",)

    _free: Callable[[Any], object]

    def __init__(self, pointer: int | None, free: Callable[[Any], object], call: str) -> None:
        super().__init__(pointer)
        self._free = free
        if not pointer:
            raise NativeError(call, 0, "out of memory")

    @property
    def address(self) -> int:
        """The pointer as an int."""
        return self.value or 0

    def __del__(self, byref: Any = byref) -> None:
        if self.value:
            self._free(byref(self))


def buffer_reference(library: Libavutil, pointer: int) -> Owned:
    """A reference of our own to what an AVBufferRef* of somebody else refers to."""
    return Owned(library.buffer_ref(pointer), library.buffer_unref, "av_buffer_ref")


def buffer_data(pointer: int) -> int:
    """What an AVBufferRef* refers to."""
    return int(AVBufferRef.from_address(pointer).data or 0)
