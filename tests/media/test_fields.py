# SPDX-License-Identifier: Apache-2.0
"""Interlacing, pixel aspect, duration and rates, from FFmpeg to GStreamer and back."""

from __future__ import annotations

import socket
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import LayoutError, SamebytesError

av = pytest.importorskip("av", reason="missing package av: pip install av")
sbg = pytest.importorskip(
    "samebytes_gstreamer",
    reason="missing package samebytes-gstreamer: pip install samebytes-gstreamer",
)
pytest.importorskip(
    "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
)
pytest.importorskip("gi", reason="missing package PyGObject: pip install PyGObject")

from .filters import filtered  # noqa: E402 - after what it needs
from .pipelines import Gst, GstVideo, played  # noqa: E402 - after what it needs

SIZE = "width=64,height=48,framerate=25/1"
NBYTES = 64 * 48 * 3 // 2
FLAGS = GstVideo.VideoBufferFlags


def flags_of(buffer: Any) -> Any:
    return FLAGS(buffer.mini_object.flags & 0xF00000)


def caps_of(mapped: Any) -> Any:
    return mapped.caps if mapped.memory_type == "gstreamer" else None


def flagged(*flags: Any) -> Any:
    buffer = Gst.Buffer.new_allocate(None, NBYTES, None)
    for flag in flags:
        assert buffer.set_flags(Gst.BufferFlags(int(flag)))
    return buffer


def through_filter(*filters: tuple[str, str]) -> Any:
    """A frame that filters of FFmpeg mark, as they mark frames for its encoders."""
    native = av.VideoFrame(64, 48, "yuv420p")
    native.pts, native.time_base = 3, Fraction(1, 25)
    return filtered(native, *filters)


def seen_by_ffmpeg(native: Any) -> str:
    """Return how a filter of FFmpeg takes the fields: "fieldorder" acts on interlaced ones."""
    rows = np.arange(native.height, dtype=np.uint8)[:, None] + np.zeros((1, 64), np.uint8)
    with sb.frame(native).map("cpu", "w") as view:
        view.native[0][...] = rows
    ordered = filtered(native, ("fieldorder", "tff"))
    # The filter works on YUYV: luma is every second byte.
    found = np.array(sb.frame(ordered).map("cpu").native[0])[..., 0]
    # Bottom first: the filter moves the picture by one line. Others it leaves alone.
    return "moved" if not np.array_equal(found, rows) else "left alone"


@pytest.mark.parametrize(
    ("mode", "order"), [("tff", "top"), ("bff", "bottom"), ("prog", "progressive")]
)
def test_field_order_from_ffmpeg(mode: str, order: str) -> None:
    frame = sb.frame(through_filter(("setfield", f"mode={mode}")))
    assert frame.metadata.get("field_order", "progressive") == order
    ffmpeg = frame.metadata["ffmpeg"]
    assert (ffmpeg["interlaced_frame"], ffmpeg["top_field_first"]) == (
        order != "progressive", order == "top",
    )  # fmt: skip
    mapped: Any = frame.map("gstreamer")
    info = GstVideo.VideoInfo.new_from_caps(mapped.caps)
    interlaced = order != "progressive"
    assert (info.interlace_mode == GstVideo.VideoInterlaceMode.INTERLEAVED) == interlaced
    assert bool(flags_of(mapped.buffer) & FLAGS.INTERLACED) == interlaced
    assert bool(flags_of(mapped.buffer) & FLAGS.TFF) == (order == "top")
    video = GstVideo.buffer_get_video_meta(mapped.buffer)
    assert bool(video.flags & GstVideo.VideoFrameFlags.TFF) == (order == "top")
    # GStreamer's own elements act on it: deinterlace makes two frames of one.
    with played("identity", mapped) as back:
        assert back.metadata["field_order"] == order
        native = back.map("ffmpeg", copy=True).native
        assert native.interlaced_frame == interlaced
    wanted = "moved" if order == "bottom" else "left alone"
    copied = through_filter(("setfield", f"mode={mode}"))
    assert seen_by_ffmpeg(sb.frame(copied).map("cpu", "rw").map("ffmpeg", "rw").native) == wanted


