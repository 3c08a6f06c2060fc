# SPDX-License-Identifier: Apache-2.0
"""Parts of the package that no public call shows by itself: tables, and calls of GStreamer."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes import ImageFormat, ImageInfo, Region
from samebytes_gstreamer._abi.gstreamer import GstMiniObject
from samebytes_gstreamer._abi.libraries import gst, video
from samebytes_gstreamer._caps.colors import _usual
from samebytes_gstreamer._caps.formats import _numbers
from samebytes_gstreamer._pipelines.pipeline import Deadline
from samebytes_gstreamer._pipelines.results_of_frames import as_it_is

GRAY = "video/x-raw,format=GRAY8,width=16,height=8,framerate=0/1"


def sample_of(buffer: Any, caps: str) -> Any:
    return Gst.Sample.new(buffer, Gst.Caps.from_string(caps), None, None)


def test_a_buffer_that_another_thread_closes_stays_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pointer that is read holds nothing: what leads to it must be held meanwhile."""
    caps = "video/x-raw,format=GRAY8,width=16,height=8,framerate=0/1"
    frame = sb.frame(sample_of(Gst.Buffer.new_allocate(None, 128, None), caps))
    seen = []

    class Closing:
        """GStreamer's functions, where the other thread has its turn at the first of them."""

        def gst_buffer_n_memory(self, buffer: int) -> int:
            frame.close()
            gc.collect()
            seen.append(GstMiniObject.from_address(buffer).refcount)
            return int(gst.gst_buffer_n_memory(buffer))

        def __getattr__(self, name: str) -> Any:
            return getattr(gst, name)

    monkeypatch.setattr("samebytes_gstreamer._buffers.frame.gst", Closing())
    assert not frame.readonly
    assert seen == [1]


def test_every_format_lies_as_gstreamer_says() -> None:
    assert len(_numbers()) > 60
    for image, (_, name) in _numbers().items():
        caps = f"video/x-raw,format={name},width=37,height=21,framerate=0/1"
        info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(caps))
        buffer = Gst.Buffer.new_allocate(None, info.size, None)
        frame = sb.frame(sample_of(buffer, caps))
        assert frame.format == image
        count = info.finfo.n_planes
        assert [p.handle("offset") for p in frame] == list(info.offset)[:count]
        assert [p.handle("pitch") for p in frame] == list(info.stride)[:count]
        frame.map("cpu")
        assert ImageFormat.of(name) == image


def test_no_number_is_asked_for_that_gstreamer_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """GStreamer 1.26 and later call that critical: G_DEBUG=fatal-criticals ends the program."""
    name_of = video.gst_video_format_to_string
    asked: list[int] = []

    def recording(number: int) -> bytes | None:
        asked.append(number)
        name: bytes | None = name_of(number)
        return name

    monkeypatch.setattr(video, "gst_video_format_to_string", recording)
    _numbers.cache_clear()
    assert len(_numbers()) > 60
    assert asked
    assert None not in map(name_of, asked)


def test_usual_colours_are_memory_of_their_own() -> None:
    """They are written to, so they must not lie in a GstVideoInfo that has been freed."""
    small, large = (ImageInfo(ImageFormat.of("NV12"), w, h) for w, h in ((320, 240), (1920, 1080)))
    kept = [_usual(image) for image in (small, large, small, large)]
    texts = [each.to_string() for each in kept]
    assert texts[0] == texts[2] != texts[1] == texts[3]
    assert kept[0].from_string("bt2020-10")
    assert [each.to_string() for each in kept[1:]] == texts[1:]


def test_a_frame_goes_on_in_its_own_buffer_where_nobody_else_holds_that() -> None:
    """Regions that were read of a buffer are not added to it again; new ones are, once."""
    frame = sb.frame(np.zeros((48, 64), np.uint8), format="GRAY8")
    frame.regions.append(Region(16, 12, 32, 24, "car", 0.5))
    native: Any = frame.map("gstreamer").native
    again: Any = sb.frame(native)
    for count in (1, 2, 2):
        assert as_it_is(again).pointer == again.handle("gst_buffer")
        assert len(sb.frame(native).regions) == count
        if count == 1:
            again.regions.append(Region(1, 2, 3, 4, "dog", 0.5))
            assert as_it_is(again).pointer == again.handle("gst_buffer")
    holder = Gst.Sample.new(native, None, None, None)
    again.regions.clear()
    assert as_it_is(again).pointer != again.handle("gst_buffer")
    assert len(sb.frame(native).regions) == 2
    del holder


def test_a_frame_stays_writable_while_its_source_pulls_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In another thread, and the sink drops the frame before this can be counted."""
    video = GRAY.replace("0/1", "25/1")
    is_writable = gst.gst_mini_object_is_writable
    with sbg.GStreamerSource(f"videotestsrc num-buffers=2 ! {video}") as source:
        frame = source.read()
        assert frame is not None
        source.await_release(frame, Deadline(10, "it is held"))
        pulled = []

        def then_the_next(memory: int) -> int:
            before = is_writable(memory)
            monkeypatch.undo()
            pulled.append(source.read())
            return int(before)

        monkeypatch.setattr(gst, "gst_mini_object_is_writable", then_the_next)
        assert frame.writable
        assert len(pulled) == 1
        assert pulled[0] is not None
