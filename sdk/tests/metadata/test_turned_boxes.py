# SPDX-License-Identifier: Apache-2.0
"""Turned boxes of regions, where pictures are cut, scaled and turned."""

from __future__ import annotations

import math

import pytest

import samebytes as sb
from samebytes import FrameMeta, ImageInfo, Region
from samebytes.metadata import AffineTransform, meta_of_warped

QUARTER = AffineTransform((0.0, 1.0, 0.0, -1.0, 0.0, 1.0))


def meta_with(box: tuple[float, float, float, float, float]) -> FrameMeta:
    region = Region(20, 20, 40, 40, "ship", 0.5, {"oriented_box": box})
    return FrameMeta(ImageInfo.of("GRAY8", 160, 120), regions=[region])


def box_of(meta: FrameMeta) -> tuple[float, float, float, float, float]:
    (region,) = meta.regions
    x, y, width, height, angle = region.metadata["oriented_box"]
    return x, y, width, height, angle


def test_a_part_moves_it() -> None:
    frame = sb.context("cpu").allocate_frame("GRAY8", 160, 120)
    frame.regions.append(Region(20, 20, 40, 40, "", 0.5, {"oriented_box": (20, 30, 40, 20, 0.5)}))
    part = frame.crop(10, 20, 100, 60)
    *sides, angle = box_of(part.meta)
    assert sides == [10, 10, 40, 20]
    assert angle == pytest.approx(0.5)
    assert box_of(frame.meta) == (20, 30, 40, 20, 0.5)


def test_fractions_of_pixels_stay() -> None:
    meta = meta_of_warped(meta_with((20.5, 30.25, 41.5, 20.0, 0.5)), 80, 60)
    assert box_of(meta) == pytest.approx((10.25, 15.125, 20.75, 10.0, 0.5))


def test_even_scaling_keeps_the_angle() -> None:
    *sides, angle = box_of(meta_of_warped(meta_with((20, 30, 40, 20, 0.5)), 80, 60))
    assert sides == [10, 15, 20, 10]
    assert angle == pytest.approx(0.5)


def test_uneven_scaling_changes_angle_and_sides() -> None:
    meta = meta_of_warped(meta_with((20, 30, 40, 20, math.pi / 4)), 160, 60)
    x, y, width, height, angle = box_of(meta)
    assert angle == pytest.approx(math.atan(0.5))
    assert width == round(40 * math.hypot(1, 0.5) / math.sqrt(2))
    assert (x + width / 2, y + height / 2) == pytest.approx((40, 20), abs=1)


def test_a_turned_picture_turns_it() -> None:
    meta = meta_of_warped(meta_with((20, 30, 40, 20, 0.0)), 120, 160, QUARTER)
    *_, width, height, angle = box_of(meta)
    assert (width, height) == (40, 20)
    assert abs(angle) == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("odd", ["mine", ("a",) * 5, (1, 2, 3, 4, math.inf)])
def test_entries_of_others_under_that_name_stay(odd: object) -> None:
    meta = meta_with((20, 30, 40, 20, 0.5))
    meta.regions[0].metadata["oriented_box"] = odd
    assert meta_of_warped(meta, 80, 60).regions[0].metadata["oriented_box"] == odd
