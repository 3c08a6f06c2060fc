# SPDX-License-Identifier: Apache-2.0
"""Pitches, offsets and spans, checked on real memory and against bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebytes.errors import LayoutError
from samebytes.formats import ImageFormat, PlaneFormat, PlaneLayout, image_format, known_formats


def touched(layout: PlaneLayout, nbytes: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The bytes that change when every element of the plane is written, in rising order."""
    memory = np.zeros(nbytes, np.uint8)
    view = np.ndarray(
        layout.shape, layout.dtype, buffer=memory, offset=layout.offset, strides=layout.strides
    )
    view.view(np.uint8)[...] = 0xFF
    return np.flatnonzero(memory)


@given(
    fmt=st.sampled_from(known_formats()),
    width=st.integers(1, 40),
    height=st.integers(1, 20),
    padding=st.integers(0, 9),
    gap=st.integers(0, 9),
    bottom_up=st.booleans(),
)
def test_spans_are_what_writing_touches(
    fmt: ImageFormat, width: int, height: int, padding: int, gap: int, bottom_up: bool
) -> None:
    dense = fmt.plane_layouts(width, height)
    sign = -1 if bottom_up else 1
    pitches = [sign * (plane.row_nbytes + padding * plane.itemsize) for plane in dense]
    natural = fmt.plane_layouts(width, height, pitches, allow_negative=True)
    offsets = [plane.offset + gap * plane.itemsize for plane in natural]
    shifted = fmt.plane_layouts(width, height, pitches, offsets, allow_negative=True)
    for plane, pitch, behind in zip(natural, pitches, shifted, strict=True):
        assert plane.start == 0
        assert plane.pitch == pitch
        used = touched(plane, plane.span)
        assert (used[0], used[-1] + 1) == (0, plane.span)
        assert len(used) == plane.nbytes
        rows = plane.shape[0]
        assert plane.contiguous == (rows == 1 or pitch == plane.row_nbytes)

        used = touched(behind, behind.start + behind.span)
        assert (used[0], used[-1] + 1) == (behind.start, behind.start + behind.span)
        assert behind.start == gap * plane.itemsize


@given(fmt=st.sampled_from(known_formats()), width=st.integers(1, 40), height=st.integers(1, 20))
def test_packed_planes_fill_the_frame_and_share_no_byte(
    fmt: ImageFormat, width: int, height: int
) -> None:
    total = fmt.frame_nbytes(width, height)
    used = np.concatenate([touched(p, total) for p in fmt.packed_layouts(width, height)])
    assert np.array_equal(np.sort(used), np.arange(total))


def test_a_pitched_frame() -> None:
    y, uv = image_format("NV12").plane_layouts(1920, 1080, (2048, 2048), (0, 2048 * 1088))
    assert (y.name, y.dtype, y.shape, y.strides) == ("y", "uint8", (1080, 1920), (2048, 1))
    assert (y.pitch, y.row_nbytes, y.nbytes) == (2048, 1920, 1920 * 1080)
    assert y.span == 2048 * 1079 + 1920
    assert (uv.name, uv.shape, uv.strides) == ("uv", (540, 960, 2), (2048, 2, 1))
    assert uv.offset == uv.start == 2048 * 1088


def test_bottom_up() -> None:
    (rgb,) = image_format("RGB").plane_layouts(4, 3, [-16], allow_negative=True)
    assert rgb.strides == (-16, 3, 1)
    assert (rgb.offset, rgb.start, rgb.span) == (32, 0, 44)
    assert not rgb.contiguous


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("YUY2", (3, 6, 2)),
        ("Y210", (3, 6, 2)),
        ("NV12", (3, 5)),
        ("RGB", (3, 5, 3)),
        ("Y410", (3, 5)),
        ("RGB565", (3, 5)),
    ],
)
def test_first_plane_of_odd_widths(name: str, shape: tuple[int, ...]) -> None:
    assert image_format(name).plane_layouts(5, 3)[0].shape == shape


def test_an_even_width_of_packed_422_has_no_padding_column() -> None:
    assert image_format("YUY2").plane_layouts(6, 3)[0].shape == (3, 6, 2)


def test_layouts_are_remembered() -> None:
    fmt = image_format("I420")
    assert fmt.plane_layouts(64, 48, [64, 32, 32]) is fmt.plane_layouts(64, 48, (64, 32, 32))
    assert fmt.packed_layouts(64, 48) is fmt.packed_layouts(64, 48)


def test_numpy_integers_become_ints() -> None:
    pitch = np.int32(24)
    (gray,) = image_format("GRAY8").plane_layouts(np.int64(20), np.uint8(4), [pitch])  # type: ignore[arg-type, list-item]
    assert [type(n) for n in (*gray.shape, *gray.strides, gray.span)] == [int] * 5


@pytest.mark.parametrize(
    ("size", "pitches", "offsets", "message"),
    [
        ((0, 4), None, None, "width must be a positive integer, not 0"),
        ((4, -1), None, None, "height must be a positive integer, not -1"),
        ((4.0, 4), None, None, "width must be a positive integer, not 4.0"),
        (("4", 4), None, None, "width must be a positive integer, not '4'"),
        ((4, 4), (8,), None, r"P010 has 2 planes \('y', 'uv'\), but 1 pitches"),
        ((4, 4), (8, 8, 8), None, "but 3 pitches"),
        ((4, 4), (), None, "but 0 pitches"),
        ((4, 4), None, (0,), "but 1 offsets"),
        (
            (4, 4),
            (8, 6),
            None,
            "P010 4x4: the pitch of plane 'uv' is 6 bytes, but a row of it has 8",
        ),
        ((4, 4), (0, 8), None, "the pitch of plane 'y' is 0 bytes"),
        ((4, 4), (9, 8), None, "the pitch of plane 'y' is 9, not a multiple of its 2-byte"),
        ((4, 4), (8.5, 8), None, "the pitch of plane 'y' must be an integer, not 8.5"),
        ((4, 4), (-8, 8), None, "the pitch of plane 'y' is negative"),
        ((4, 4), None, (0, 33), "the offset of plane 'uv' is 33, not a multiple"),
        ((4, 4), None, (0, -2), "plane 'uv' with offset -2 .* 2 bytes before its buffer"),
        ((4, 4), None, (0, None), r"one of the offsets is None: \(0, None\)"),
        ((4, 4), (None, 8), None, r"one of the pitches is None: \(None, 8\)"),
    ],
)
def test_bad_layouts(size: Any, pitches: Any, offsets: Any, message: str) -> None:
    fmt = image_format("P010")
    fmt.plane_layouts(4, 4)
    with pytest.raises(LayoutError, match=message):
        fmt.plane_layouts(size[0], size[1], pitches, offsets)


def test_bottom_up_planes_must_lie_in_their_buffer() -> None:
    fmt = image_format("GRAY8")
    with pytest.raises(LayoutError, match="would begin 4 bytes before its buffer"):
        fmt.plane_layouts(4, 3, [-4], [4], allow_negative=True)
    with pytest.raises(LayoutError, match="the pitch of plane 'y' is -3 bytes"):
        fmt.plane_layouts(4, 3, [-3], allow_negative=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "channels"),
        ((1, -1, 0), "shifts"),
        ((1, 0, -1), "shifts"),
        ((1, 0, 0, "complex64"), "dtype 'complex64'"),
        ((1, 0, 0, "uint8", 0), "x_multiple"),
    ],
)
def test_bad_planes(arguments: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        PlaneFormat(*arguments)
