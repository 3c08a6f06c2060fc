# SPDX-License-Identifier: Apache-2.0
"""Boxes that a detector knows in fractions of a pixel."""

from __future__ import annotations

from typing import Any

import pytest

import samebytes as sb
from samebytes.metadata import Detection, all_of, change, find


def framed(**region: Any) -> sb.Frame[Any]:
    frame = sb.context("cpu").allocate_frame("GRAY8", 100, 50)
    values = {"x": 10, "y": 20, "width": 31, "height": 12, **region}
    metadata = {"exact_box": (10.25, 19.75, 30.5, 12.25)}
    frame.regions.append(sb.Region(**values, metadata=metadata))
    return frame


def sides(found: Detection) -> tuple[float, float, float, float]:
    return found.x_min * 100, found.y_min * 50, found.x_max * 100, found.y_max * 50


def test_a_detection_has_the_fractions() -> None:
    (found,) = all_of(framed(), Detection)
    assert sides(found) == pytest.approx((10.25, 19.75, 40.75, 32))


@pytest.mark.parametrize("moved", [{"x": 11}, {"y": 19}, {"width": 30}, {"height": 13}])
def test_a_region_that_was_moved_has_its_own_pixels(moved: dict[str, int]) -> None:
    frame = framed(**moved)
    (region,) = frame.regions
    (found,) = all_of(frame, Detection)
    own = region.x, region.y, region.x + region.width, region.y + region.height
    assert sides(found) == pytest.approx(own)


def test_a_cut_region_has_its_own_pixels() -> None:
    part = framed().crop(20, 10, 60, 40)
    found = find(part, Detection)
    assert found is not None
    assert (found.x_min * 60, found.y_min * 40) == pytest.approx((0, 10))
    assert part.regions[0].box == (0, 10, 21, 12)


def test_a_changed_detection_writes_both() -> None:
    frame = framed()
    found = find(frame, Detection)
    assert found is not None
    change(frame, found, x_max=0.503)
    (region,) = frame.regions
    assert region.box == (10, 20, 40, 12)
    assert region.metadata["exact_box"] == pytest.approx((10.25, 19.75, 40.05, 12.25))


@pytest.mark.parametrize("said", [None, 5, (1, 2), "abcd", (None,) * 4, (float("nan"),) * 4])
def test_an_entry_of_another_kind_says_nothing(said: Any) -> None:
    frame = framed()
    frame.regions[0].metadata["exact_box"] = said
    (found,) = all_of(frame, Detection)
    assert sides(found) == pytest.approx((10, 20, 41, 32))
