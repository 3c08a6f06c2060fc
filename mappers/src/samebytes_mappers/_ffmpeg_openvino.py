# SPDX-License-Identifier: Apache-2.0
"""ffmpeg -> openvino in one hop.

The way over CPU memory only knows arrays, which end with the last pixel. OpenVINO needs whole rows
to cut the picture out of, so padded frames cannot go that way; this edge takes the whole rows from
FFmpeg's buffers. It is faster as well.
"""

from __future__ import annotations

from typing import Any

import openvino

from samebytes import Access, Frame, MemoryMapper, Storage, TensorInfo
from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Refused
from samebytes_ffmpeg import whole_rows
from samebytes_openvino import PinnedTensor, ReadOnlyTensor

__all__ = ["FFmpegToOpenVINO"]


class FFmpegToOpenVINO(MemoryMapper):
    """Each plane of an av.VideoFrame as a tensor [1, rows, columns, channels].

    The tensors hold their own AVFrame on the frame's buffers. Padded rows become a region of a
    tensor that has the padding too. Images stored bottom up are refused, and so are rows whose
    length is not a whole number of pixels.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of tensors, one over each plane."""
        kind = ReadOnlyTensor if access == "r" else PinnedTensor
        try:
            planes = whole_rows(item.native)
        except UnsupportedObjectError:
            raise Refused("it takes images only: sound goes through CPU memory") from None
        tensors = []
        for rows, info in planes:
            try:
                _, full, element, begin, end = _layouts[id(info)]
            except KeyError:
                _, full, element, begin, end = _remember(info)
            if end is None:
                tensor = kind(rows, full, element)
            else:
                whole = openvino.Tensor(rows, full, element)
                tensor = kind(whole, begin, end)
                tensor.pin = whole
            tensors.append(tensor)
        return tuple(tensors), None, None


# (info, shape with padding, element type, first corner, last corner or None without padding), by
# the id of the info, of which FFmpeg's backend has one for each layout: to hash its contents takes
# a tenth of the whole mapping. An entry keeps its info, so that the id is no other's.
_layouts: dict[int, tuple[Any, ...]] = {}
_MOST_LAYOUTS = 1024


def _remember(info: TensorInfo) -> tuple[Any, ...]:
    layout = info, *_layout(info)
    if len(_layouts) >= _MOST_LAYOUTS:
        _layouts.clear()
    _layouts[id(info)] = layout
    return layout


def _layout(info: TensorInfo) -> tuple[Any, Any, Any, Any]:
    assert info.strides is not None
    rows, columns, *rest = info.shape
    channels = rest[0] if rest else 1
    pitch, pixel = info.strides[0], channels * info.nbytes // info.size
    if pitch % pixel:
        raise Refused(
            f"its rows are {pitch} bytes apart, which is not a whole number of the {pixel}-byte "
            "pixels; OpenVINO can only skip whole ones"
        )
    full = openvino.Shape([1, rows, pitch // pixel, channels])
    element = openvino.Type(info.dtype.numpy)
    if pitch == columns * pixel:
        return full, element, None, None
    begin, end = openvino.Coordinate([0] * 4), openvino.Coordinate([1, rows, columns, channels])
    return full, element, begin, end
