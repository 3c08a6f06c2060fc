# SPDX-License-Identifier: Apache-2.0
"""Find where the buffers of an AVFrame end: whether they hold whole rows with padding."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_void_p

from ._avutil import AVFrame
from ._avutil_abi import AVBufferRef

__all__ = ["room_from"]

_BUFFERS = AVFrame.buf.offset
_pointers_at = (c_void_p * 4).from_address
_reference_at = AVBufferRef.from_address


def room_from(address: int, pointers: Sequence[int]) -> list[int]:
    """For each plane, the bytes from its pointer to the end of its buffer; 0 if outside it.

    Args:
        address: an AVFrame*, with buffers that FFmpeg counts.
        pointers: data[] of it, at most four.
    """
    references = _pointers_at(address + _BUFFERS)
    begin = end = 0
    room = []
    for pointer, reference in zip(pointers, references, strict=False):
        # Planes without a buffer of their own lie in the one before.
        if reference:
            held = _reference_at(reference)
            begin = held.data
            end = begin + held.size
        room.append(end - pointer if pointer >= begin else 0)
    return room