@pytest.mark.parametrize("flags", range(8))
@pytest.mark.parametrize("field_order", [None, "top-field-first", "bottom-field-first"])
@pytest.mark.parametrize("mode", ["progressive", "interleaved", "mixed"])
def test_flags_of_buffers(mode: str, field_order: str | None, flags: int) -> None:
    """As gst_video_frame_map() sees each combination of mode, order and flags."""
    caps = Gst.Caps.from_string(
        f"video/x-raw,format=I420,{SIZE},interlace-mode={mode}"
        + (f",field-order={field_order}" if field_order else "")
    )
    kinds = (FLAGS.INTERLACED, FLAGS.TFF, FLAGS.RFF)
    buffer = flagged(*[flag for number, flag in enumerate(kinds) if flags >> number & 1])
    interlaced = mode == "interleaved" or (mode == "mixed" and flags & 1)
    top = field_order == "top-field-first" or flags & 2
    frame = sbg.frame_of(buffer, caps)
    found = frame.metadata["field_order"]
    assert found == (("top" if top else "bottom") if interlaced else "progressive")
    assert frame.metadata.get("repeat_fields") == (1 if interlaced and flags & 4 else None)
    native = frame.map("ffmpeg").native
    known = sb.frame(native).metadata["ffmpeg"]
    assert known["interlaced_frame"] == bool(interlaced)
    assert known["top_field_first"] == bool(interlaced and top)
    assert known["repeat_pict"] == (1 if interlaced and flags & 4 else 0)
    # And back onto a buffer of ours.
    mapped: Any = frame.map("cpu").map("gstreamer")
    again = GstVideo.VideoInfo.new_from_caps(mapped.caps)
    assert again.interlace_mode.value_nick == mode
    assert bool(flags_of(mapped.buffer) & FLAGS.INTERLACED) == bool(interlaced)
    assert bool(flags_of(mapped.buffer) & FLAGS.TFF) == bool(interlaced and top)
    assert bool(flags_of(mapped.buffer) & FLAGS.RFF) == bool(interlaced and flags & 4)
    assert sbg.frame_of(mapped.buffer, mapped.caps).metadata["field_order"] == found


def test_one_field_alone_stays_marked() -> None:
    buffer = flagged(FLAGS.INTERLACED, FLAGS.ONEFIELD)
    frame = sbg.frame_of(buffer, f"video/x-raw,format=I420,{SIZE},interlace-mode=mixed")
    assert frame.metadata["gstreamer"]["one_field"] is True
    mapped: Any = frame.map("cpu").map("gstreamer")
    assert bool(flags_of(mapped.buffer) & FLAGS.ONEFIELD)


@pytest.mark.parametrize("mode", ["alternate", "fields"])
def test_buffers_of_single_fields(mode: str) -> None:
    feature = "(format:Interlaced)" if mode == "alternate" else ""
    caps = f"video/x-raw{feature},format=I420,{SIZE},interlace-mode={mode}"
    with pytest.raises(LayoutError, match=mode):
        sbg.frame_of(Gst.Buffer.new_allocate(None, NBYTES, None), caps)


def test_deinterlacing_of_what_came_from_ffmpeg() -> None:
    """GStreamer's deinterlacer makes one picture of each field."""
    for mode, count in (("tff", 2), ("prog", 1)):
        frame = sb.frame(through_filter(("setfield", f"mode={mode}")))
        mapped: Any = frame.map("gstreamer")
        text = "appsrc name=in format=time ! deinterlace fields=all ! appsink name=out sync=false"
        pipeline = Gst.parse_launch(text)
        source, sink = pipeline.get_by_name("in"), pipeline.get_by_name("out")
        caps = mapped.caps.to_string() + ",framerate=(fraction)25/1"
        source.set_property("caps", Gst.Caps.from_string(caps))
        pipeline.set_state(Gst.State.PLAYING)
        for number in range(6):
            frame.meta.pts = number
            again: Any = frame.map("gstreamer")
            source.emit("push-buffer", again.buffer)
        source.emit("end-of-stream")
        found = 0
        while sink.emit("try-pull-sample", 5 * Gst.SECOND) is not None:
            found += 1
        pipeline.set_state(Gst.State.NULL)
        assert found // 6 == count or (count == 2 and found > 6)


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(16, 11), Fraction(2**31 - 1, 1)])
def test_pixels_that_are_not_square(ratio: Fraction) -> None:
    text = f"sar={ratio.numerator}/{ratio.denominator}"
    frame = sb.frame(through_filter(("setsar", f"{text}:max=2147483647")))
    assert frame.metadata["ffmpeg"]["sample_aspect_ratio"] == ratio
    assert frame.metadata["sample_aspect_ratio"] == ratio
    mapped: Any = frame.map("gstreamer")
    info = GstVideo.VideoInfo.new_from_caps(mapped.caps)
    assert Fraction(info.par_n, info.par_d) == ratio
    back = sbg.frame_of(mapped.buffer, mapped.caps)
    assert sb.frame(back.map("ffmpeg").native).metadata["sample_aspect_ratio"] == ratio


