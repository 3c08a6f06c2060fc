# SPDX-License-Identifier: Apache-2.0
"""A frame that is handed to an array library: the error says which plane to pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import ClosedError, ExportError, SamebytesError, UnsupportedObjectError


def nv12() -> sb.Frame:
    return sb.context("cpu").allocate_frame("NV12", 8, 4)


def bgr() -> sb.Frame:
    return sb.frame(np.zeros((4, 5, 3), np.uint8), format="BGR")


def sound() -> sb.Frame:
    return sb.frame(np.zeros((6, 2), np.int16), audio=sb.AudioInfo(6, 2, 48_000, "int16"))


@pytest.mark.parametrize("consume", [np.asarray, np.array, np.mean, np.float32])
def test_arrays(consume: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedObjectError, match=r"2 planes \(y, uv\).*frame\.planes\[i\]"):
        consume(nv12())
    assert issubclass(UnsupportedObjectError, TypeError)


def test_arithmetic_with_arrays() -> None:
    frame: Any = nv12()
    with pytest.raises(UnsupportedObjectError, match="is not an array itself"):
        frame + np.ones(3)


def test_dlpack() -> None:
    frame: Any = nv12()
    for consume in (np.from_dlpack, lambda f: f.__dlpack__(max_version=(1, 0)),
                    lambda f: f.__dlpack_device__()):  # fmt: skip
        with pytest.raises(ExportError, match=r"2 planes \(y, uv\).*frame\.planes\[i\]"):
            consume(frame)
    assert issubclass(ExportError, BufferError)


@pytest.mark.parametrize("name", ["as_tensor", "tensor", "asarray", "from_dlpack"])
def test_torch_passes_the_error_on(name: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(SamebytesError, match=r"pass frame\.planes\[i\]"):
        getattr(torch, name)(nv12())


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (bgr, r"BGR 5x4 frame in cpu has 1 plane \(bgr\).*planes\[0\]"),
        (sound, r"has 1 plane and is not"),
    ],
)
def test_one_plane(make: Callable[[], sb.Frame], what: str) -> None:
    frame: Any = make()
    with pytest.raises(UnsupportedObjectError, match=what):
        np.asarray(frame)
    assert np.asarray(frame.planes[0]).shape == frame.planes[0].shape


def test_a_frame_is_not_a_plane_of_another() -> None:
    with pytest.raises(UnsupportedObjectError, match=r"list\(frame\)"):
        sb.frame([bgr()], format="BGR")


def test_a_closed_frame() -> None:
    frame: Any = nv12()
    frame.close()
    with pytest.raises(ClosedError):
        np.asarray(frame)
