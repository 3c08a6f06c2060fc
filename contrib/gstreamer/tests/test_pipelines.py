# SPDX-License-Identifier: Apache-2.0
"""Frames out of pipelines and into them."""

from __future__ import annotations

import gc
import mmap
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from gi.repository import Gst, GstVideo

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes.errors import (
    AccessError,
    ClosedError,
    LayoutError,
    NativeError,
    SamebytesError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_gstreamer import PipelineError, PipelineTimeoutError

from .crop_metas import add_crop_meta

GRAY = "video/x-raw,format=GRAY8,width=16,height=8,framerate=25/1"


TWO = (
    f"videotestsrc num-buffers=2 ! {GRAY} ! tee name=t ! queue ! appsink name=a "
    "t. ! queue ! appsink name=b"
)


def gray(value: int, number: int = 0) -> Any:
    frame = sb.context("cpu").allocate_frame("GRAY8", 16, 8)
    frame.native[0][...] = value
    frame.meta.pts, frame.meta.time_base = number, Fraction(1, 25)
    return frame


def cropped(width: int) -> sbg.GStreamerFrame:
    """The first 16x8 pixels of a picture that is 8 high."""
    buffer = Gst.Buffer.new_wrapped(bytes(width * 8))
    GstVideo.buffer_add_video_meta(buffer, 0, GstVideo.VideoFormat.GRAY8, width, 8)
    add_crop_meta(buffer, 0, 0, 16, 8)
    return sbg.frame_of(buffer)


def wait_until_writable(frame: sbg.GStreamerFrame) -> None:
    """Wait for the streaming thread that brought it, which holds it a little longer."""
    deadline = time.monotonic() + 10
    while not frame.writable:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def write_all(sink: sbg.GStreamerSink, times: Iterable[int]) -> None:
    for number in times:
        sink.write(gray(1, number))


@pytest.mark.parametrize(("given", "near"), [("S24LE", "S32LE"), ("F32BE", "F32LE")])
def test_samples_without_a_dtype_name_the_conversion(given: str, near: str) -> None:
    pipeline = f"audiotestsrc num-buffers=1 ! audio/x-raw,format={given}"
    advice = f"audioconvert ! audio/x-raw,format={near}"
    with (
        sbg.GStreamerSource(pipeline) as source,
        pytest.raises(LayoutError, match=f"{given} are not whole .*: put {advice} behind"),
    ):
        next(source)
    with sbg.GStreamerSource(f"{pipeline} ! {advice}") as source:
        assert len(list(source)) == 1


class TestSource:
    def test_all_frames_in_order(self) -> None:
        times = []
        with sbg.GStreamerSource(f"videotestsrc num-buffers=9 ! {GRAY}", max_buffers=1) as source:
            assert isinstance(source.pipeline, Gst.Pipeline)
            for frame in source:
                assert str(frame.image) == "GRAY8 16x8"
                assert frame.metadata["gstreamer"]["framerate"] == 25
                times.append(frame.pts)
            assert source.read() is None
        assert times == [number * 40_000_000 for number in range(9)]

    def test_a_pipeline_of_ones_own(self) -> None:
        with pytest.raises(UnsupportedObjectError, match="2 elements appsink"):
            sbg.GStreamerSource(TWO)
        for name in ("nobody", "t"):
            with pytest.raises(UnsupportedObjectError, match="no appsink named"):
                sbg.GStreamerSource(TWO, name=name)
        pipeline = Gst.parse_launch(TWO)
        with sbg.GStreamerSource(pipeline, name="b") as source:
            assert source.pipeline is pipeline
            assert len(list(source)) == 2
        assert pipeline.get_state(0)[1] == Gst.State.NULL

    def test_writing_into_frames(self) -> None:
        values = []
        with sbg.GStreamerSource(f"videotestsrc num-buffers=5 ! {GRAY}", access="rw") as source:
            for number, frame in enumerate(source):
                with frame.map("cpu", "rw") as view:
                    view.native[0][...] = number
                    values.append(int(view.native[0].sum()))
        assert values == [128 * number for number in range(5)]

    def test_frames_that_another_branch_holds(self) -> None:
        source = sbg.GStreamerSource(TWO, name="a", access="rw", timeout=0.5)
        with source, pytest.raises(AccessError, match="somebody else"):
            source.read()

    def test_no_frame_in_time(self) -> None:
        source = sbg.GStreamerSource(f"appsrc caps={GRAY} ! appsink", timeout=0.1)
        with source, pytest.raises(PipelineTimeoutError, match="no frame") as caught:
            source.read()
        assert isinstance(caught.value, TimeoutError)
        assert isinstance(caught.value, SamebytesError)

    def test_looks_without_waiting(self) -> None:
        def poll() -> Any:
            for _ in range(10_000):
                with suppress(PipelineTimeoutError):
                    return source.read(timeout=0)
                time.sleep(0.001)
            pytest.fail("no frame was ever seen")

        with sbg.GStreamerSource(f"videotestsrc num-buffers=2 ! {GRAY}") as source:
            assert [poll() is None for _ in range(3)] == [False, False, True]

    def test_a_failed_pipeline_does_not_go_on(self) -> None:
        text = f"videotestsrc num-buffers=9 ! {GRAY} ! identity error-after=2"
        with sbg.GStreamerSource(text) as source:
            source.read()
            for _ in range(4):
                with pytest.raises(PipelineError, match="identity"):
                    source.read()

    def test_errors_of_elements(self, tmp_path: Path) -> None:
        with pytest.raises(PipelineError, match="filesrc") as caught:
            sbg.GStreamerSource(f"filesrc location={tmp_path}/no.mp4 ! decodebin").read()
        assert isinstance(caught.value, NativeError)
        assert caught.value.debug
        # One that comes while it plays.
        bad = sbg.GStreamerSource(f"videotestsrc num-buffers=9 ! {GRAY} ! identity error-after=3")
        with bad, pytest.raises(PipelineError, match="identity"):
            list(bad)

    @pytest.mark.parametrize("text", ["nosuchelement", "videotestsrc nosuch=1", "(", "! !", ""])
    def test_pipelines_that_cannot_be_made(self, text: str) -> None:
        with pytest.raises(PipelineError, match="gst_parse_launch"):
            sbg.GStreamerSource(text)

    def test_wrong_arguments(self) -> None:
        for wrong in (None, 3, Gst.ElementFactory.make("fakesink")):
            with pytest.raises(UnsupportedObjectError):
                sbg.GStreamerSource(wrong)
        with pytest.raises(UnknownNameError):
            sbg.GStreamerSource("videotestsrc", access="x")  # type: ignore[arg-type]  # the test

    def test_after_closing(self) -> None:
        source = sbg.GStreamerSource(f"videotestsrc ! {GRAY}")
        frame = source.read()
        assert frame is not None
        source.close()
        source.close()
        for use in (source.read, lambda: source.pipeline, lambda: next(source), source.__enter__):
            with pytest.raises(ClosedError):
                use()
        assert frame.map("cpu").native[0].shape == (8, 16)

    def test_dropped_while_it_plays(self) -> None:
        source = sbg.GStreamerSource(f"videotestsrc ! {GRAY}")
        pipeline = source.pipeline
        source.read()
        del source
        gc.collect()
        assert pipeline.get_state(0)[1] == Gst.State.NULL

    def test_sound(self) -> None:
        with sbg.GStreamerSource(
            "audiotestsrc num-buffers=3 samplesperbuffer=100 ! "
            "audio/x-raw,format=S16LE,channels=2,rate=8000,layout=interleaved"
        ) as source:
            shapes = [frame.map("cpu").native[0].shape for frame in source]
        assert shapes == [(100, 2)] * 3


class TestTags:
    TAGS = (
        "title=Cat,artist={one,two},track-number=(uint)7,datetime=(datetime)2024-05-06,"
        "replaygain-track-gain=(double)0.5"
    )
    READ: ClassVar[dict[str, Any]] = {
        "title": "Cat",
        "artist": ["one", "two"],
        "track-number": 7,
        "datetime": "2024-05-06",
        "replaygain-track-gain": 0.5,
    }

    def arrived_at(self, element: Any) -> Any:
        """The last Gst.TagList that came to an element, or None."""
        event = element.get_static_pad("sink").get_sticky_event(Gst.EventType.TAG, 0)
        return None if event is None else event.parse_tag()

    def test_of_a_stream_and_back(self) -> None:
        source = sbg.GStreamerSource(
            f'videotestsrc num-buffers=3 ! {GRAY} ! taginject tags="{self.TAGS}"'
        )
        pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
        out = pipeline.get_by_name("out")
        with source, sbg.GStreamerSink(pipeline) as sink:
            for frame in source:
                assert frame.metadata["gstreamer"]["tags"] == self.READ
                sink.write(frame)
                assert out.try_pull_sample(5 * Gst.SECOND) is not None
            assert self.arrived_at(out).is_equal(
                Gst.TagList.new_from_string(f"taglist,{self.TAGS}")
            )

    def test_changed_tags_arrive_with_their_frame(self) -> None:
        pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
        out = pipeline.get_by_name("out")
        with sbg.GStreamerSink(pipeline) as sink:
            for title in ("first", "second"):
                frame = gray(1)
                frame.metadata["gstreamer"] = {"tags": {"title": title}}
                sink.write(frame)
                assert out.try_pull_sample(5 * Gst.SECOND) is not None
                assert self.arrived_at(out).to_string() == f"taglist, title=(string){title};"

    @pytest.mark.parametrize(
        "tags",
        [
            3,
            {"no-such-tag": 1},
            {3: 4},
            {"title": 3},
            {"title": [b"x"]},
            {"track-number": "x"},
            {"track-number": -1},
            {"datetime": "x"},
        ],
    )
    def test_what_is_not_a_tag_is_left_out(self, tags: Any) -> None:
        frame = gray(1)
        frame.metadata["gstreamer"] = {"tags": tags}
        pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
        out = pipeline.get_by_name("out")
        with sbg.GStreamerSink(pipeline) as sink:
            sink.write(frame)
            assert out.try_pull_sample(5 * Gst.SECOND) is not None
            assert self.arrived_at(out) is None


class TestSink:
    def test_the_same_bytes_arrive(self) -> None:
        pipeline = Gst.parse_launch(
            "appsrc name=in ! identity ! queue ! appsink name=out sync=false"
        )
        out = pipeline.get_by_name("out")
        frame = gray(7, 3)
        with sbg.GStreamerSink(pipeline) as sink:
            sink.write(frame)
            sample = out.try_pull_sample(5 * Gst.SECOND)
            arrived = sbg.frame_of(sample)
            assert arrived.pts == 120_000_000
            assert arrived.map("cpu").native[0].ctypes.data == frame.native[0].ctypes.data
            assert arrived.caps.to_string() == sample.get_caps().to_string()

    @pytest.mark.parametrize("held", [False, True])
    def test_a_time_that_was_changed(self, held: bool) -> None:
        """Goes out with the same bytes; the buffer of others keeps its own."""
        pipeline = Gst.parse_launch("appsrc name=in ! appsink name=out sync=false")
        out = pipeline.get_by_name("out")
        text = f"videotestsrc num-buffers=2 ! {GRAY}"
        with sbg.GStreamerSource(text) as source, sbg.GStreamerSink(pipeline) as sink:
            frame = source.read()
            assert frame is not None
            wait_until_writable(frame)
            other = Gst.Sample.new(frame.native, None, None, None) if held else None
            address = frame.map("cpu").native[0].ctypes.data
            frame.meta.pts, frame.meta.time_base = 9, Fraction(1, 3)
            sink.write(frame)
            sample = out.try_pull_sample(5 * Gst.SECOND)
            arrived = sbg.frame_of(sample)
            assert arrived.pts == 3 * 10**9
            assert arrived.map("cpu").native[0].ctypes.data == address
            assert other is None or other.get_buffer().pts == 0

    def test_a_file_that_is_read_again(self, tmp_path: Path, lent: Callable[[], int]) -> None:
        path = tmp_path / "out.mkv"
        with sbg.GStreamerSink(f"matroskamux ! filesink location={path}", caps=GRAY) as sink:
            for number in range(10):
                sink.write(gray(number, number))
        assert lent() == 0
        text = f"filesrc location={path} ! matroskademux ! videoconvert ! video/x-raw,format=GRAY8"
        with sbg.GStreamerSource(text) as source:
            values = [int(frame.map("cpu").native[0][0, 0]) for frame in source]
        assert values == list(range(10))

    def test_no_room(self) -> None:
        sink = sbg.GStreamerSink("fakesink sync=true", timeout=0.2, max_buffers=2)
        with pytest.raises(PipelineTimeoutError, match="took no frame"):
            write_all(sink, [number * 1000 for number in range(10)])
        sink.stop()

    def test_errors_of_elements(self) -> None:
        sink = sbg.GStreamerSink("identity error-after=2 ! fakesink", timeout=5)
        with pytest.raises(PipelineError, match="identity") as caught:
            write_all(sink, range(100))
        assert caught.value.debug
        sink.stop()
        # With caps that the next element does not take.
        bad = sbg.GStreamerSink("video/x-raw,format=RGB ! fakesink", timeout=5)
        with pytest.raises(PipelineError), bad:
            write_all(bad, range(100))

    def test_a_failed_pipeline_takes_no_more(self) -> None:
        sink = sbg.GStreamerSink("identity error-after=2 ! fakesink", timeout=5)
        with pytest.raises(PipelineError):
            write_all(sink, range(100))
        with pytest.raises(PipelineError, match="identity"):
            sink.write(gray(1))
        with pytest.raises(PipelineError, match="identity"):
            sink.close()

    def test_an_element_that_ends_the_stream(self) -> None:
        sink = sbg.GStreamerSink("identity eos-after=2 ! fakesink", timeout=5)
        with sink, pytest.raises(ClosedError, match="an element"):
            write_all(sink, range(100))

    def test_caps_of_crops_of_one_size(self) -> None:
        pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
        out = pipeline.get_by_name("out")
        with sbg.GStreamerSink(pipeline) as sink:
            for width in (64, 128):
                sink.write(cropped(width))
                sample = out.try_pull_sample(5 * Gst.SECOND)
                assert sample.get_caps().get_structure(0).get_int("width") == (True, width)

    @pytest.mark.parametrize(
        "details",
        [{"framerate": 29.97}, {"pixel_aspect_ratio": "4:3"}, {"framerate": 2**40}],
    )
    def test_metadata_that_makes_no_caps(self, details: dict[str, Any]) -> None:
        frame = gray(1)
        frame.metadata["gstreamer"] = details
        with sbg.GStreamerSink("fakesink") as sink, pytest.raises(LayoutError, match="gstreamer"):
            sink.write(frame)

    def test_an_exception_in_the_block_stops_at_once(self) -> None:
        sink = sbg.GStreamerSink("fakesink sync=true")

        def work() -> None:
            with sink:
                sink.write(gray(1, 10**6))
                raise KeyError("of the user")

        with pytest.raises(KeyError):
            work()
        with pytest.raises(ClosedError):
            sink.write(gray(1))

    def test_after_the_end(self) -> None:
        with sbg.GStreamerSink("fakesink") as sink:
            sink.write(gray(1))
            sink.end()
            with pytest.raises(ClosedError, match="ended"):
                sink.write(gray(2))
        for use in (sink.__enter__, lambda: sink.pipeline, lambda: sink.write(gray(1))):
            with pytest.raises(ClosedError):
                use()
        sink.close()

    def test_nothing_written(self) -> None:
        with sbg.GStreamerSink("fakesink"):
            pass

    def test_wrong_arguments(self) -> None:
        with pytest.raises(LayoutError, match="parse"):
            sbg.GStreamerSink("fakesink", caps="nonsense,,")
        with pytest.raises(UnknownNameError):
            sbg.GStreamerSink("fakesink", access="x")  # type: ignore[arg-type]  # the test
        with pytest.raises(UnsupportedObjectError, match="no appsrc"):
            sbg.GStreamerSink(Gst.parse_launch("videotestsrc ! fakesink"))
        sink = sbg.GStreamerSink("fakesink")
        with sink, pytest.raises(UnsupportedObjectError, match="frames"):
            sink.write(np.zeros(3))  # type: ignore[arg-type]  # the test

    def test_writing_in_place(self) -> None:
        """With "rw" an element writes into the lender's memory; with "r" it takes a copy."""
        for access, seen in (("rw", True), ("r", False)):
            frame = sb.context("cpu").allocate_frame("I420", 64, 48)
            for plane in frame:
                plane.native[...] = 100
            frame.meta.pts, frame.meta.time_base = 0, Fraction(1, 25)
            with sbg.GStreamerSink(
                "videobalance brightness=0.5 ! fakesink",
                access=access,  # type: ignore[arg-type]  # literals
            ) as sink:
                sink.write(frame)
            assert (frame.native[0] != 100).any() == seen

    def test_from_a_pipeline_to_another(self) -> None:
        """Buffers go over as they are."""
        pipeline = Gst.parse_launch("appsrc ! appsink name=out sync=false")
        source = sbg.GStreamerSource(f"videotestsrc num-buffers=3 ! {GRAY}")
        with sbg.GStreamerSink(pipeline) as sink, source:
            for frame in source:
                sink.write(frame)
                got = pipeline.get_by_name("out").try_pull_sample(5 * Gst.SECOND)
                memory = got.get_buffer().peek_memory(0)
                assert hash(memory) == frame.planes[0].handle("gst_memory")
                del memory
                del got


I420 = "video/x-raw,format=I420,width=64,height=64,framerate=25/1"


@pytest.mark.parametrize(
    "elements",
    [
        f"videotestsrc num-buffers=3 ! {I420}",
        f"videotestsrc num-buffers=3 ! {I420} ! queue ! identity ! queue ! appsink name=a",
        f"videotestsrc num-buffers=3 ! {I420} ! tee name=t ! queue ! appsink",
        f"videotestsrc num-buffers=3 ! {I420} ! videoconvert ! video/x-raw,format=NV12",
        "audiotestsrc num-buffers=3 ! audio/x-raw,format=S16LE,channels=2",
    ],
)
def test_elements_allocate_whole_pages_for_a_source(elements: str) -> None:
    with sbg.GStreamerSource(elements) as source:
        for frame in source:  # all that are in a pool
            assert frame.map("cpu").planes[0].handle("data") % mmap.PAGESIZE == 0


@pytest.mark.parametrize(
    ("format_", "width", "height", "between"),
    [
        ("I420", 322, 242, ""),
        ("I420", 94, 62, "! videoscale ! video/x-raw,width=50,height=30"),
        ("NV12", 94, 62, "! queue ! identity"),
        ("P010_10LE", 94, 62, ""),
        ("RGB", 94, 61, ""),
    ],
)
def test_planes_of_any_size_begin_at_cache_lines(
    format_: str, width: int, height: int, between: str
) -> None:
    """As a GPU takes them; where they do so anyway, rows are not padded."""
    size = f"format={format_},width={width},height={height}"
    text = f"videotestsrc pattern=gradient num-buffers=6 ! video/x-raw,{size} {between}"
    with sbg.GStreamerSource(text) as source:
        frames = [frame.map("cpu") for frame in source]
    by_hand = f"{text} ! identity drop-allocation=true"
    with sbg.GStreamerSource(by_hand) as source:
        for frame, plain in zip(frames, source, strict=True):
            for plane, same in zip(frame.planes, plain.map("cpu").planes, strict=True):
                assert plane.strides is not None
                assert plane.handle("data") % 64 == plane.strides[0] % 64 == 0
                np.testing.assert_array_equal(plane.native, same.native)
    assert sb.stats().copies == 0
