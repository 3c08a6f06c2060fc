# SPDX-License-Identifier: Apache-2.0
"""Time, regions and the rest of what is known of a frame, on its way in and out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes import Region
from samebytes_gstreamer._caps.frame_rate import rate_of

CAPS = "video/x-raw,format=GRAY8,width=16,height=8,framerate=30000/1001,pixel-aspect-ratio=2/1"


def new_buffer() -> Any:
    return Gst.Buffer.new_allocate(None, 128, None)


def gray() -> Any:
    return sb.frame(np.zeros((8, 16), np.uint8), format="GRAY8")


def test_time_of_a_buffer() -> None:
    buffer = new_buffer()
    assert sbg.frame_of(buffer, CAPS).pts is None
    buffer.pts, buffer.dts, buffer.duration, buffer.offset = 5, 4, 3, 2
    frame = sbg.frame_of(buffer, CAPS)
    assert (frame.pts, frame.meta.time_base) == (5, Fraction(1, 10**9))
    known = frame.metadata["gstreamer"]
    assert (known["dts"], known["duration"], known["offset"]) == (4, 3, 2)
    assert "offset_end" not in known
    assert known["framerate"] == Fraction(30000, 1001)
    assert known["pixel_aspect_ratio"] == 2


def test_time_onto_a_buffer() -> None:
    frame = gray()
    frame.meta.pts, frame.meta.time_base = 45, Fraction(1, 90_000)
    frame.metadata["gstreamer"] = {"duration": 7, "dts": -1, "offset": "x"}
    buffer = frame.map("gstreamer").native
    assert (buffer.pts, buffer.duration) == (500_000, 7)
    assert buffer.dts == Gst.CLOCK_TIME_NONE
    for pts, base in ((None, Fraction(1)), (1, None), (-1, Fraction(1))):
        frame.meta.pts, frame.meta.time_base = pts, base
        assert frame.map("gstreamer").native.pts == Gst.CLOCK_TIME_NONE
    frame.metadata["gstreamer"] = "not ours"
    frame.map("gstreamer")


@pytest.mark.parametrize(
    ("duration", "time_base", "rate"),
    [
        (Fraction(1, 50), Fraction(1, 25), Fraction(50)),
        (Fraction(33_366_667, 10**9), None, Fraction(30000, 1001)),
        (None, Fraction(1001, 30000), Fraction(30000, 1001)),
        (None, Fraction(5), Fraction(1, 5)),
        (None, Fraction(1, 90_000), None),
        (Fraction(1, 2**31), None, None),
        (None, None, None),
    ],
)
def test_the_rate_of_a_frame_for_caps(
    duration: Fraction | None, time_base: Fraction | None, rate: Fraction | None
) -> None:
    meta = sb.context("cpu").allocate_frame("GRAY8", 16, 8).meta
    meta.metadata.update({} if duration is None else {"duration": duration})
    meta.time_base = time_base
    assert rate_of(meta) == rate


def test_caps_of_a_mapping_keep_rates() -> None:
    frame = sbg.frame_of(new_buffer(), CAPS)
    mapped = frame.map("cpu").map("gstreamer")
    assert isinstance(mapped, sbg.GStreamerFrame)
    caps = mapped.caps.to_string()
    assert "framerate=(fraction)30000/1001" in caps
    assert "pixel-aspect-ratio=(fraction)2/1" in caps


def test_regions_of_a_buffer() -> None:
    buffer = new_buffer()
    roi = GstVideo.buffer_add_video_region_of_interest_meta(buffer, "cat", 1, 2, 3, 4)
    roi.id, roi.parent_id = 7, 6
    structure = Gst.Structure.new_from_string(
        "detection, confidence=(double)0.5, label_id=(int)3, rate=(fraction)3/2;"
    )
    roi.add_param(structure)
    GstVideo.buffer_add_video_region_of_interest_meta(buffer, "dog", 0, 0, 1, 1)
    cat, dog = sbg.frame_of(buffer, CAPS).regions
    assert (cat.x, cat.y, cat.width, cat.height, cat.label) == (1, 2, 3, 4, "cat")
    assert cat.confidence == 0.5
    assert (cat.metadata["id"], cat.metadata["parent_id"]) == (7, 6)
    assert cat.metadata["params"] == [
        {"name": "detection", "confidence": 0.5, "label_id": 3, "rate": Fraction(3, 2)}
    ]
    assert (dog.label, dog.confidence) == ("dog", None)
    assert not dog.metadata, "a meta has 0 for numbers that nobody set"


def test_regions_onto_a_buffer() -> None:
    frame = gray()
    frame.regions.append(
        Region(
            1,
            2,
            3,
            4,
            "cat",
            0.25,
            {
                "id": 5,
                "params": [
                    {"name": "classes", "labels": ["a", "b"], "scores": [0.5, 0.25], "raw": b"\0\1"}
                ],
            },
        )
    )
    frame.regions.append(Region(-1, 0, 3, 4, "left of it"))
    frame.regions.append(Region(0, 0, 1, 1))
    buffer = frame.map("gstreamer").native
    # Metas of GstAnalytics have what is left of the picture, too.
    first, second = [region for region in sb.frame(buffer).regions if region.x >= 0]
    assert (first.x, first.y, first.width, first.height) == (1, 2, 3, 4)
    assert (first.label, first.confidence, first.metadata["id"]) == ("cat", 0.25, 5)
    assert first.metadata["params"] == [
        {"name": "classes", "labels": ["a", "b"], "scores": [0.5, 0.25], "raw": b"\0\1"},
        {"name": "detection", "confidence": 0.25},
    ]
    assert second.label == ""
    # As GStreamer sees it.
    roi = GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 5)
    assert roi.get_param("detection").get_double("confidence") == (True, 0.25)


def test_regions_of_numbers_of_numpy() -> None:
    frame = gray()
    one, half = np.int64(1), np.float32(0.5)
    frame.regions.append(Region(one, one, one, one, "x", half))  # type: ignore[arg-type]  # the test
    (region,) = sb.frame(frame.map("gstreamer").native).regions
    assert (region.x, region.width, region.confidence) == (1, 1, 0.5)


@pytest.mark.parametrize("odd", [{"params": 3}, {"id": "x"}, {"params": [3]}, {"id": 2**40}])
def test_region_metadata_of_others(odd: dict[str, Any]) -> None:
    frame = gray()
    frame.regions.append(Region(0, 0, 1, 1, "x", None, odd))
    assert len(sb.frame(frame.map("gstreamer").native).regions) == 1


def test_mappings_share_what_is_known() -> None:
    frame = sbg.frame_of(new_buffer(), CAPS)
    mapped = frame.map("cpu")
    assert mapped.meta is frame.meta
    assert mapped.map("gstreamer").meta is frame.meta
