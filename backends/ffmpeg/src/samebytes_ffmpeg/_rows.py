# SPDX-License-Identifier: Apache-2.0
"""The planes of an image as whole rows, padding included, for APIs that know no strides.

FFmpeg's own buffers have room for them; those of a given frame are checked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from ctypes import c_ubyte, c_void_p
from itertools import repeat
from typing import Any

import numpy as np
from av import VideoFrame
from numpy import ndarray

from samebytes import TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Refused

from ._avutil import FRAME_HEAD, AVFrame
from ._avutil_abi import AVBufferRef
from ._layouts import image_locations
from ._pyav import FRAME_POINTER
from ._reference import own_reference

__all__ = ["room_from", "whole_rows"]

_Rows = tuple[ndarray[Any, np.dtype[np.uint8]], TensorInfo]

_BYTE = np.dtype(np.uint8)
_ENOUGH = repeat(sys.maxsize)
_unpack = FRAME_HEAD.unpack
_head_at = (c_ubyte * FRAME_HEAD.size).from_address
_pointer_at = c_void_p.from_address
_BUFFERS = AVFrame.buf.offset
_pointers_at = (c_void_p * 4).from_address
_reference_at = AVBufferRef.from_address


def whole_rows(native: VideoFrame) -> tuple[_Rows, ...]:
    """The rows of each plane as bytes, and what lies in them.

    Args:
        native: a frame in memory of the CPU.

    Returns:
        (array, info) for each plane. The array is uint8 (rows, pitch), writable, and begins where
        the plane begins; `info` has the dtype, the shape in elements, and the byte strides, the
        first of which is the pitch. The arrays keep the bytes alive by their own reference
        to the frame's buffers. `FFmpegFrame.readonly` says whether they may be written.

    Raises:
        UnsupportedObjectError: `native` is not an av.VideoFrame.
        Refused: an image that is stored bottom up, or one whose last row, padding included,
            reaches past its buffer; or a frame without planes of elements.
    """
    if not isinstance(native, VideoFrame):
        raise UnsupportedObjectError(f"{native!r} is not an av.VideoFrame: only images have rows")
    address: Any = _pointer_at(id(native) + FRAME_POINTER).value
    (first, second, third, fourth, pitch0, pitch1, pitch2, pitch3, _, width, height,
     _, format_, buffer) = _unpack(_head_at(address))  # fmt: skip
    planes, padded = image_locations(format_, width, height, pitch0, pitch1, pitch2, pitch3)
    if not first or not buffer:
        raise Refused("the av frame has no reference-counted data")
    owner = own_reference(native, address, first)
    pointers = (first, second, third, fourth)
    # Without padding the rows end with the last pixel, which is in the buffer.
    room = room_from(address, pointers) if padded else _ENOUGH
    rows: list[_Rows] = []
    # There are four pointers, whatever the number of planes.
    for pointer, bytes_left, place in zip(pointers, room, planes):  # noqa: B905
        _, _, _, _, _, _, info, whole, memory_at, shape = place
        if not pointer:
            raise Refused(f"plane {len(rows)} of the av frame has no data")
        if shape[1] < 0 or bytes_left < whole:
            raise _refusal(len(rows), shape)
        memory = memory_at(pointer)
        memory.owner = owner
        rows.append((ndarray(shape, _BYTE, memory), info))
    return tuple(rows)


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
        # Planes without a buffer of their own lie in that of the plane before.
        if reference:
            held = _reference_at(reference)
            begin = held.data
            end = begin + held.size
        room.append(end - pointer if pointer >= begin else 0)
    return room


def _refusal(index: int, shape: tuple[int, int]) -> Refused:
    count, pitch = shape
    if pitch < 0:
        return Refused(f"plane {index} is stored bottom up (line size {pitch})")
    return Refused(
        f"plane {index} has {count} rows of {pitch} bytes, and its buffer ends "
        "before the padding of the last one does"
    )
