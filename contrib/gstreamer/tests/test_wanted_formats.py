# SPDX-License-Identifier: Apache-2.0
"""gstreamer.source without caps: what elements of GStreamer give that can give several formats."""

from __future__ import annotations

from typing import Any

import pytest

import samebytes.elements as el
import samebytes_gstreamer as sbg

TEST = "videotestsrc num-buffers=2"


def taking(formats: str) -> Any:
    return el.inplace(takes=el.Image(formats, memory="cpu"))(lambda frame: None)()


def format_of(text: str, *items: Any) -> str:
    found = list(el.Pipeline(el.create("gstreamer.source", text), *items).start())
    assert len(found) == 2
    return found[0].image.format.name


@pytest.mark.parametrize(
    ("text", "formats", "given"),
    [
        # An element that can give any.
        (TEST, "", "NV12"),
        (TEST, "BGR", "BGR"),
        (TEST, "GRAY16|GRAY8", "GRAY8"),
        (f"{TEST} ! queue ! identity", "RGBA|BGR", "BGR"),
        (f"{TEST} ! video/x-raw,width=64,height=48 ! tee ! queue", "P010", "P010"),
        # One that converts does so where it must, and not else.
        (f"{TEST} ! video/x-raw,format=P010_10LE ! videoconvert", "", "P010"),
        (f"{TEST} ! video/x-raw,format=P010_10LE ! videoconvert", "I420|P010", "P010"),
        (f"{TEST} ! video/x-raw,format=I420 ! videoconvert", "BGR", "BGR"),
        # Caps of the user, which may say what only GStreamer can.
        (f"{TEST} ! video/x-raw,format=P010_10LE", "", "P010"),
        (f"{TEST} ! video/x-raw,format=RGB", "BGR|RGB", "RGB"),
        (f"{TEST} ! appsink caps=video/x-raw,format=YUY2", "", "YUY2"),
    ],
)
def test_the_format_is_one_that_is_wanted(text: str, formats: str, given: str) -> None:
    assert format_of(text, *([taking(formats)] if formats else [])) == given


def test_elements_that_take_several_get_one_of_them() -> None:
    pytest.importorskip("cv2")
    pytest.importorskip("samebytes_opencv")
    draw = el.create("opencv.draw")
    assert format_of(TEST, lambda frame: frame, draw, taking("BGRA|BGR")) == "BGR"


def test_a_format_that_only_the_pipeline_can_give_is_refused_by_the_element() -> None:
    with pytest.raises(Exception, match="its format is RGB, not BGR"):
        format_of(f"{TEST} ! video/x-raw,format=RGB", taking("BGR"))


def test_sound_passes() -> None:
    with sbg.GStreamerSource("audiotestsrc num-buffers=2 ! audioconvert") as source:
        assert [frame.media for frame in source] == ["audio"] * 2


def test_formats_of_a_source_that_is_read_by_hand() -> None:
    with sbg.GStreamerSource(TEST, formats=["GRAY8"]) as source:
        assert [frame.image.format.name for frame in source] == ["GRAY8"] * 2
