# SPDX-License-Identifier: Apache-2.0
"""Layouts that are taken: our rules compared with what OpenCV itself does."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samebytes as sb
from samebytes.errors import RouteError

ALL_DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64",
)  # fmt: skip

# CV_CN_MAX, opencv2/core/hal/interface.h, and MatShape::MAX_DIMS, opencv2/core/mat.hpp (before 5.0
# less than CV_MAX_DIM).
MAX_CHANNELS, MAX_DIMS = (128, 10) if int(cv2.__version__.partition(".")[0]) >= 5 else (512, 31)

# OpenCV's stubs do not know that there may be none.
NO_MASK: Any = None


def taken_by_opencv(array: np.ndarray[Any, Any]) -> bool:
    """True if OpenCV writes into `array` itself: its contents change, and it is returned."""
    source = np.ones(array.shape, array.dtype)
    try:
        result: object = cv2.copyTo(source, NO_MASK, array)
    except cv2.error:
        return False
    return result is array and bool((array == source).all())


def why_not(array: np.ndarray[Any, Any]) -> str | None:
    """Return None if the array is mapped to OpenCV in place, else what the error says."""
    try:
        mapped = sb.tensor(array).map("opencv")
    except RouteError as error:
        return str(error)
    assert mapped.native.ctypes.data == array.ctypes.data
    return None


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_dtypes_are_those_that_opencv_takes(dtype: str) -> None:
    array = np.zeros((4, 4), dtype)
    assert taken_by_opencv(array) == (why_not(array) is None)


def test_most_channels() -> None:
    image = np.zeros((4, 4, MAX_CHANNELS + 1), np.uint8)
    assert cv2.cvtColor(image[:, :, :3].copy(), cv2.COLOR_BGR2GRAY).shape == (4, 4)
    # A volume may have a gap between the rows of a slice, the pixels of an image may not.
    padded = np.zeros((4, 4, MAX_CHANNELS + 8), np.uint8)
    assert why_not(padded[:, :, :MAX_CHANNELS]) is not None
    assert why_not(image) is None
    assert not taken_by_opencv(padded[:, :, :MAX_CHANNELS])
    assert taken_by_opencv(image)


@pytest.mark.parametrize("axes", [MAX_DIMS, MAX_DIMS + 1])
def test_most_axes(axes: int) -> None:
    array = np.zeros((1,) * axes, np.uint8)
    assert taken_by_opencv(array) == (axes <= MAX_DIMS)
    assert (why_not(array) is None) == (axes <= MAX_DIMS)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("whole", None),
        ("region", None),
        ("every 2nd row", None),
        ("one column", None),
        ("volume", None),
        ("row of numbers", None),
        ("rows reversed", "negative strides"),
        ("columns reversed", "negative strides"),
        ("rgb for bgr", "negative strides"),
        ("every 2nd column", "pixels in a row"),
        ("three of four channels", "pixels in a row"),
        ("one of four channels", "elements of a row"),
        ("transposed", "elements of a row"),
        ("channels moved last", "channels of a pixel"),
        ("column transposed to a row", None),
        ("row transposed to a column", "never grow"),
    ],
)
def test_named_layouts(name: str, reason: str | None) -> None:
    image = np.zeros((16, 24, 4), np.uint8)
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "whole": image,
        "region": image[2:9, 3:11],
        "every 2nd row": image[::2],
        "one column": image[:, 5:6],
        "volume": np.zeros((3, 4, 5, 6), np.float32)[1:, :2],
        "row of numbers": np.zeros(7, np.float64),
        "rows reversed": image[::-1],
        "columns reversed": image[:, ::-1],
        "rgb for bgr": image[:, :, ::-1],
        "every 2nd column": image[:, ::2],
        "three of four channels": image[:, :, :3],
        "one of four channels": image[:, :, 1],
        "transposed": image[:, :, 0].copy().T,
        "channels moved last": np.moveaxis(np.zeros((3, 8, 8), np.uint8), 0, 2),
        "column transposed to a row": np.zeros((9, 1), np.uint8).T,
        "row transposed to a column": np.zeros((1, 9), np.uint8).T,
    }
    array = arrays[name]
    found = why_not(array)
    assert (found is None) == taken_by_opencv(array), found
    if reason is None:
        assert found is None
    else:
        assert found is not None
        assert reason in found
        assert str(array.strides) in found


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((), np.uint8), "at least one axis"),
        (np.zeros((0, 4), np.uint8), "at least one axis and one element"),
        (np.lib.stride_tricks.sliding_window_view(np.zeros(20, np.uint8), 4), "overlap"),
        (np.broadcast_to(np.zeros(4, np.uint8), (3, 4)), "never grow"),
        (np.ndarray((4, 4), np.uint16, bytearray(80), 0, (17, 2)), "multiple of 2 bytes"),
    ],
)
def test_what_opencv_would_misread_is_refused(array: np.ndarray[Any, Any], reason: str) -> None:
    assert reason in str(why_not(array))


TAKEN = [name for name in ALL_DTYPES if taken_by_opencv(np.zeros((4, 4), name))]


@given(st.data())
def test_taken_if_and_only_if_opencv_takes_it(data: st.DataObject) -> None:
    """Any slice, transposition or flip of any array.

    Where an axis has one element, OpenCV overlooks some strides that it could not use.
    """
    dtype = data.draw(st.sampled_from(TAKEN))
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    whole = np.zeros(shape, dtype)
    order = data.draw(st.permutations(range(len(shape))))
    steps = [data.draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in shape]
    array = whole.transpose(order)[tuple(slice(None, None, s) for s in steps)]
    reason = why_not(array)
    taken = taken_by_opencv(array)
    said = f"{reason}, shape {array.shape}, strides {array.strides}"
    assert taken or reason is not None, said
    if 1 not in array.shape:
        assert taken == (reason is None), said
