# SPDX-License-Identifier: Apache-2.0
"""The metadata of a frame that is cut, or that becomes part of a batch."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

import samebytes as sb
from samebytes import Frame, FrameMeta, Region, metadata
from samebytes.errors import LayoutError, MetadataError
from samebytes.metadata import (
    AffineTransform,
    Classification,
    Detection,
    Entry,
    InferenceResult,
    ModelInfo,
    ObjectId,
    SourceIdentifier,
    Timestamp,
)

SOURCE, MODEL = SourceIdentifier(0, 3, 5, uri="file.mp4"), ModelInfo("cars")

Kind = TypeVar("Kind", bound=Entry)


def one(holder: Any, kind: type[Kind]) -> Kind:
    """Return what find() finds, which must be something."""
    found = metadata.find(holder, kind)
    assert found is not None
    return found


@pytest.fixture
def frame() -> Frame:
    made = sb.context("cpu").allocate_frame("NV12", 200, 100)
    made.meta.pts, made.meta.time_base = 3, Fraction(1, 30)
    made.metadata["camera"] = ["left"]
    for entry in (SOURCE, Classification("day"), MODEL, InferenceResult(np.zeros(3)), ObjectId(4)):
        metadata.add(made, entry)
    return made


def test_a_part(frame: Frame) -> None:
    part = frame.crop(50, 20, 100, 50)
    assert part.meta is not frame.meta
    assert (part.pts, part.meta.time_base) == (3, Fraction(1, 30))
    assert part.metadata["camera"] is frame.metadata["camera"]
    part.metadata["camera"] = "right"
    assert frame.metadata["camera"] == ["left"]
    where = AffineTransform((0.5, 0, 0.25, 0, 0.5, 0.2))
    assert metadata.all_of(part, Entry) == [Timestamp(100_000_000), SOURCE, MODEL, where]
    metadata.add(part, ObjectId(1))
    assert len(metadata.entries_of(frame)) == 5


@pytest.mark.parametrize("box", [(0, 0, 200, 100), (2, 4, 6, 8), (150, 98, 50, 2)])
def test_the_transform_of_a_part(frame: Frame, box: tuple[int, int, int, int]) -> None:
    expected = AffineTransform.of_rectangles((200, 100), box[2:], box)
    assert one(frame.crop(*box), AffineTransform).matrix == pytest.approx(expected.matrix)


@pytest.mark.parametrize("box", [(0, 0, 0, 1), (0, 0, 1, -1), (0.5, 0, 1, 1), (0, "0", 1, 1)])
def test_a_part_that_cannot_be(frame: Frame, box: Any) -> None:
    with pytest.raises(LayoutError):
        metadata.meta_of_part(frame, *box)


def test_a_part_of_a_part_leads_to_the_first_picture(frame: Frame) -> None:
    inner = frame.crop(50, 20, 100, 50).crop(10, 10, 20, 20)
    (found,) = metadata.all_of(inner, AffineTransform)
    corners = found.apply(0, 0), found.apply(1, 1)
    assert np.array(corners) == pytest.approx(np.array([(60 / 200, 0.3), (80 / 200, 0.5)]))


def test_a_part_of_a_scaled_picture_leads_to_its_source() -> None:
    """640x360 in the top of 640x640, of 1920x1080."""
    frame = sb.context("cpu").allocate_frame("BGR", 640, 640)
    box = AffineTransform.of_rectangles((1920, 1080), (640, 640), None, (0, 0, 640, 360))
    metadata.add(frame, box)
    found = one(frame.crop(320, 180, 320, 180), AffineTransform)
    assert np.array([found.apply(0, 0), found.apply(1, 1)]) == pytest.approx(
        np.array([(0.5, 0.5), (1, 1)])
    )


def test_regions_are_moved_and_cut(frame: Frame) -> None:
    frame.regions.extend([
        Region(60, 30, 10, 10, "inside", 0.5, {"id": 1, "list": []}),
        Region(40, 10, 20, 20, "at the corner"),
        Region(0, 0, 200, 100, "around"),
        Region(0, 0, 50, 20, "beside"),
        Region(60, 30, 0, 5, "empty"),
        Region(150, 30, 5, 5, "right of it"),
    ])  # fmt: skip
    metadata.add(frame.regions[0], Classification("red"))
    before = [r.box for r in frame.regions]
    regions = frame.crop(50, 20, 100, 50).regions
    assert [(r.label, r.box) for r in regions] == [
        ("inside", (10, 10, 10, 10)),
        ("at the corner", (0, 0, 10, 10)),
        ("around", (0, 0, 100, 50)),
    ]
    assert [r.box for r in frame.regions] == before
    assert regions[0].confidence == 0.5
    assert regions[0].metadata["list"] is frame.regions[0].metadata["list"]
    assert metadata.entries_of(regions[0]) == [Classification("red")]
    metadata.add(regions[0], ObjectId(1))
    regions[0].metadata["id"] = 2
    assert metadata.entries_of(frame.regions[0]) == [Classification("red")]
    assert frame.regions[0].metadata["id"] == 1


def test_a_detection_in_a_part_leads_back(frame: Frame) -> None:
    frame.regions.append(Region(60, 30, 40, 20))
    part = frame.crop(50, 20, 100, 50)
    whole, found = one(frame, Detection), one(part, Detection)
    where = one(part, AffineTransform)
    assert where.apply(found.x_min, found.y_min) == pytest.approx((whole.x_min, whole.y_min))
    assert where.apply(found.x_max, found.y_max) == pytest.approx((whole.x_max, whole.y_max))


def test_a_batch(frame: Frame) -> None:
    other = FrameMeta(None, 7, Fraction(1, 10**9))
    frame.regions.append(Region(0, 0, 1, 1))
    batch = metadata.meta_of_batch([frame, other])
    assert metadata.all_of(batch, Entry) == [
        SourceIdentifier(0, 3, 5, uri="file.mp4"), SourceIdentifier(1, 0, 7),
    ]  # fmt: skip
    assert (batch.info, batch.pts, batch.regions) == (None, None, [])
    assert metadata.find(frame, SourceIdentifier) is SOURCE
    numbered = metadata.meta_of_batch([other, other], [8, 9])
    assert [s.stream_id for s in metadata.all_of(numbered, SourceIdentifier)] == [8, 9]
    with pytest.raises(MetadataError, match="1 stream id for 2 frames"):
        metadata.meta_of_batch([other, other], [8])


QUARTER, TURN = (0, 1, 0, -1, 0, 1), (-1, 0, 1, 0, -1, 1)
MIRROR, PART = (-1, 0, 1, 0, 1, 0), (0.25, 0, 0.1, 0, 0.5, 0.1)


@pytest.mark.parametrize(
    ("size", "matrix", "ratio", "order", "rotation"),
    [
        ((200, 100), None, Fraction(4, 3), "top", 90),
        ((50, 100), None, Fraction(16, 3), "top", 90),
        ((200, 50), None, Fraction(2, 3), "progressive", 90),
        ((67, 33), None, Fraction(4, 3) * Fraction(200 * 33, 100 * 67), "progressive", 90),
        ((200, 100), PART, Fraction(2, 3), "progressive", 90),
        ((100, 200), QUARTER, Fraction(3, 4), "progressive", None),
        ((200, 100), TURN, Fraction(4, 3), "progressive", None),
        ((200, 100), MIRROR, Fraction(4, 3), "progressive", None),
    ],
)
def test_shape_and_orientation_of_a_warped_picture(
    frame: Frame, size: Any, matrix: Any, ratio: Fraction, order: str, rotation: int | None
) -> None:
    """The display shows the same parts in the same proportions."""
    said = {
        "sample_aspect_ratio": Fraction(4, 3), "field_order": "top", "repeat_fields": 1,
        "rotation": 90, "mirrored": True, "color_matrix": "bt709", "chroma_location": "left",
    }  # fmt: skip
    frame.metadata.update(said)
    transform = AffineTransform() if matrix is None else AffineTransform(matrix)
    found = metadata.meta_of_warped(frame, size[0], size[1], transform).metadata
    assert (found["sample_aspect_ratio"], found["field_order"]) == (ratio, order)
    assert (found.get("rotation"), found.get("mirrored")) == (rotation, rotation and True)
    assert ("repeat_fields" in found) == (order == "top")
    assert (found["color_matrix"], found["chroma_location"]) == ("bt709", "left")
    assert frame.metadata.items() >= said.items()


def test_a_warped_picture_of_unknown_shape_says_none(frame: Frame) -> None:
    found = metadata.meta_of_warped(frame, 10, 100, AffineTransform(QUARTER)).metadata
    assert not {"sample_aspect_ratio", "field_order", "rotation"} & set(found)
    frame.metadata["sample_aspect_ratio"] = "4:3"
    with pytest.raises(LayoutError, match="sample_aspect_ratio"):
        metadata.meta_of_warped(frame, 10, 100)


@pytest.mark.parametrize("matrix", [QUARTER, np.ones((2, 3)), None])
def test_a_bare_matrix_is_refused(frame: Frame, matrix: Any) -> None:
    with pytest.raises(MetadataError, match="transform must be an AffineTransform"):
        metadata.meta_of_warped(frame, 10, 100, matrix)


@pytest.mark.parametrize("name", ["x", "y", "width", "height"])
@pytest.mark.parametrize("value", [1.5, np.float32(2), "3", None])
def test_a_region_is_of_whole_pixels(name: str, value: Any) -> None:
    edges: dict[str, Any] = {"x": 1, "y": 2, "width": 3, "height": 4, name: value}
    with pytest.raises(LayoutError) as caught:
        Region(**edges)
    assert str(caught.value) == f"{name} of a Region must be an integer, not {value!r}"


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64, int])
def test_a_confidence_of_numpy_becomes_a_float(kind: type) -> None:
    sure = Region(0, 0, 1, 1, "", kind(1)).confidence
    assert (sure, type(sure)) == (1.0, float)


def test_integers_of_numpy_become_ints() -> None:
    edges: Any = np.array([1, 2, 3, 4], np.uint8)
    box = Region(*edges).box
    assert box == (1, 2, 3, 4)
    assert {type(edge) for edge in box} == {int}
