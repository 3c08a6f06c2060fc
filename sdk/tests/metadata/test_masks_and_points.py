# SPDX-License-Identifier: Apache-2.0
"""Masks and key points of regions, where pictures are cut, scaled and turned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Frame, FrameMeta, Region, metadata
from samebytes.metadata import AffineTransform, Classification, InferenceResult

# The left upper quarter of the picture, and a picture turned by a quarter.
QUARTER = AffineTransform.of_rectangles((160, 120), (160, 120), (0, 0, 80, 60))
TURNED = AffineTransform((0.0, 1.0, 0.0, -1.0, 0.0, 1.0))
HALF = AffineTransform.of_rectangles((160, 120), (80, 60), (0, 0, 160, 120))


def mask_of(width: int, height: int) -> np.ndarray[Any, Any]:
    return (np.arange(width * height) % 7).astype(np.uint8).reshape(height, width)


def picture(mask: np.ndarray[Any, Any]) -> Frame:
    frame = sb.context("cpu").allocate_frame("GRAY8", 160, 120)
    region = Region(20, 10, 40, 60, "cat", 0.5)
    metadata.add(region, InferenceResult(mask, "yolo", format="mask", layout="HW"))
    points = np.array([[0.5, 0.25, 0.9], [0.0, 1.0, 0.1]], np.float32)
    names = ("nose", "tail")
    metadata.add(region, InferenceResult(points, format="keypoints", point_names=names))
    metadata.add(region, Classification("red"))
    frame.regions.append(region)
    return frame


def results(meta: Frame | FrameMeta, format: str) -> list[Any]:
    return [
        result
        for region in meta.regions
        for result in metadata.all_of(region, InferenceResult)
        if result.format == format
    ]


def points_in_picture(meta: Frame | FrameMeta) -> list[list[float]]:
    [result], [region] = results(meta, "keypoints"), meta.regions
    assert result.point_names == ("nose", "tail")
    places = result.array[:, :2] * (region.width, region.height) + (region.x, region.y)
    found: list[list[float]] = places.round(4).tolist()
    return found


def test_a_part_has_the_part_of_the_mask_on_the_same_bytes() -> None:
    mask = mask_of(40, 60)
    part = picture(mask).crop(30, 30, 100, 30)
    assert part.regions[0].box == (0, 0, 30, 30)
    [result] = results(part, "mask")
    assert (result.model_name, result.layout) == ("yolo", "HW")
    assert (result.array == mask[20:50, 10:]).all()
    mask[20, 10] = 99
    assert result.array[0, 0] == 99
    assert metadata.find(part.regions[0], Classification) == Classification("red")


def test_key_points_stay_where_they_are_in_the_picture() -> None:
    frame = picture(mask_of(40, 60))
    assert points_in_picture(frame) == [[40, 25], [20, 70]]
    assert points_in_picture(frame.crop(30, 30, 100, 30)) == [[10, -5], [-10, 40]]
    assert points_in_picture(metadata.meta_of_warped(frame, 80, 60)) == [[20, 12.5], [10, 35]]
    assert points_in_picture(metadata.meta_of_warped(frame, 160, 120, QUARTER)) == [
        [80, 50], [40, 140],
    ]  # fmt: skip
    # (40, 25) of 160 x 120 is a quarter from the left: so far from the bottom, or the top, it is.
    across, down = TURNED.inverse().apply(40 / 160, 25 / 120)
    turned = points_in_picture(metadata.meta_of_warped(frame, 120, 160, TURNED))
    assert turned[0] == pytest.approx([across * 120, down * 160], abs=1e-3)


def test_a_mask_of_another_size_is_cut_between_its_elements() -> None:
    mask = mask_of(20, 30)  # an element for four pixels
    frame = picture(mask)
    [result] = results(frame.crop(30, 30, 100, 30), "mask")
    assert (result.array == mask[10:25, 5:]).all()
    assert results(frame.crop(31, 30, 100, 30), "mask") == []


def test_a_region_that_was_not_cut_keeps_its_entries() -> None:
    frame = picture(mask_of(40, 60))
    before = list(metadata.entries_of(frame.regions[0]))
    assert list(metadata.entries_of(frame.crop(10, 0, 100, 90).regions[0])) == before
    scaled = metadata.meta_of_warped(frame, 80, 60)
    assert list(metadata.entries_of(scaled.regions[0])) == before
    enlarged = metadata.meta_of_warped(frame, 80, 60, HALF)
    assert list(metadata.entries_of(enlarged.regions[0])) == before


def test_a_mask_in_a_part_that_is_scaled_is_cut() -> None:
    mask = mask_of(40, 60)
    part = metadata.meta_of_warped(picture(mask), 160, 120, QUARTER)
    assert part.regions[0].box == (40, 20, 80, 100)
    [result] = results(part, "mask")
    assert (result.array == mask[:50]).all()


def test_a_turned_picture_has_no_masks() -> None:
    turned = metadata.meta_of_warped(picture(mask_of(40, 60)), 120, 160, TURNED)
    assert len(turned.regions) == 1
    assert results(turned, "mask") == []


@pytest.mark.parametrize(
    "array", [np.zeros(4, np.float32), np.zeros((0, 3), np.float32), np.zeros((2, 3), np.int32)]
)
def test_what_cannot_be_cut_is_left_out(array: Any) -> None:
    frame = picture(mask_of(40, 60))
    frame.regions[0].metadata.pop(metadata.KEY)
    for format in ("mask", "keypoints"):
        metadata.add(frame.regions[0], InferenceResult(array, format=format))
    part = frame.crop(31, 31, 60, 30)
    assert results(part, "keypoints") == []
