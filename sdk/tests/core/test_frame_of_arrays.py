# SPDX-License-Identifier: Apache-2.0
"""Frames over the user's arrays: how the size is found, and what is refused."""

from __future__ import annotations

from array import array
from collections import UserList, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import LayoutError, UnsupportedObjectError

Array = np.ndarray[Any, Any]
STEREO = sb.AudioInfo(6, 2, 48000, "int16")


def zeros(*shape: int, dtype: str = "uint8") -> Array:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("native", "name", "size"),
    [
        (zeros(6, 4), "NV12", (4, 4)),
        (zeros(6, 4, dtype="uint16"), "P010", (4, 4)),
        (zeros(6, 8), "P010", (4, 4)),  # raw bytes
        (zeros(12, 4), "I444", (4, 4)),
        (zeros(3, 5, 4), "RGBP", (4, 5)),
        (zeros(3, 5, 8), "RGBP16", (4, 5)),
        ([zeros(5, 4)], "GRAY8", (4, 5)),
        ([zeros(4, 4), zeros(2, 2, 2)], "NV12", (4, 4)),
    ],
)
def test_the_size_is_that_of_the_arrays(native: Any, name: str, size: tuple[int, int]) -> None:
    frame = sb.frame(native, format=name)
    assert (frame.width, frame.height) == size
    whole = native if isinstance(native, np.ndarray) else native[-1]
    whole.reshape(-1)[-1] = 7
    assert frame.planes[-1].native.reshape(-1).view(whole.dtype)[-1] == 7


@pytest.mark.parametrize(
    "native", [bytearray(24), memoryview(bytearray(24)), array("B", bytes(24))], ids=type
)
def test_one_buffer_is_not_a_list_of_planes(native: Any) -> None:
    assert str(sb.frame(native, format="NV12", width=4, height=4).image) == "NV12 4x4"


def test_a_released_memoryview_is_not_a_list_of_planes() -> None:
    view = memoryview(bytearray(24))
    view.release()
    with pytest.raises(LayoutError, match="does not export its buffer"):
        sb.frame(view, format="NV12", width=4, height=4)


@pytest.mark.parametrize("sequence", [list, tuple, deque, UserList])
def test_planes_come_in_any_sequence(sequence: Callable[[list[Array]], Any]) -> None:
    frame = sb.frame(sequence([zeros(4, 4), zeros(2, 2, 2)]), format="NV12")
    assert str(frame.image) == "NV12 4x4"


@pytest.mark.parametrize(
    ("native", "name", "why"),
    [
        (zeros(6, 4, 1), "NV12", "does not determine the size"),
        (zeros(3, 4, 4), "I420", "does not determine the size"),
        (zeros(24), "NV12", "does not determine the size"),
        (zeros(6, 4, dtype="float32"), "NV12", "uint8 elements, but the array has float32"),
        (zeros(6, 4, dtype="int8"), "NV12", "uint8 elements, but the array has int8"),
        (zeros(4, 5), "NV12", "has 27 bytes, the array has 20"),
        (zeros(0, 4), "NV12", "the array has 0"),
        (zeros(6, 8)[:, :4], "NV12", "must have no gaps"),
        (zeros(4, 4, 4), "BGR", "is uint8"),
        (zeros(12), "GRAY8", "rows and columns"),
        ([], "NV12", "got 0 arrays"),
        ([zeros(4, 4), zeros(2, 2)], "NV12", r"plane 1 \(uv\)"),
        ([np.broadcast_to(zeros(4), (4, 4)), zeros(2, 2, 2)], "NV12", "overlap"),
    ],
)
def test_arrays_that_do_not_fit(native: Any, name: str, why: str) -> None:
    with pytest.raises(LayoutError, match=why):
        sb.frame(native, format=name)


@pytest.mark.parametrize("name", ["GRAY8", "NV12"])
@pytest.mark.parametrize("wrong", [{"width": 0}, {"height": 0}, {"width": -4}])
def test_sizes_that_cannot_be(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(LayoutError, match="must be a positive integer"):
        sb.frame(zeros(6, 4), format=name, **wrong)


@pytest.mark.parametrize("count", [0, 2])
def test_the_number_of_audio_planes(count: int) -> None:
    with pytest.raises(LayoutError, match=f"has 1 plane, but got {count} arrays"):
        sb.frame([zeros(6, 2, dtype="int16")] * count, audio=STEREO)


def test_arguments_that_contradict_each_other() -> None:
    with pytest.raises(LayoutError, match="not both"):
        sb.frame(zeros(6, 2, dtype="int16"), format="GRAY16", audio=STEREO)
    with pytest.raises(LayoutError, match="pass its format="):
        sb.frame(zeros(6, 4), width=4)


def test_a_frame_is_not_wrapped_again() -> None:
    frame = sb.frame(zeros(6, 4), format="NV12")
    for wrap in (sb.frame, sb.tensor, sb.wrap):
        with pytest.raises(
            UnsupportedObjectError, match=r"already: use it, or its map\(\)"
        ) as caught:
            wrap(frame)
        assert caught.value.__context__ is None  # a traceback would show a KeyError before it
