# SPDX-License-Identifier: Apache-2.0
"""The planes of a frame: where allocated ones begin, and how they are reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.formats import known_formats


@pytest.mark.parametrize("format_", [f.name for f in known_formats()])
@pytest.mark.parametrize("size", [(854, 480), (37, 23)])
def test_allocated_planes_begin_where_devices_take_them(
    format_: str, size: tuple[int, int]
) -> None:
    frame = sb.context("cpu").allocate_frame(format_, *size)
    addresses = [plane.native.__array_interface__["data"][0] for plane in frame]
    assert [address % 128 for address in addresses] == [0] * len(frame)
    assert addresses[0] % 4096 == 0
    ends = [a + plane.info.nbytes for a, plane in zip(addresses, frame, strict=True)]
    assert all(end <= begin for end, begin in zip(ends, addresses[1:], strict=False))
    storage = frame.storage
    assert ends[-1] <= storage.address + storage.nbytes


def test_planes_by_number() -> None:
    frame = sb.context("cpu").allocate_frame("I420", 8, 4)
    y, u, v = frame
    assert (frame[0], frame[1], frame[2], frame[-1]) == (y, u, v, v)
    assert frame[np.int64(1)] is u
    for number in (3, -4):
        with pytest.raises(IndexError, match=f"plane {number} of 3"):
            frame[number]


@pytest.mark.parametrize("key", [slice(0, 2), "y", 0.0, None, (0, 1)])
def test_frames_are_indexed_by_numbers(key: Any) -> None:
    frame = sb.context("cpu").allocate_frame("I420", 8, 4)
    with pytest.raises(TypeError, match=r"number of a plane.*frame\.planes"):
        frame[key]


def test_a_frame_of_tensors_says_so() -> None:
    tensor = sb.tensor(np.zeros(4, np.float32))
    frame = sb.Frame.borrowed((tensor.native,), tensor.context, sb.FrameMeta(None))
    assert repr(frame) == "<Frame of tensors in cpu>"
    picture = sb.context("cpu").allocate_frame("I420", 8, 4)
    assert repr(picture) == f"<{type(picture).__name__} I420 8x4 in cpu>"
