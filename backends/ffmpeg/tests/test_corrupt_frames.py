# SPDX-License-Identifier: Apache-2.0
"""AVFrames whose fields make no sense by themselves: refused, or read within their buffers.

Where a plane reaches to is FFmpeg's word: a pointer to other memory, or more rows than there are,
cannot be seen without a look at each buffer for each frame. `whole_rows` takes that look.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import av
import numpy as np
import pytest

import samebytes
from samebytes.errors import SamebytesError
from samebytes.plugins import data_address

_UNKNOWN = 2**31 - 1
_CORRUPT: list[tuple[str, int | None, int]] = [
    ("linesize", 0, 0), ("linesize", 1, 1), ("linesize", 2, -1),
    ("data", 0, 0), ("data", 1, 0), ("data", 2, 0),
    ("width", None, 0), ("width", None, -1), ("width", None, _UNKNOWN), ("width", None, 66),
    ("height", None, 0), ("height", None, -2), ("height", None, 40),
    ("format", None, -1), ("format", None, _UNKNOWN), ("format", None, 2),
    ("buf", 0, 0), ("extended_data", None, 0),
    ("crop_left", None, 2**63), ("crop_top", None, 48), ("crop_right", None, 64),
]  # fmt: skip


def _is_in(array: Any, ranges: list[tuple[int, int]]) -> bool:
    start, end = data_address(array), data_address(array)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        start, end = start + min(reach, 0), end + max(reach, 0)
    return not array.size or any(low <= start and end < high for low, high in ranges)


@pytest.mark.parametrize(("field", "index", "value"), _CORRUPT)
def test_a_field_that_makes_no_sense(
    field: str,
    index: int | None,
    value: int,
    av_frame: Callable[[Any], Any],
    buffers: Callable[[Any], list[Any]],
) -> None:
    native = av.VideoFrame(64, 48, "yuv420p")
    for plane in native.planes:
        np.frombuffer(memoryview(plane), np.uint8)[:] = 7
    frame = av_frame(native)
    ranges = [(ref.data, ref.data + ref.size) for ref in buffers(frame)]
    raw = ctypes.string_at(ctypes.addressof(frame), ctypes.sizeof(frame))
    try:
        if index is None:
            setattr(frame, field, value)
        else:
            getattr(frame, field)[index] = value
        try:
            arrays = samebytes.frame(native).map("cpu").native
        except SamebytesError as error:
            assert str(error)  # noqa: PT017 - one of the two ways in which this may end
            return
        outside = [number for number, a in enumerate(arrays) if not _is_in(a, ranges)]
        shapes = [(array.shape, array.strides) for array in arrays]
        del arrays  # a report of pytest would read them
        assert not outside, f"planes {outside} of {shapes} are outside of their buffers"
    finally:
        ctypes.memmove(ctypes.addressof(frame), raw, len(raw))
    assert [np.unique(a).tolist() for a in samebytes.frame(native).map("cpu").native] == [[7]] * 3
