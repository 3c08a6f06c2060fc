# SPDX-License-Identifier: Apache-2.0
"""cpu -> gstreamer: buffers and memories on numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from samebytes import Access, AudioInfo, Frame, ImageInfo, MemoryMapper, Storage, Tensor, TensorInfo
from samebytes.errors import LayoutError
from samebytes.formats import PlaneLayout
from samebytes.plugins import Refused, data_address

from .._caps.channel_masks import channel_mask
from .._caps.formats import why_not
from .._memory.loans import new_loan, wrap_bytes
from .._memory.plane import GStreamerPlane
from .writing import buffer_of, check_picture, describe_buffer, memory_object

__all__ = ["CpuToBuffer", "CpuToMemory"]

_Array = np.ndarray[Any, np.dtype[Any]]


class CpuToMemory(MemoryMapper):
    """A Gst.Memory on an array, in a GStreamerPlane with the layout of the elements."""

    __slots__ = ()

    def connect(
        self, item: Tensor, access: Access
    ) -> tuple[GStreamerPlane, TensorInfo | None, Storage | None]:
        """The plane; the bytes are the array's, so there is nothing to give back."""
        info = item.info
        if info.overlaps:
            raise Refused("its elements overlap, so writing one would change others")
        low, high = info.extent
        if high == low:
            raise Refused("GStreamer does not support empty memory")
        address = data_address(item.native) + low
        with new_loan(item.native) as loan:
            memory = wrap_bytes(loan, address, high - low, readonly=access == "r")
        return GStreamerPlane(memory_object(memory), info, -low), None, None


class CpuToBuffer(MemoryMapper):
    """A Gst.Buffer whose memories are the planes of a cpu frame.

    Planes that follow each other without a gap share one memory, so that elements which map the
    whole buffer need not merge. Mapped for reading, memories are read-only: elements copy before
    they write.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, TensorInfo | None, Storage | None]:
        """The buffer; the bytes are the arrays', so there is nothing to give back."""
        arrays: Sequence[_Array] = item.native
        layouts = _layouts(item, arrays)
        pieces = [
            _Piece(data_address(array), layout.span)
            for array, layout in zip(arrays, layouts, strict=True)
        ]
        memories, offsets = _joined(pieces)
        with new_loan(arrays) as loan:
            buffer = buffer_of(
                [wrap_bytes(loan, *piece, readonly=access == "r") for piece in memories]
            )
        describe_buffer(buffer, item.meta, offsets, [layout.pitch for layout in layouts])
        return buffer, None, None


class _Piece(NamedTuple):
    """A stretch of memory."""

    address: int
    nbytes: int


def _layouts(item: Frame, arrays: Sequence[_Array]) -> tuple[PlaneLayout, ...]:
    """The planes in GStreamer's layout, if it can have them."""
    info = item.meta.info
    if (reason := why_not(info)) is not None:
        raise Refused(reason)
    try:
        if isinstance(info, ImageInfo):
            pitches = [_pitch(array) for array in arrays]
            check_picture(info, pitches)
            layouts = info.plane_layouts(pitches)
        else:
            assert isinstance(info, AudioInfo)
            channel_mask(info)
            layouts = info.plane_layouts()
    except LayoutError as error:
        raise Refused(str(error)) from error
    if len(layouts) != len(arrays):
        raise Refused(f"planes of {info}: {len(layouts)}, of the frame: {len(arrays)}")
    for array, layout in zip(arrays, layouts, strict=True):
        _check(array, layout)
    return layouts


def _pitch(array: _Array) -> int:
    if array.ndim < 2:
        raise Refused(f"a plane of a picture has rows, but the array has shape {array.shape}")
    dense = array.itemsize
    for extent in array.shape[1:]:
        dense *= extent
    return dense if array.shape[0] == 1 else array.strides[0]


def _check(array: _Array, layout: PlaneLayout) -> None:
    what = f"plane {layout.name}"
    if array.shape != layout.shape or array.dtype != np.dtype(layout.dtype):
        raise Refused(
            f"{what} is {array.dtype}{list(array.shape)}, not {layout.dtype}{list(layout.shape)}"
        )
    steps = zip(array.shape, array.strides, layout.strides, strict=True)
    if any(given != wanted for extent, given, wanted in steps if extent > 1):
        raise Refused(
            f"{what}: the elements of a row have gaps (strides {array.strides}), which GStreamer "
            "cannot express"
        )


def _joined(pieces: Sequence[_Piece]) -> tuple[list[_Piece], list[int]]:
    """Join pieces that follow each other; the stretches, and the offset of each piece in one."""
    stretches: list[_Piece] = []
    offsets = []
    total = 0
    for piece in pieces:
        last = stretches[-1] if stretches else None
        if last is not None and last.address + last.nbytes == piece.address:
            stretches[-1] = _Piece(last.address, last.nbytes + piece.nbytes)
        else:
            stretches.append(piece)
        offsets.append(total)
        total += piece.nbytes
    return stretches, offsets