def test_duration_both_ways() -> None:
    native = av.VideoFrame(64, 48, "yuv420p")
    native.pts, native.time_base, native.duration = 1024, Fraction(1, 12_800), 512
    frame = sb.frame(native)
    assert frame.metadata["duration"] == Fraction(1, 25)
    mapped: Any = frame.map("gstreamer")
    assert (mapped.buffer.pts, mapped.buffer.duration) == (80_000_000, 40_000_000)
    back = sbg.frame_of(mapped.buffer, mapped.caps)
    assert back.metadata["duration"] == Fraction(1, 25)
    again = back.map("ffmpeg").native
    assert again.duration * again.time_base == Fraction(1, 25)
    sound = av.AudioFrame("s16", "stereo", 441)
    sound.sample_rate, sound.pts, sound.time_base = 44_100, 0, Fraction(1, 44_100)
    sound.duration = 441
    heard: Any = sb.frame(sound).map("gstreamer")
    assert heard.buffer.duration == 10_000_000


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("duration", -1), ("duration", 0.04), ("sample_aspect_ratio", 0), ("field_order", "tff"),
        ("sample_aspect_ratio", "4:3"), ("repeat_fields", -1), ("repeat_fields", True),
    ],
)  # fmt: skip
def test_entries_that_are_something_else(key: str, wrong: object) -> None:
    frame = sb.context("cpu").allocate_frame("I420", 64, 48)
    frame.metadata[key] = wrong
    if key == "repeat_fields":
        frame.metadata["field_order"] = "top"
    for target in ("ffmpeg", "gstreamer"):
        with pytest.raises(SamebytesError, match=key):
            caps_of(frame.map(target))


class TestFrameRate:
    """In caps for encoders: with 0/1, openh264enc loses a frame and theoraenc does not begin."""

    def frames(self, **marks: Any) -> Any:
        for number in range(5):
            frame = sb.context("cpu").allocate_frame("I420", 64, 48)
            for plane in frame.native:
                plane[...] = np.random.default_rng(number).integers(0, 256, plane.shape)
            frame.meta.pts, frame.meta.time_base = number, Fraction(1, 25)
            frame.metadata.update(marks)
            yield frame

    def caps_in(self, frames: Any) -> Any:
        with sbg.GStreamerSink("appsrc ! fakesink name=end sync=false") as sink:
            for frame in frames:
                sink.write(frame)
            pad = sink.pipeline.get_by_name("end").get_static_pad("sink")
            sink.end()
            sink._pipeline.wait_until_end(10, lambda: None)
            return pad.get_current_caps().get_structure(0).to_string()

    def test_of_a_time_base_that_counts_frames(self) -> None:
        assert "framerate=(fraction)25/1" in self.caps_in(self.frames())

    def test_of_durations(self) -> None:
        found = self.caps_in(self.frames(duration=Fraction(33_366_667, 10**9)))
        assert "framerate=(fraction)30000/1001" in found

    def test_stays_when_durations_vary(self) -> None:
        frames = list(self.frames())
        for number, frame in enumerate(frames):
            frame.metadata["duration"] = Fraction(1, 10 + number)
        assert "framerate=(fraction)10/1" in self.caps_in(frames)

    @pytest.mark.parametrize("base", [Fraction(1, 90_000), Fraction(1, 1000), None])
    def test_not_known(self, base: Fraction | None) -> None:
        frames = list(self.frames())
        for frame in frames:
            frame.meta.time_base = base
        assert "framerate=(fraction)0/1" in self.caps_in(frames)
        mapped: Any = frames[0].map("gstreamer")
        assert not mapped.caps.get_structure(0).has_field("framerate")

    def test_that_is_stated(self) -> None:
        found = self.caps_in(self.frames(gstreamer={"framerate": Fraction(50)}))
        assert "framerate=(fraction)50/1" in found

    def test_that_is_stated_as_unknown(self) -> None:
        """0/1 says no more than nothing does: the duration is the better word."""
        unknown = {"framerate": Fraction(0)}
        found = self.caps_in(self.frames(gstreamer=unknown, duration=Fraction(1, 25)))
        assert "framerate=(fraction)25/1" in found
        nothing = list(self.frames(gstreamer=unknown))
        for frame in nothing:
            frame.meta.time_base = None
        assert "framerate=(fraction)0/1" in self.caps_in(nothing)

    def test_of_frames_from_a_pipeline_that_does_not_know_it(self) -> None:
        """They come back with caps of their own, features and colours included."""
        caps = "video/x-raw,format=I420,width=64,height=48,framerate=0/1,colorimetry=bt709"
        launch = "videotestsrc num-buffers=3 ! video/x-raw,framerate=25/1 ! capssetter"
        with sbg.GStreamerSource(f'{launch} caps="{caps}" join=false replace=true') as source:
            frames = list(source)
        assert [f.metadata["gstreamer"]["framerate"] for f in frames] == [0] * 3
        found = self.caps_in(frames)
        assert "framerate=(fraction)25/1" in found
        assert "colorimetry=(string)bt709" in found

    @pytest.mark.parametrize(
        ("encoder", "end"),
        [("openh264enc", "h264parse ! mp4mux"), ("theoraenc", "oggmux"), ("jpegenc", "avimux")],
    )
    def test_encoders_keep_every_frame(self, tmp_path: Path, encoder: str, end: str) -> None:
        if any(Gst.ElementFactory.find(e) is None for e in (encoder, *end.split(" ! "))):
            pytest.skip(
                f"missing element {encoder} or {end}: apt install gstreamer1.0-plugins-base "
                "gstreamer1.0-plugins-good gstreamer1.0-plugins-bad"
            )
        path = tmp_path / "out"
        with sbg.GStreamerSink(f"{encoder} ! {end} ! filesink location={path}") as sink:
            for frame in self.frames():
                sink.write(frame)
        with av.open(str(path)) as container:
            times = [round(f.time * 25) for f in container.decode(video=0)]
        assert times == [0, 1, 2, 3, 4]


