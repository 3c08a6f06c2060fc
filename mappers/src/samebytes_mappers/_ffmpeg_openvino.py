# SPDX-License-Identifier: Apache-2.0
"""ffmpeg -> openvino in one hop.

The way over CPU memory knows only arrays, which end with the last pixel. OpenVINO needs whole
rows to cut the picture out of, so that padded frames cannot go that way; this edge asks FFmpeg's
buffers for them. It is faster as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import openvino
from av import VideoFrame

from samebytes import Frame, TensorInfo
from samebytes.plugins import Access, MemoryMapper, Refused, Storage
from samebytes_ffmpeg import whole_rows
from samebytes_openvino import PinnedTensor

__all__ = ["FFmpegToOpenVINO"]


class FFmpegToOpenVINO(MemoryMapper):
    """Each plane of an av.VideoFrame as a tensor [1, rows, columns, channels].

    The tensors hold their own AVFrame on the frame's buffers. Padded rows become a region
    of a tensor that has the padding too. Refused are images stored bottom up, and rows that are
    not a whole number of pixels long.
    """

    __slots__ = ()

    def connect(self, item: Frame, access: Access) -> tuple[Any, None, Storage | None]:
        """A tuple of tensors, one over each plane."""
        if not isinstance(item.native, VideoFrame):
            raise Refused("it takes images only: sound goes through CPU memory")
        readonly = access == "r"
        tensors = []
        for rows, info in whole_rows(item.native):
            full, element, begin, end = _layout(info)
            tensor = PinnedTensor(rows, full, element)
            if end is not None:
                whole, tensor = tensor, PinnedTensor(tensor, begin, end)
                tensor.pin = whole
            tensor.readonly = readonly
            tensors.append(tensor)
        return tuple(tensors), None, None


@lru_cache(maxsize=1024)
def _layout(info: TensorInfo) -> tuple[Any, Any, Any, Any]:
    """(shape with padding, element type, first corner, last corner or None without padding)."""
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
