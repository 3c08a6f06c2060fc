# SPDX-License-Identifier: Apache-2.0
"""Frame.crop: a part of a picture over the same bytes, in every format."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import samebytes as sb
from samebytes import AudioInfo, Frame, ImageFormat, Region
from samebytes.errors import (
    AccessError,
    ClosedError,
    LayoutError,
    UnsupportedObjectError,
)
from samebytes.formats import known_formats
from samebytes.testing import address_of

CPU = sb.context("cpu")
FORMATS = [f.name for f in known_formats()]


def steps_of(format_: ImageFormat) -> tuple[int, int]:
    """Return how many pixels share a sample, across and down, according to the table of formats."""
    across = max(p.x_multiple << p.x_shift for p in format_.planes)
    return across, max(1 << p.y_shift for p in format_.planes)


def address_of_pixel(frame: Frame, plane: int, x: int, y: int) -> int:
    """Return the address at which the sample of a pixel begins, computed from strides alone."""
    described = frame.format.planes[plane]
    strides = frame.planes[plane].strides
    assert strides is not None
    row, column = y >> described.y_shift, x >> described.x_shift
    return address_of(frame.planes[plane].native) + row * strides[0] + column * strides[1]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("size", [(64, 48), (37, 23)])
def test_the_bytes_are_those_of_the_picture(format_: str, size: tuple[int, int]) -> None:
    frame = CPU.allocate_frame(format_, *size)
    across, down = steps_of(frame.format)
    x, y = across * 2, down
    # As far as the right edge, and not as far as the bottom.
    width, height = size[0] - x, down * 3
    sb.reset_stats()
    part = frame.crop(x, y, width, height)
    assert (part.format, part.width, part.height) == (frame.format, width, height)
    assert part.parent is frame
    for number, (plane, layout) in enumerate(
        zip(part.planes, part.image.plane_layouts(), strict=True)
    ):
        assert plane.shape == layout.shape
        assert plane.strides == frame.planes[number].strides
        assert plane.parent is frame
        for i, j in [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)]:
            assert address_of_pixel(part, number, i, j) == address_of_pixel(
                frame, number, x + i, y + j
            )
        # Written here, read there; and nothing else has changed.
        plane.native[...] = 1
        assert np.count_nonzero(frame.planes[number].native) == plane.native.size
        frame.planes[number].native[...] = 3
        assert (plane.native == 3).all()
    assert sb.stats().copies == 0


boxes = st.tuples(
    st.integers(-8, 40), st.integers(-8, 40), st.integers(-4, 40), st.integers(-4, 40)
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(FORMATS), st.integers(1, 33), st.integers(1, 33), boxes)
def test_any_rectangle(
    format_: str, columns: int, rows: int, box: tuple[int, int, int, int]
) -> None:
    """It is cut where it can be, and else refused; fitted, it is the smallest around it."""
    frame = CPU.allocate_frame(format_, columns, rows)
    across, down = steps_of(frame.format)
    x, y, width, height = box
    inside = x >= 0 and y >= 0 and x + width <= columns and y + height <= rows
    whole = (
        x % across == 0
        and y % down == 0
        and ((x + width) % across == 0 or x + width == columns)
        and ((y + height) % down == 0 or y + height == rows)
    )
    if width > 0 and height > 0 and inside and whole:
        assert frame.crop(*box).width == width
        assert frame.crop(*box, fit=True).image == frame.crop(*box).image
        return
    with pytest.raises(LayoutError):
        frame.crop(*box)
    pixels = [
        (i, j)
        for i in range(max(x, 0), min(x + width, columns))
        for j in range(max(y, 0), min(y + height, rows))
    ]
    if not pixels:
        with pytest.raises(LayoutError, match="no pixel in common"):
            frame.crop(*box, fit=True)
        return
    fitted = frame.crop(*box, fit=True)
    left, top = min(p[0] for p in pixels), min(p[1] for p in pixels)
    right, bottom = max(p[0] for p in pixels) + 1, max(p[1] for p in pixels) + 1
    assert left - left % across + fitted.width == min(-(-right // across) * across, columns)
    assert top - top % down + fitted.height == min(-(-bottom // down) * down, rows)


@pytest.mark.parametrize(
    ("format_", "box", "reason"),
    [
        (
            "NV12",
            (1, 0, 4, 4),
            r"splits chroma.*NV12 64x48: x 1 and x \+ width 5 .* multiples of 2",
        ),
        ("NV12", (0, 3, 4, 4), r"y 3 and y \+ height 7 must be multiples of 2"),
        ("NV12", (0, 0, 5, 4), r"fit=True for the rectangle 6x4 at \(0, 0\)"),
        ("I410", (2, 0, 4, 4), "multiples of 4"),
        ("YUY2", (0, 0, 3, 1), "multiples of 2"),
        ("NV12", (60, 0, 8, 4), r"8x4 at \(60, 0\) reaches beyond NV12 64x48.*fit=True"),
        ("NV12", (-2, 0, 8, 4), "reaches beyond"),
        ("GRAY8", (0, 0, 0, 4), "must be above 0"),
        ("GRAY8", (0, 0, 4, -1), "must be above 0"),
        ("GRAY8", (0.5, 0, 4, 4), "x must be an integer"),
        ("GRAY8", (0, 0, True, 4), "width must be an integer"),
        ("GRAY8", (1 << 70, 0, 1, 1), "reaches beyond"),
    ],
)
def test_what_is_refused(format_: str, box: tuple[int, int, int, int], reason: str) -> None:
    with pytest.raises(LayoutError, match=reason):
        CPU.allocate_frame(format_, 64, 48).crop(*box)


def test_fields_keep_their_order() -> None:
    frame = CPU.allocate_frame("NV12", 64, 48)
    frame.metadata["field_order"] = "top"
    with pytest.raises(LayoutError, match=r"fields.*y 2 and y \+ height 6 must be multiples of 4"):
        frame.crop(0, 2, 4, 4)
    assert frame.crop(0, 2, 4, 4, fit=True).height == 8
    frame.metadata["field_order"] = "progressive"
    assert frame.crop(0, 2, 4, 4).height == 4


def test_a_region() -> None:
    frame = CPU.allocate_frame("I420", 64, 48)
    frame.regions.append(Region(5, 7, 8, 9, "cat"))
    part = frame.crop(*frame.regions[0].box, fit=True)
    assert (part.width, part.height) == (10, 10)
    assert [r.box for r in part.regions] == [(1, 1, 8, 9)]


def test_numbers_of_numpy() -> None:
    frame = CPU.allocate_frame("NV12", 64, 48)
    part = frame.crop(*np.array([2, 4, 6, 8]))
    assert type(part.width) is int
    assert (part.width, part.height) == (6, 8)


def test_a_part_of_a_part() -> None:
    frame = CPU.allocate_frame("YUY2", 64, 48)
    inner = frame.crop(8, 8, 32, 32).crop(4, 2, 8, 8)
    assert address_of(inner.planes[0].native) == address_of_pixel(frame, 0, 12, 10)


def test_pitched_planes_and_planes_stored_bottom_up() -> None:
    array = np.arange(40 * 64, dtype=np.uint8).reshape(40, 64)[::-1, :48]
    part = sb.frame(array, format="GRAY8").crop(3, 5, 7, 9)
    np.testing.assert_array_equal(part.planes[0].native, array[5:14, 3:10])
    assert part.planes[0].strides == (-64, 1)


def test_what_may_only_be_read_stays_so() -> None:
    frame = CPU.allocate_frame("NV12", 16, 16)
    part = frame.map("cpu", "r").crop(0, 0, 8, 8)
    assert part.readonly
    assert all(plane.readonly for plane in part)
    assert not part.planes[0].native.flags.writeable
    with pytest.raises(AccessError):
        part.map("cpu", "rw")
    assert not frame.crop(0, 0, 8, 8).readonly


def test_it_maps_like_any_frame() -> None:
    frame = CPU.allocate_frame("NV12", 16, 16)
    part = frame.crop(8, 8, 8, 8)
    with part.map("cpu", "rw") as view:
        assert view.meta is part.meta
        view.planes[1].native[...] = 9
    assert frame.planes[1].native.sum() == 9 * 4 * 4 * 2
    part.flush()
    part.wait()


def test_close() -> None:
    frame = CPU.allocate_frame("NV12", 16, 16)
    part = frame.crop(8, 8, 8, 8)
    assert frame.close() is False
    part.planes[0].native[...] = 1
    assert part.close() is None
    with pytest.raises(ClosedError):
        _ = part.planes
    with pytest.raises(ClosedError):
        frame.crop(0, 0, 8, 8)


def test_a_frame_whose_plane_was_closed() -> None:
    frame = CPU.allocate_frame("NV12", 16, 16)
    frame.planes[1].close()
    with pytest.raises(ClosedError):
        frame.crop(0, 0, 8, 8)


def test_one_plane_of_a_part_keeps_its_memory() -> None:
    frame = CPU.allocate_frame("NV12", 16, 16)
    frame.planes[1].native[...] = 7
    given_back = weakref.ref(frame.storage)
    plane = frame.crop(8, 8, 8, 8).planes[1]
    del frame
    gc.collect()
    assert given_back() is not None
    assert plane.native.sum() == 7 * 4 * 4 * 2
    del plane
    assert given_back() is None


def test_planes_in_memories_of_their_own() -> None:
    arrays = [np.zeros(s, np.uint8) for s in ((16, 16), (8, 8), (8, 8))]
    part = sb.frame(arrays, format="I420").crop(0, 0, 8, 8)
    assert all(p.storage.keep is a for p, a in zip(part, arrays, strict=True))
    gone = weakref.ref(arrays[0])
    kept = part.planes[1]
    part.close()
    del part, arrays
    assert kept.closed
    assert gone() is None


def test_what_is_not_a_picture() -> None:
    sound = sb.frame([np.zeros((4, 1), np.float32)], audio=AudioInfo(4, 1, 48_000, "float32"))
    with pytest.raises(UnsupportedObjectError, match="audio cannot be cropped"):
        sound.crop(0, 0, 1, 1)
