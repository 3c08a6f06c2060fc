# SPDX-License-Identifier: Apache-2.0
"""find, all_of, add, change, remove; and the views of what frames say already."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import samebytes as sb
from samebytes import Frame, FrameMeta, ImageInfo, Region, metadata
from samebytes.errors import MetadataError
from samebytes.metadata import Classification, Detection, Entry, ObjectId, Timestamp

# Without types, for arguments that type checkers refuse.
any_: Any = metadata
NANOSECOND = Fraction(1, 10**9)

Kind = TypeVar("Kind", bound=Entry)


def one(holder: Any, kind: type[Kind]) -> Kind:
    """Return what find() finds, which must be something."""
    found = metadata.find(holder, kind)
    assert found is not None
    return found


@pytest.fixture
def frame() -> Frame:
    return sb.context("cpu").allocate_frame("NV12", 200, 100)


def test_entries_are_found_by_class_in_order(frame: Frame) -> None:
    first, second, third = Classification("a"), ObjectId(1), Classification("b")
    for entry in (first, second, third):
        assert metadata.add(frame, entry) is None
    assert metadata.all_of(frame, Classification) == [first, third]
    assert metadata.find(frame, Classification) is first
    assert metadata.find(frame, ObjectId) is second
    assert metadata.find(frame, metadata.ModelInfo) is None
    assert metadata.all_of(frame, Entry) == [first, second, third]
    assert frame.metadata[metadata.KEY] == metadata.entries_of(frame)
    metadata.remove(frame, third)
    assert metadata.all_of(frame, Classification) == [first]
    with pytest.raises(MetadataError, match="not here"):
        metadata.remove(frame, third)
    with pytest.raises(MetadataError, match="not here"):
        metadata.remove(frame, Classification("a"))  # equal, but another one


def test_mappings_share_them(frame: Frame) -> None:
    with frame.map("cpu", "r") as view:
        metadata.add(view, ObjectId(1))
    assert metadata.find(frame, ObjectId) == ObjectId(1)
    assert metadata.find(frame.meta, ObjectId) == ObjectId(1)


def test_a_class_of_the_programs_own(frame: Frame) -> None:
    @dataclass(frozen=True)
    class Weather(Entry):
        sky: str

    metadata.add(frame, Weather("gray"))
    found = metadata.find(frame, Weather)
    assert found is not None
    assert found.sky == "gray"


def test_regions_have_entries(frame: Frame) -> None:
    region = metadata.add(frame, Detection(0, 0, 0.5, 0.5))
    assert region is frame.regions[0]
    metadata.add(region, Classification("red"))
    assert metadata.find(region, Classification) == Classification("red")
    assert metadata.find(frame, Classification) is None
    assert metadata.all_of(region, Entry) == [Classification("red")]
    metadata.remove(region, metadata.entries_of(region)[0])
    assert metadata.entries_of(region) == []


def test_a_region_and_its_detection_are_one_thing(frame: Frame) -> None:
    region = metadata.add(frame, Detection(0.1, 0.2, 0.4, 0.6, "car", 0.5, 7, 1, 0))
    assert region == Region(20, 20, 60, 40, "car", 0.5, {"label_id": 7, "id": 1, "parent_id": 0})
    region.x, region.label = 40, "bus"
    found = one(frame, Detection)
    assert found == Detection(0.2, 0.2, 0.5, 0.6, "bus", 0.5, 7, 1, 0)
    assert found.region is region
    region.metadata["note"] = "mine"
    changed = metadata.change(frame, found, y_max=1.0, confidence=None, label_id=None)
    assert changed == Detection(0.2, 0.2, 0.5, 1.0, "bus", None, None, 1, 0)
    assert region == Region(40, 20, 60, 80, "bus", None, {"id": 1, "parent_id": 0, "note": "mine"})
    assert metadata.all_of(frame, Detection) == [changed]
    metadata.remove(frame, changed)
    assert frame.regions == []


def test_a_detection_that_is_not_in_a_frame() -> None:
    made = Detection(0, 0, 1, 1)
    assert made.origin is None
    with pytest.raises(MetadataError, match=r"region is not known: add\(\) returns it"):
        _ = made.region


def test_a_change_keeps_what_changed_meanwhile(frame: Frame) -> None:
    region = metadata.add(frame, Detection(0, 0, 1, 1, "car"))
    found = one(frame, Detection)
    region.label = "bus"
    assert metadata.change(frame, found, confidence=0.5).label == "bus"


def test_changes_that_cannot_be(frame: Frame) -> None:
    metadata.add(frame, Detection(0, 0, 1, 1, "car"))
    found = one(frame, Detection)
    with pytest.raises(MetadataError, match=r"x_max"):
        metadata.change(frame, found, x_max=-1)
    assert frame.regions == [Region(0, 0, 200, 100, "car")]
    with pytest.raises(MetadataError, match="has no colour"):
        metadata.change(frame, found, colour="red")
    with pytest.raises(MetadataError, match="not a region of this frame"):
        metadata.change(frame, Detection(0, 0, 1, 1), label="a")
    frame.regions.clear()
    with pytest.raises(MetadataError, match="not a region of this frame"):
        metadata.change(frame, found, label="a")
    nothing: Any = metadata.find(frame, Detection)
    with pytest.raises(MetadataError, match=r"found must be a Detection .*, not None"):
        metadata.change(frame, nothing, label="a")


pixels = st.integers(-(2**40), 2**40)


@given(st.integers(1, 10**5), st.integers(1, 10**5), pixels, pixels, st.integers(0, 2**40),
       st.integers(0, 2**40))  # fmt: skip
def test_pixels_stay_the_same(
    columns: int, rows: int, x: int, y: int, width: int, height: int
) -> None:
    """Reading a region as parts of the picture, and writing it back, moves nothing."""
    meta = FrameMeta(ImageInfo.of("GRAY8", columns, rows), regions=[Region(x, y, width, height)])
    found = one(meta, Detection)
    found.write(meta.regions[0], meta)
    assert meta.regions[0].box == (x, y, width, height)


@given(st.integers(), st.integers(), st.integers(), st.integers())
@example(2**60, 0, -1, 0)  # which is nothing beside such a float
def test_any_region_of_64_bits_can_be_looked_at(x: int, y: int, width: int, height: int) -> None:
    meta = FrameMeta(ImageInfo.of("GRAY8", 1, 1), regions=[Region(x, y, width, height)])
    can_be = (
        width >= 0 and height >= 0 and all(-(1 << 63) <= n < 1 << 63 for n in (x, y, width, height))
    )
    if can_be:
        assert one(meta, Detection).region is meta.regions[0]
    else:
        with pytest.raises(MetadataError):
            one(meta, Detection)


def test_times(frame: Frame) -> None:
    assert metadata.find(frame, Timestamp) is None
    frame.meta.pts, frame.meta.time_base = 3, Fraction(1, 30)
    frame.metadata["duration"] = Fraction(1, 30)
    assert metadata.find(frame, Timestamp) == Timestamp(100_000_000, None, 33_333_333)
    metadata.add(frame, Timestamp(200_000_000, 100, 40))
    assert (frame.pts, frame.meta.time_base) == (6, Fraction(1, 30))  # a whole number in it
    assert frame.metadata == {"dts": Fraction(100, 10**9), "duration": Fraction(40, 10**9)}
    metadata.add(frame, Timestamp(1))
    assert (frame.pts, frame.meta.time_base) == (1, NANOSECOND)
    assert frame.metadata == {}
    assert metadata.all_of(frame, Timestamp) == [Timestamp(1)]
    metadata.remove(frame, Timestamp(1))
    assert metadata.all_of(frame, Entry) == []


@given(st.integers(-(2**62), 2**62), st.fractions(min_value=Fraction(1, 10**6), max_value=10**3)
       .filter(bool) | st.none())  # fmt: skip
def test_any_time_is_kept(pts: int, base: Fraction | None) -> None:
    meta = FrameMeta(None, None, base)
    metadata.add(meta, Timestamp(pts))
    assert metadata.find(meta, Timestamp) == Timestamp(pts)


def test_a_time_without_a_base_is_not_known(frame: Frame) -> None:
    frame.meta.pts = 5
    assert metadata.find(frame, Timestamp) is None


@pytest.mark.parametrize(
    ("do", "field"),
    [
        (lambda f: any_.add(f, "car"), "entry"),
        (lambda f: any_.add("frame", ObjectId(1)), "frame"),
        (lambda f: any_.find(f, Region), "kind"),
        (lambda f: any_.find(f, "Detection"), "kind"),
        (lambda f: any_.add(Region(0, 0, 1, 1), Detection(0, 0, 1, 1)), "region"),
        (lambda f: any_.add(Region(0, 0, 1, 1), Timestamp(1)), "region"),
        (lambda f: any_.find(Region(0, 0, 1, 1), Detection), "region"),
        (lambda f: any_.add(FrameMeta(None), Detection(0, 0, 1, 1)), "frame"),
        (lambda f: any_.find(FrameMeta(None, regions=f.regions), Detection), "frame"),
    ],
)
def test_what_is_asked_wrongly(frame: Frame, do: Any, field: str) -> None:
    frame.regions.append(Region(0, 0, 1, 1))
    with pytest.raises(MetadataError) as caught:
        do(frame)
    assert caught.value.field == field
    assert frame.metadata == {}


@pytest.mark.parametrize("held", [3, "car", {}, [3], (ObjectId(1),)])
def test_somebody_else_used_the_key(frame: Frame, held: object) -> None:
    frame.metadata[metadata.KEY] = held
    for do in (metadata.entries_of, lambda f: any_.add(f, ObjectId(1))):
        with pytest.raises(MetadataError, match=r"metadata\['samebytes'\]"):
            do(frame)
    assert frame.metadata[metadata.KEY] is held


@pytest.mark.parametrize(
    ("key", "value"), [("dts", 0.5), ("dts", True), ("duration", "1"), ("duration", Fraction(-1))]
)
def test_times_that_are_none(frame: Frame, key: str, value: object) -> None:
    frame.metadata[key] = value
    with pytest.raises(MetadataError, match=key):
        metadata.find(frame, Timestamp)


def test_numbers_of_numpy_in_a_region(frame: Frame) -> None:
    region: Any = Region
    frame.regions.append(region(*np.array([0, 0, 50, 50]), "car", np.float32(0.5)))
    found = one(frame, Detection)
    assert (found.x_max, type(found.confidence)) == (0.25, float)
