# SPDX-License-Identifier: Apache-2.0
"""Metadata on a frame's orientation, shape and light goes into pipelines, and comes out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import LayoutError
from samebytes.formats import ROTATIONS

DISPLAY = {
    "red_x": Fraction(17, 25), "red_y": Fraction(8, 25), "green_x": Fraction(53, 200),
    "green_y": Fraction(69, 100), "blue_x": Fraction(3, 20), "blue_y": Fraction(3, 50),
    "white_x": Fraction(3127, 10000), "white_y": Fraction(329, 1000),
    "min_luminance": Fraction(1, 10000), "max_luminance": Fraction(1000),
}  # fmt: skip
LIGHT = {"max": 1000, "average": 400}
DISPLAY_TEXT = "34000:16000:13250:34500:7500:3000:15635:16450:10000000:1"

QUARTERS = np.repeat(np.repeat(np.array([[20, 90], [160, 230]], np.uint8), 16, 0), 24, 1)


def picture(**said: Any) -> sb.Frame[Any]:
    frame = sb.context("cpu").allocate_frame("GRAY8", 48, 32)
    frame.planes[0].native[...] = QUARTERS
    frame.metadata.update(said)
    frame.meta.pts, frame.meta.time_base = 0, Fraction(1, 25)
    return frame


def read(pipeline: str) -> dict[str, Any]:
    with sbg.GStreamerSource(pipeline) as source:
        return dict(next(iter(source)).metadata)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_videoflip_turns_a_picture_upright(rotation: int, mirrored: bool, tmp_path: Path) -> None:
    made = tmp_path / "upright.gray"
    with sbg.GStreamerSink(
        f"videoflip video-direction=auto ! video/x-raw,format=GRAY8 ! filesink location={made}"
    ) as sink:
        sink.write(picture(rotation=rotation, mirrored=mirrored))
    upright = np.rot90(QUARTERS[:, ::-1] if mirrored else QUARTERS, -rotation // 90)
    np.testing.assert_array_equal(np.fromfile(made, np.uint8).reshape(upright.shape), upright)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_the_tag_of_a_stream_becomes_entries(rotation: int, mirrored: bool) -> None:
    tag = f"{'flip-' if mirrored else ''}rotate-{rotation}"
    said = read(f"videotestsrc num-buffers=1 ! taginject tags=image-orientation={tag}")
    assert (said["rotation"], said.get("mirrored", False)) == (rotation, mirrored)
    assert said["gstreamer"]["tags"]["image-orientation"] == tag


def tags_behind(tags: dict[str, Any] | None, **said: Any) -> dict[str, str] | None:
    """The tags of text that come with a frame of these tags and entries, or None."""
    frame = picture(**said)
    if tags is not None:
        frame.metadata["gstreamer"] = {"tags": tags}
    pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
    out = pipeline.get_by_name("out")
    with sbg.GStreamerSink(pipeline) as sink:
        sink.write(frame)
        assert out.try_pull_sample(5 * Gst.SECOND) is not None
        event = out.get_static_pad("sink").get_sticky_event(Gst.EventType.TAG, 0)
    if event is None:
        return None
    found = event.parse_tag()
    names = [found.nth_tag_name(number) for number in range(found.n_tags())]
    return {name: found.get_string(name)[1] for name in names}


def test_an_orientation_that_was_deleted_is_not_passed_on() -> None:
    tags = {"image-orientation": "rotate-90", "title": "a"}
    assert tags_behind(tags, rotation=180) == {**tags, "image-orientation": "rotate-180"}
    assert tags_behind(tags) == {**tags, "image-orientation": "rotate-0"}
    assert tags_behind({"title": "a"}) == {"title": "a"}
    several = {"image-orientation": ["rotate-90"]}  # which says none
    assert tags_behind(several) == {"image-orientation": "rotate-90"}
    assert tags_behind(None, mirrored=True) == {"image-orientation": "flip-rotate-0"}
    assert tags_behind(None, rotation=0) == {"image-orientation": "rotate-0"}
    assert tags_behind(None, mirrored=False) is None
    with pytest.raises(LayoutError, match="rotation"):
        tags_behind(None, rotation=45)


@pytest.mark.parametrize("tags", ["title=a", "image-orientation=askew"])
def test_tags_that_say_no_orientation(tags: str) -> None:
    said = read(f"videotestsrc num-buffers=1 ! taginject tags={tags}")
    assert said["gstreamer"]["tags"]
    assert not {"rotation", "mirrored"} & said.keys()


def test_high_dynamic_range_goes_into_caps_and_comes_out() -> None:
    frame = picture(mastering_display=DISPLAY, content_light=LIGHT)
    mapped: Any = frame.map("gstreamer")
    structure = mapped.caps.get_structure(0)
    assert structure.get_string("mastering-display-info") == DISPLAY_TEXT
    assert structure.get_string("content-light-level") == "1000:400"
    again = sbg.frame_of(mapped.native, mapped.caps).metadata
    assert (again["mastering_display"], again["content_light"]) == (DISPLAY, LIGHT)


def test_gstreamer_reads_the_display_as_it_was_written() -> None:
    """By its own parser."""
    mapped: Any = picture(mastering_display=DISPLAY).map("gstreamer")
    found = GstVideo.VideoMasteringDisplayInfo()
    assert found.from_caps(mapped.caps)
    assert (found.white_point.x, found.white_point.y) == (15635, 16450)
    assert found.max_display_mastering_luminance == 10_000_000
    assert found.min_display_mastering_luminance == 1


@pytest.mark.parametrize(
    "text",
    [
        "mastering-display-info=1:2:3",
        "mastering-display-info=a:b:c:d:e:f:g:h:i:j",
        "mastering-display-info=65535:1:1:1:1:1:1:1:1:1",
        "content-light-level=1000",
        "content-light-level=(string)70000:1",
    ],
)
def test_caps_that_cannot_be_give_nothing(text: str) -> None:
    caps = f"video/x-raw,format=GRAY8,width=48,height=32,{text}"
    buffer = Gst.Buffer.new_allocate(None, 48 * 32, None)
    assert not {"mastering_display", "content_light"} & set(sbg.frame_of(buffer, caps).metadata)


def test_primaries_without_luminances_cannot_be_said() -> None:
    part = {key: value for key, value in DISPLAY.items() if "luminance" not in key}
    mapped: Any = picture(mastering_display=part).map("gstreamer")
    assert not mapped.caps.get_structure(0).has_field("mastering-display-info")


def test_entries_that_were_changed_count_more_than_the_caps_of_a_sample() -> None:
    caps = (
        "video/x-raw,format=I420,width=64,height=48,framerate=25/1,pixel-aspect-ratio=4/3,"
        f"colorimetry=bt709,multiview-mode=mono,mastering-display-info={DISPLAY_TEXT}"
    )
    buffer = Gst.Buffer.new_allocate(None, 64 * 48 * 3 // 2, None)
    native = Gst.Sample.new(buffer, Gst.Caps.from_string(caps), None, None)
    frame: Any = sb.frame(native)
    assert frame.caps.is_equal(native.get_caps())
    frame.metadata["color_range"] = "full"
    frame.metadata["content_light"] = LIGHT
    del frame.metadata["sample_aspect_ratio"], frame.metadata["mastering_display"]
    said: Any = sbg.frame_of(buffer, frame.caps)
    kept = ("color_range", "color_matrix", "content_light", "sample_aspect_ratio")
    assert {key: said.metadata[key] for key in kept} == {
        "color_range": "full", "color_matrix": "bt709", "content_light": LIGHT,
        "sample_aspect_ratio": 1,
    }  # fmt: skip
    assert "mastering_display" not in said.metadata
    structure = frame.caps.get_structure(0)
    assert structure.get_string("multiview-mode") == "mono"
    assert said.metadata["gstreamer"]["framerate"] == 25


INTERLEAVED = "interlace-mode=interleaved,field-order=top-field-first"


@pytest.mark.parametrize(
    ("before", "order", "after"),
    [
        ("interlace-mode=progressive", "progressive", ("progressive", None)),
        ("interlace-mode=progressive", "top", ("interleaved", "top-field-first")),
        (INTERLEAVED, "progressive", ("progressive", None)),
        (INTERLEAVED, "top", ("interleaved", "top-field-first")),
        (INTERLEAVED, "bottom", ("interleaved", "bottom-field-first")),
        ("interlace-mode=interleaved", "top", ("interleaved", None)),
        ("interlace-mode=mixed", "progressive", ("mixed", None)),
    ],
)
def test_fields_that_were_changed(before: str, order: str, after: tuple[str, str | None]) -> None:
    """As by an element that makes one picture of two fields, in place."""
    buffer = Gst.Buffer.new_allocate(None, 48 * 32, None)
    caps = Gst.Caps.from_string(
        f"video/x-raw,format=GRAY8,width=48,height=32,framerate=25/1,{before}"
    )
    frame: Any = sb.frame(Gst.Sample.new(buffer, caps, None, None))
    frame.metadata["field_order"] = order
    structure = frame.caps.get_structure(0)
    assert (structure.get_string("interlace-mode"), structure.get_string("field-order")) == after


def test_elements_in_a_pipeline_see_the_orientation_of_its_stream() -> None:
    seen: list[tuple[Any, Any]] = []

    def note(frame: Any) -> None:
        seen.append((frame.metadata.get("rotation"), frame.metadata.get("mirrored")))

    looks = el.inplace(takes=el.Image(memory="cpu"))(note)
    writes = el.sink(takes=el.Image(memory="cpu"))(note)
    inside, end = sbg.register(looks, name="sb_looks"), sbg.register(writes, name="sb_writes")
    tag = "taginject tags=image-orientation=flip-rotate-90"
    for text in (f"{tag} ! {inside} ! {end}", f"{inside} ! {end}"):
        pipeline = Gst.parse_launch(f"videotestsrc num-buffers=1 ! {text}")
        pipeline.set_state(Gst.State.PLAYING)
        message = pipeline.get_bus().timed_pop_filtered(
            10 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
        )
        pipeline.set_state(Gst.State.NULL)
        assert message is not None
        assert message.type == Gst.MessageType.EOS
    assert seen == [(90, True)] * 2 + [(None, None)] * 2
