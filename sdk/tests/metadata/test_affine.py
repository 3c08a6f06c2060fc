# SPDX-License-Identifier: Apache-2.0
"""AffineTransform: points of a picture and of its source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samebytes as sb
from samebytes import metadata
from samebytes.errors import MetadataError
from samebytes.metadata import AffineTransform

sizes = st.tuples(st.integers(1, 8192), st.integers(1, 8192))
numbers = st.floats(-1e3, 1e3)
points = st.tuples(st.floats(0, 1), st.floats(0, 1))


@st.composite
def rectangles(draw: st.DrawFn) -> tuple[float, float, float, float]:
    x, y = draw(st.integers(-100, 4000)), draw(st.integers(-100, 4000))
    return x, y, draw(st.integers(1, 4000)), draw(st.integers(1, 4000))


def test_a_letterbox() -> None:
    """1920x1080 into the top of 640x640."""
    found = AffineTransform.of_rectangles((1920, 1080), (640, 640), None, (0, 0, 640, 360))
    assert found.matrix == pytest.approx((1, 0, 0, 0, 1.77778, 0), abs=1e-5)
    assert found.apply(1, 360 / 640) == pytest.approx((1, 1))


def test_a_crop() -> None:
    found = AffineTransform.of_rectangles((100, 200), (10, 20), (50, 100, 10, 20))
    assert found.apply(0, 0) == pytest.approx((0.5, 0.5))
    assert found.apply(1, 1) == pytest.approx((0.6, 0.6))


@given(sizes, sizes, rectangles(), rectangles(), points)
def test_rectangles_are_placed_on_each_other(
    source: tuple[int, int],
    target: tuple[int, int],
    taken: tuple[float, float, float, float],
    placed: tuple[float, float, float, float],
    point: tuple[float, float],
) -> None:
    """A point at some part of one rectangle is at the same part of the other one."""
    found = AffineTransform.of_rectangles(source, target, taken, placed)
    x = (placed[0] + point[0] * placed[2]) / target[0]
    y = (placed[1] + point[1] * placed[3]) / target[1]
    there = found.apply(x, y)
    scale = max(1, *map(abs, found.matrix)) * max(1, abs(x), abs(y))
    assert there[0] == pytest.approx((taken[0] + point[0] * taken[2]) / source[0], abs=1e-9 * scale)
    assert there[1] == pytest.approx((taken[1] + point[1] * taken[3]) / source[1], abs=1e-9 * scale)


@given(st.tuples(*[numbers] * 6), st.tuples(*[numbers] * 6), points)
def test_one_after_another(
    first: tuple[float, ...], second: tuple[float, ...], point: tuple[float, float]
) -> None:
    whole, part = AffineTransform(first), AffineTransform(second)  # type: ignore[arg-type]  # six
    expected = whole.apply(*part.apply(*point))
    assert whole.after(part).apply(*point) == pytest.approx(expected, rel=1e-6, abs=1e-3)


@given(sizes, rectangles(), points)
def test_there_and_back(
    size: tuple[int, int], taken: tuple[float, float, float, float], point: tuple[float, float]
) -> None:
    found = AffineTransform.of_rectangles(size, (640, 640), taken)
    back = found.inverse().apply(*found.apply(*point))
    assert back == pytest.approx(point, abs=1e-6)
    assert found.inverse().inverse().matrix == pytest.approx(found.matrix)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (((0, 1), (1, 1)), "source"),
        (((1, 1), (1,)), "target"),
        (((1, 1), (1, -1)), "target"),
        (((1, 1), (1, 1), (0, 0, 0, 1)), "source_rectangle"),
        (((1, 1), (1, 1), None, (0, 0, 1)), "target_rectangle"),
        (((1, 1), (1, 1), (0, 0, 1, float("nan"))), "source_rectangle[3]"),
        (((1, 1), (1, 1), ()), "source_rectangle"),
    ],
)
def test_sizes_that_cannot_be(arguments: tuple[object, ...], field: str) -> None:
    with pytest.raises(MetadataError) as caught:
        AffineTransform.of_rectangles(*arguments)  # type: ignore[arg-type]  # on purpose
    assert caught.value.field == field


def test_a_line_has_no_way_back() -> None:
    with pytest.raises(MetadataError, match="no inverse"):
        AffineTransform((1, 0, 0, 1, 0, 0)).inverse()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_points_of_the_upright_picture(rotation: int, mirrored: bool) -> None:
    """numpy turns an array whose elements say where they were."""
    frame = sb.context("cpu").allocate_frame("GRAY8", 6, 4)
    frame.metadata["rotation"], frame.metadata["mirrored"] = rotation, mirrored
    places = np.moveaxis(np.indices((4, 6)), 0, -1)
    upright = np.rot90(places[:, ::-1] if mirrored else places, -(rotation // 90))
    width, height = metadata.upright_size(frame)
    assert (height, width) == upright.shape[:2]
    transform = metadata.upright_transform(frame.meta)
    for y, x in ((0, 0), (1, 2), (height - 1, width - 1)):
        across, down = transform.apply((x + 0.5) / width, (y + 0.5) / height)
        assert [down * 4 - 0.5, across * 6 - 0.5] == pytest.approx(list(upright[y, x]))


def test_a_picture_that_says_nothing_is_upright() -> None:
    frame = sb.context("cpu").allocate_frame("GRAY8", 6, 4)
    assert metadata.upright_transform(frame) == AffineTransform()
    assert metadata.upright_size(frame) == (6, 4)