def test_a_frame_of_gstreamer_through_a_socket() -> None:
    ipc = pytest.importorskip(
        "samebytes_ipc", reason="missing package samebytes-ipc: pip install samebytes-ipc"
    )
    caps = f"video/x-raw,format=I420,{SIZE},colorimetry=bt709,pixel-aspect-ratio=4/3"
    made: Any = sb.context("dma").allocate_frame("I420", 64, 48).map("gstreamer", "rw")
    made.buffer.pts, made.buffer.duration = 5, 40_000_000
    # As a sample that an appsink hands out.
    frame = sb.frame(Gst.Sample.new(made.buffer, Gst.Caps.from_string(caps), None, None))
    assert isinstance(frame.metadata["gstreamer"]["framerate"], Fraction)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        theirs.settimeout(10)
        ipc.send(ours, frame.map("dma"))
        with ipc.receive(theirs) as got:
            assert got.metadata == frame.metadata
            mapped: Any = got.map("gstreamer")
            assert mapped.caps.to_string().count("framerate=(fraction)25/1") == 1
            mapped.close()


def test_side_data_and_rotation_of_ffmpeg(tmp_path: Path) -> None:
    path = str(tmp_path / "turned.mp4")
    with av.open(path, "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for packet in (*stream.encode(av.VideoFrame(64, 48, "yuv420p")), *stream.encode(None)):
            container.mux(packet)
    data = Path(path).read_bytes()
    # The matrix of tkhd, ISO/IEC 14496-12: 16.16 numbers, the last of each row 2.30.
    plain = np.array([1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30], ">i4").tobytes()
    turned = np.array([0, 1 << 16, 0, -(1 << 16), 0, 0, 48 << 16, 0, 1 << 30], ">i4").tobytes()
    at = data.index(plain, data.index(b"tkhd"))
    Path(path).write_bytes(data[:at] + turned + data[at + len(plain) :])
    with av.open(path) as container:
        native = next(container.decode(video=0))
    known = sb.frame(native).metadata["ffmpeg"]
    assert abs(known["rotation"]) == 90
    assert np.frombuffer(known["side_data"]["DISPLAYMATRIX"], np.int32)[1] != 0
    # It stays on the way through other memory.
    again = sb.frame(native).map("cpu").map("ffmpeg").native
    assert again.rotation == native.rotation
