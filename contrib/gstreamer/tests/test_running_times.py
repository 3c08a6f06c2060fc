# SPDX-License-Identifier: Apache-2.0
"""Times of gstreamer.source are those at which a player shows the frames: of their segments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from gi.repository import Gst

import samebytes.elements as el
import samebytes_gstreamer as sbg

CAPS = "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"
FRAME = Gst.SECOND // 25


def segment(start: int, base: int = 0) -> Any:
    made = Gst.Segment()
    made.init(Gst.Format.TIME)
    made.start = made.time = start
    made.base = base
    return made


def pushed(*frames: tuple[Any, int]) -> Any:
    """A pipeline in which frames wait, of which each has a segment and a time."""
    native = Gst.parse_launch(
        "appsrc name=in format=time handle-segment-change=true ! appsink name=out"
    )
    appsrc, caps = native.get_by_name("in"), Gst.Caps.from_string(CAPS)
    for in_segment, pts in frames:
        buffer = Gst.Buffer.new_wrapped(bytes(64 * 48))
        buffer.pts = pts
        appsrc.emit("push-sample", Gst.Sample.new(buffer, caps, in_segment, None))
    appsrc.emit("end-of-stream")
    return native


FIRST = segment(2 * FRAME)
CASES = {
    "b-frames": ([(FIRST, n * FRAME) for n in (2, 3, 4)], [0, 1, 2]),
    "second segment": (
        [(FIRST, 2 * FRAME), (FIRST, 3 * FRAME), (segment(90 * FRAME, 2 * FRAME), 90 * FRAME)],
        [0, 1, 2],
    ),
    "seek": ([(FIRST, 2 * FRAME), (segment(90 * FRAME), 90 * FRAME)], [0, 0]),
    "before": ([(FIRST, FRAME), (FIRST, 2 * FRAME)], [-1, 0]),
    "no time": ([(FIRST, Gst.CLOCK_TIME_NONE)], [None]),
}


@pytest.mark.parametrize(("frames", "expected"), CASES.values(), ids=CASES)
def test_running_times(frames: list[tuple[Any, int]], expected: list[int | None]) -> None:
    with sbg.GStreamerSource(pushed(*frames)) as source:
        found = [(frame.pts, source.running_time) for frame in source]
    assert [own for own, _ in found] == [
        None if pts == Gst.CLOCK_TIME_NONE else pts for _, pts in frames
    ]
    assert [time for _, time in found] == [n if n is None else n * FRAME for n in expected]


@pytest.mark.parametrize("case", ["b-frames", "second segment", "seek"])
def test_the_element_gives_them_and_they_rise(case: str) -> None:
    frames, _ = CASES[case]
    made = sbg.GStreamerSource(pushed(*frames))
    source = el.create("gstreamer.source", "unused")
    vars(source)["open"] = lambda context: vars(source).update(
        _source=made, _timeline=el.Timeline()
    )
    with el.Pipeline(source).start() as out:
        found = [frame.pts if frame.pts is not None else -1 for frame in out]
    assert found[0] == 0
    assert all(a < b for a, b in pairwise(found))
    if case != "seek":
        assert found == [n * FRAME for n in range(len(frames))]
