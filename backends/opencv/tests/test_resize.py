# SPDX-License-Identifier: Apache-2.0
"""Resizing a plane into memory that is there already."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes_opencv import resize

Array = np.ndarray[Any, Any]


def noise(*shape: int, dtype: str = "uint8") -> Array:
    return np.random.default_rng(1).integers(0, 255, shape).astype(dtype)


@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("size", [(10, 20), (60, 90), (33, 47)])
def test_writes_into_the_target(channels: tuple[int, ...], dtype: str, size: Any) -> None:
    source = noise(33, 64, *channels, dtype=dtype)[:, :47]  # padded rows
    around = np.full((size[0] + 2, size[1] + 5, *channels), 7, dtype)
    target = around[1:-1, 2:-3]
    resize(source, target)
    want = cv2.resize(source, size[::-1])
    np.testing.assert_array_equal(target.reshape(want.shape), want)
    target[...] = 7
    assert (around == 7).all()  # nothing beside it was written


def test_interpolation() -> None:
    source, target = noise(40, 40), np.zeros((10, 10), np.uint8)
    partial(resize, interpolation=cv2.INTER_AREA)(source, target)
    want = cv2.resize(source, (10, 10), interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (noise(8, 8)[::-1], noise(4, 4), "source cannot be used in place.*negative"),
        (noise(8, 8), noise(4, 8)[:, ::2], "target cannot be used in place.*without gaps"),
        (noise(8, 8), noise(4, 4, 2), "as many channels"),
        (noise(8, 8, 3), noise(4, 4, 2), "as many channels"),
        (noise(8, 8), noise(4, 4, dtype="uint16"), "one element type"),
        (noise(8, 8, 2, 2), noise(4, 4, 2, 2), "rows, columns"),
        (noise(8), noise(4), "rows, columns"),
    ],
)
def test_what_would_be_copied_or_lost(source: Array, target: Array, message: str) -> None:
    before = target.copy()
    with pytest.raises(LayoutError, match=message):
        resize(source, target)
    np.testing.assert_array_equal(target, before)


def test_read_only_target() -> None:
    target = noise(4, 4)
    target.flags.writeable = False
    with pytest.raises(cv2.error):
        resize(noise(8, 8), target)


def test_no_array() -> None:
    with pytest.raises(UnsupportedObjectError, match="target must be a numpy array"):
        resize(noise(8, 8), [1, 2])  # type: ignore[arg-type]
