# SPDX-License-Identifier: Apache-2.0
"""ffmpeg -> cpu: numpy arrays on the planes of a software frame."""

from __future__ import annotations

from ctypes import c_ubyte, c_void_p
from itertools import repeat
from typing import Any

import numpy as np
from av import AudioFrame
from numpy import ndarray

from samebytes import Access, Frame, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.plugins import Refused

from ._avutil import FRAME_HEAD, AVFrame
from ._layouts import PlaneLocation, audio_locations, image_locations
from ._pyav import FRAME_POINTER, channel_count, frame_address, frame_of_plane, plane_index
from ._reference import own_reference
from ._rows import room_from

__all__ = ["FrameToCpu", "PlaneToCpu", "arrays_on", "places_on"]

_Arrays = tuple[ndarray[Any, np.dtype[Any]], ...]

_unpack = FRAME_HEAD.unpack
_head_at = (c_ubyte * FRAME_HEAD.size).from_address
_pointer_at = c_void_p.from_address
_NO_ROOM = repeat(0)


def arrays_on(native: Any, write: bool) -> _Arrays:
    """One array for each plane of an av frame. They keep the bytes alive, wherever it moves.

    Raises:
        Refused: the frame has no planes of elements; the message says why.
    """
    # It runs for every frame, so it is in one piece, with bound methods.
    address: Any = _pointer_at(id(native) + FRAME_POINTER).value
    (first, second, third, fourth, pitch0, pitch1, pitch2, pitch3, extended, width, height,
     samples, format_, buffer) = _unpack(_head_at(address))  # fmt: skip
    if isinstance(native, AudioFrame):
        locations, padded = audio_locations(format_, channel_count(native.layout), samples)
        pointers: Any = (c_void_p * len(locations)).from_address(extended)
    else:
        locations, padded = image_locations(format_, width, height, pitch0, pitch1, pitch2, pitch3)
        pointers = (first, second, third, fourth)
    if not first:
        raise Refused("the av frame has no data")
    # An av.AudioFrame may own memory that FFmpeg does not count; it stays until the frame goes.
    owner = own_reference(native, address, first) if buffer else native
    # A mapper of the array may need whole rows: the memory has them if the buffer does.
    room = room_from(address, pointers) if padded and buffer else _NO_ROOM
    arrays = []
    # There are four pointers, whatever the number of planes.
    for pointer, bytes_left, place in zip(pointers, room, locations):  # noqa: B905
        if not pointer:
            raise Refused("a plane of the av frame has no data")
        memory_at, low, shape, dtype, offset, strides, _, whole, whole_at, _ = place
        memory = whole_at(pointer) if 0 < whole <= bytes_left else memory_at(pointer + low)
        memory.owner = owner
        array = ndarray(shape, dtype, memory, offset, strides)
        if not write:
            array.setflags(False)  # type: ignore[call-arg]  # a third of the cost by place
        arrays.append(array)
    return tuple(arrays)


def places_on(native: Any) -> tuple[PlaneLocation, ...]:
    """Return the places of an av frame's planes.

    Raises:
        Refused: as `arrays_on`.
    """
    frame = AVFrame.from_address(frame_address(native))
    if isinstance(native, AudioFrame):
        return audio_locations(frame.format, channel_count(native.layout), frame.nb_samples).planes
    return image_locations(frame.format, frame.width, frame.height, *frame.linesize[:4]).planes


class FrameToCpu(MemoryMapper):
    """All planes of an av frame. One reference to its buffers for the whole frame."""

    __slots__ = ()

    def connect(
        self, item: Frame, access: Access
    ) -> tuple[_Arrays, TensorInfo | None, Storage | None]:
        """The arrays; there is nothing to give back but the reference that they hold."""
        return arrays_on(item.native, access != "r"), None, None


class PlaneToCpu(MemoryMapper):
    """One plane of an av frame."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[ndarray[Any, np.dtype[Any]], TensorInfo | None, Storage | None]:
        """The array of that plane."""
        plane = item.native
        array = arrays_on(frame_of_plane(plane), access != "r")[plane_index(plane)]
        return array, None, None
