# SPDX-License-Identifier: Apache-2.0
"""Input of encoders: a source gives what they take, if it can; what they refuse is named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, NegotiationError
from samebytes.testing import assert_no_garbage
from samebytes_ffmpeg import FFmpegSink


class Screen(el.Source):
    """Pictures in the format that the next element wants."""

    gives = el.Image("NV12|BGR|I422|I420|GRAY8", memory="cpu")
    rate: Fraction | None = None

    def negotiate(self, wanted: el.FrameInfo | None) -> el.FrameInfo | None:
        assert wanted is not None
        self._info = replace(wanted, width=64, height=48, rate=self.rate)
        self._left = 3
        return self._info

    def read(self) -> sb.Frame[Any] | None:
        if not self._left:
            return None
        self._left -= 1
        assert self._info.format is not None
        made = sb.context("cpu").allocate_frame(self._info.format, 64, 48)
        for plane in made.planes:
            plane.native[...] = 90
        return made


def of_range(
    range_: ColorRange, format_: str = "yuv420p", count: int = 3
) -> Iterator[av.VideoFrame]:
    """Grey pictures whose values are of that range."""
    for number in range(count):
        made = av.VideoFrame.from_ndarray(np.full((72, 64), 90, np.uint8), format_)
        made.color_range = range_
        made.pts, made.time_base = number, Fraction(1, 25)
        yield made


def rate_of(path: Path) -> Fraction | None:
    with av.open(str(path)) as container:
        return container.streams.video[0].average_rate


@pytest.mark.parametrize(
    ("codec", "ending", "given"),
    [
        ("", "mkv", "NV12"),
        ("mpeg4", "mp4", "I420"),
        ("gif", "gif", "GRAY8"),
        ("huffyuv", "avi", "I422"),
    ],
)
def test_a_source_gives_what_the_encoder_takes(
    codec: str, ending: str, given: str, tmp_path: Path
) -> None:
    pipe = el.Pipeline(Screen(), FFmpegSink(tmp_path / f"made.{ending}", codec=codec))
    assert pipe.explain().startswith(f"Screen gives image {given} 64x48 in cpu")
    pipe.run(threads=0)


def test_no_agreement_says_what_the_encoder_takes(tmp_path: Path) -> None:
    source = el.source(gives=el.Image("NV12", memory="cpu", width=64, height=48))(lambda: iter(()))
    pipe = el.Pipeline(source(), FFmpegSink(tmp_path / "made.avi", codec="mjpeg"))
    with pytest.raises(NegotiationError) as caught:
        pipe.explain()
    assert "it takes image that mjpeg encodes" in str(caught.value)
    assert "mjpeg takes yuvj420p, " in str(caught.value)
    assert str(caught.value).endswith(", not nv12")


def test_jpeg_is_of_full_range(tmp_path: Path) -> None:
    made = tmp_path / "made.avi"
    el.Pipeline(of_range(ColorRange.JPEG), FFmpegSink(made, codec="mjpeg")).run(threads=0)
    with av.open(str(made)) as container:
        assert [frame.to_ndarray()[0, 0] for frame in container.decode(video=0)] == [90] * 3


@pytest.mark.parametrize(
    ("range_", "said"),
    [(ColorRange.MPEG, "of limited range"), (ColorRange.UNSPECIFIED, "that they do not say")],
)
def test_jpeg_of_another_range_is_refused_with_the_cause(
    range_: ColorRange, said: str, tmp_path: Path
) -> None:
    made = tmp_path / "made.avi"
    with pytest.raises(ElementError, match=rf"mjpeg takes YUV of full range .*{said}.*'strict'"):
        el.Pipeline(of_range(range_), FFmpegSink(made, codec="mjpeg")).run(threads=0)
    allowed = FFmpegSink(made, codec="mjpeg", options={"strict": "unofficial"})
    el.Pipeline(of_range(range_), allowed).run(threads=0)
    assert len(made.read_bytes()) > 1000


@pytest.mark.parametrize(
    ("codec", "ending", "range_"),
    [
        ("mjpeg", "avi", ColorRange.MPEG),
        ("mjpeg", "avi", ColorRange.UNSPECIFIED),
        ("mpeg2video", "mkv", ColorRange.JPEG),
        ("ffv1", "avi", ColorRange.JPEG),
    ],
)
def test_the_conversion_that_an_error_names_gives_the_range(
    codec: str, ending: str, range_: ColorRange, tmp_path: Path
) -> None:
    made = tmp_path / f"made.{ending}"
    with pytest.raises(ElementError, match="before it, ") as caught:
        el.Pipeline(of_range(range_), FFmpegSink(made, codec=codec)).run(threads=0)
    named = re.search(r'create\("convert", "(\w+)", color_range="(\w+)"\)', str(caught.value))
    assert named is not None
    convert = el.create("convert", named[1], color_range=named[2])
    el.Pipeline(of_range(range_), convert, FFmpegSink(made, codec=codec)).run(threads=0)
    with av.open(str(made)) as container:
        assert len(list(container.decode(video=0))) == 3


@pytest.mark.parametrize(
    ("format_", "ending", "said"),
    [
        ("yuv420p", "mov", "readers of mov .* take the encoder 'ffv1' in .mkv, or convert"),
        ("yuv420p", "mp4", "mp4 has no place for rawvideo"),
        ("yuv444p", "mkv", "no place for raw yuv444p: take the encoder 'ffv1' in .mkv, or convert"),
    ],
)
def test_raw_frames_of_full_range_that_a_container_does_not_take(
    format_: str, ending: str, said: str, tmp_path: Path
) -> None:
    """Neither another range nor a container without one is advised."""
    frames = [frame.reformat(format=format_) for frame in of_range(ColorRange.JPEG)]
    for number, frame in enumerate(frames):
        frame.color_range, frame.pts, frame.time_base = ColorRange.JPEG, number, Fraction(1, 25)
    with pytest.raises(ElementError, match=said):
        el.Pipeline(frames, FFmpegSink(tmp_path / f"a.{ending}", codec="rawvideo")).run(threads=0)
    made = tmp_path / "made.mkv"
    el.Pipeline(frames, FFmpegSink(made, codec="ffv1")).run(threads=0)
    with av.open(str(made)) as container:
        assert next(container.decode(video=0)).color_range == ColorRange.JPEG


@pytest.mark.parametrize(("format_", "ending"), [("RGB", "avi"), ("GRAY8", "mov"), ("BGR", "mkv")])
def test_raw_frames_without_another_range_than_full(
    format_: str, ending: str, tmp_path: Path
) -> None:
    """NUT takes them."""
    frame = sb.context("cpu").allocate_frame(format_, 64, 48)
    frame.metadata["color_range"] = "full"
    with pytest.raises(ElementError, match=r"take another ending \(\.nut\)"):
        el.Pipeline([frame], FFmpegSink(tmp_path / f"a.{ending}", "rawvideo")).run(threads=0)
    el.Pipeline([frame], FFmpegSink(tmp_path / "a.nut", "rawvideo")).run(threads=0)


@pytest.mark.parametrize(
    ("codec", "ending"),
    [("ffv1", "mkv"), ("mpeg4", "mkv"), ("libvpx-vp9", "webm"), ("libx264", "mp4"), ("", "mp4")],
)
def test_pictures_of_a_jpeg_decoder_keep_their_range(
    codec: str, ending: str, tmp_path: Path
) -> None:
    """A decoder of JPEG calls them yuvj420p, and few encoders know that name."""
    made = tmp_path / f"made.{ending}"
    frames = list(of_range(ColorRange.JPEG, "yuvj420p"))
    el.Pipeline(frames, FFmpegSink(made, codec=codec)).run(threads=0)
    with av.open(str(made)) as container:
        found = list(container.decode(video=0))
    assert [frame.color_range for frame in found] == [ColorRange.JPEG] * 3
    assert [round(float(frame.to_ndarray()[:48].mean())) for frame in found] == [90] * 3
    assert [(frame.pts, frame.format.name) for frame in frames] == [
        (number, "yuvj420p") for number in range(3)
    ]
    assert sb.stats().copied_bytes == 0


@pytest.mark.pyav17
@pytest.mark.parametrize(
    ("ending", "codec", "given", "usual"),
    [
        ("gif", "", "yuv420p", "'gif'"),
        ("webm", "", "yuv420p", "'vp9'"),
        ("png", "", "yuv420p", "'png'"),
        ("jpg", "", "yuv420p", "'mjpeg'"),
        ("y4m", "", "yuv420p", "'rawvideo'"),
        ("ogv", "", "yuv420p", "'vp8'"),
        ("mxf", "mpeg4", "yuv420p", "'mpeg2video'"),
        # FFmpeg would write them, and no reader find them.
        ("ts", "", "bgra", "'mpeg2video'"),
        ("ts", "vp9", "yuv420p", "'mpeg2video'"),
        ("mpg", "ffv1", "yuv420p", "'mpeg1video'"),
    ],
)
def test_a_container_without_a_place_for_the_codec_says_which_it_has(
    ending: str, codec: str, given: str, usual: str, tmp_path: Path
) -> None:
    sink = FFmpegSink(tmp_path / f"made.{ending}", codec=codec)
    with pytest.raises(ElementError, match=f"has no place for .* such as {usual}"):
        el.Pipeline([av.VideoFrame(64, 48, given)], sink).run(threads=0)


@pytest.mark.parametrize("ending", ["ogg", "ogv", "mxf", "webm"])
def test_the_encoder_that_an_error_names_is_there(ending: str, tmp_path: Path) -> None:
    made = tmp_path / f"made.{ending}"
    given = [av.VideoFrame(64, 48, "yuv420p")]
    with pytest.raises(ElementError, match="has no place for mpeg4") as caught:
        el.Pipeline(given, FFmpegSink(made, "mpeg4")).run(threads=0)
    named = re.findall(r"such as '(\w+)'", str(caught.value))
    assert named or ending == "ogg"  # of Theora, which not every FFmpeg encodes
    for codec in named:
        el.Pipeline(given, FFmpegSink(made, codec)).run(threads=0)
        with av.open(str(made)) as container:
            assert len(list(container.decode(video=0))) == 1


@pytest.mark.parametrize(
    ("ending", "given", "ways"),
    [("y4m", "rgb24", 1), ("mkv", "rgb24", 1), ("y4m", "nv12", 1), ("mov", "nv12", 1),
     ("mkv", "gray16le", 2), ("avi", "yuv444p10le", 2), ("mkv", "p010le", 0), ("nut", "p010le", 0)],
)  # fmt: skip
def test_a_container_without_a_place_for_raw_pixels_says_where_they_have_one(
    ending: str, given: str, ways: int, tmp_path: Path
) -> None:
    def write(name: str, codec: str) -> None:
        el.Pipeline([av.VideoFrame(64, 48, given)], FFmpegSink(tmp_path / name, codec)).run(
            threads=0
        )

    with pytest.raises(ElementError, match=f"raw {given}.* convert the frames before") as caught:
        write(f"made.{ending}", "rawvideo")
    found = re.findall(r"ending \(\.(\w+)\)|encoder '(\w+)' in \.(\w+)", str(caught.value))
    assert len(found) == ways
    for raw_ending, codec, its_ending in found:
        write(f"other.{raw_ending or its_ending}", codec or "rawvideo")
        with av.open(str(tmp_path / f"other.{raw_ending or its_ending}")) as container:
            assert next(container.decode(video=0)).format.name == given


@pytest.mark.parametrize("threads", [0, 1])
def test_a_picture_is_the_file_of_one_frame(threads: int, tmp_path: Path) -> None:
    frames = [av.VideoFrame(64, 48, "rgb24") for _ in range(3)]
    el.Pipeline(frames[:1], FFmpegSink(tmp_path / "one.png", "png")).run(threads=threads)
    el.Pipeline(frames, FFmpegSink(tmp_path / "%03d.png", "png")).run(threads=threads)
    with pytest.raises(ElementError, match=r'holds one picture: .* such as "%03d"'):
        el.Pipeline(frames, FFmpegSink(tmp_path / "two.png", "png")).run(threads=threads)
    assert {path.stem for path in tmp_path.iterdir()} == {"one", "001", "002", "003", "two"}


@pytest.mark.parametrize("width", [63, 64, 65])
@pytest.mark.parametrize("ending", ["avi", "mkv", "mov", "nut"])
@pytest.mark.parametrize(
    "given",
    ["bgr0", "bgr24", "gray", "nv12", "nv16", "p010le", "pal8", "rgb24", "uyvy422", "yuv420p"],
)
def test_raw_video_is_read_as_it_was_written_or_refused(
    given: str, ending: str, width: int, tmp_path: Path
) -> None:
    """FFmpeg would write P010 into AVI, which readers take for RGB, and dense rows into MOV."""
    native = av.VideoFrame(width, 48, given)
    for plane in native.planes:
        values = (np.arange(plane.buffer_size) % 251).astype(np.uint8)
        values[3::4] = 255  # palettes of files are opaque
        plane.update(values.tobytes())
    path = tmp_path / f"made.{ending}"
    sink = FFmpegSink(path, codec="rawvideo", options={"strict": "unofficial"})
    refused = ""
    try:
        el.Pipeline([native], sink).run(threads=0)
    except ElementError as error:
        refused = str(error)
    if refused:
        assert re.search(r"find other pixels .*convert the frames|has no place for", refused)
        assert (ending, given) not in {
            ("avi", "bgr24"), ("nut", "yuv420p"), ("mov", "uyvy422"), ("mov", "pal8"),
        }  # fmt: skip
        return
    with av.open(str(path)) as container:
        found = next(container.decode(video=0))
    assert found.format.name == given
    for one, other in zip(sb.frame(found).map("cpu"), sb.frame(native).map("cpu"), strict=True):
        np.testing.assert_array_equal(one.native, other.native)


def test_colour_is_not_to_become_gray(tmp_path: Path) -> None:
    """The encoder of PNG takes RGB and gray."""
    sink = FFmpegSink(tmp_path / "made.png", codec="png")
    with pytest.raises(NegotiationError, match=r'create\("convert", "RGB"\)'):
        el.Pipeline([av.VideoFrame(64, 48, "yuv420p")], sink).run(threads=0)


@pytest.mark.pyav17
@pytest.mark.parametrize("codec", ["ffv1", "vp9"])
@pytest.mark.parametrize(
    ("name", "format_", "options"),
    [
        ("made.m3u8", "", {}),
        ("made%03d.ts", "segment", {}),
        ("made%03d.ts", "stream_segment", {}),
        ("made%03d.video", "segment", {"segment_format": "mpegts"}),
    ],
)
def test_segments_have_places_as_their_container(
    codec: str, name: str, format_: str, options: dict[str, str], tmp_path: Path
) -> None:
    """FFmpeg would write them, and no reader find video in them."""
    made = FFmpegSink(tmp_path / name, codec=codec, format=format_, container_options=options)
    with pytest.raises(ElementError, match=r"readers would find no video: .* such as 'h264'"):
        el.Pipeline(of_range(ColorRange.MPEG), made).run(threads=0)


@pytest.mark.parametrize(
    ("name", "codec", "format_", "options"),
    [
        ("made.m3u8", "libx264", "", {}),
        ("made.m3u8", "libvpx-vp9", "", {"hls_segment_type": "fmp4"}),
        ("made%03d.ts", "libx264", "segment", {}),
        ("made%03d.mkv", "ffv1", "segment", {}),
        ("made%03d.ts", "ffv1", "segment", {"segment_format": "matroska"}),
    ],
)
def test_segments_are_found_by_a_reader(
    name: str, codec: str, format_: str, options: dict[str, str], tmp_path: Path
) -> None:
    made = FFmpegSink(tmp_path / name, codec=codec, format=format_, container_options=options)
    el.Pipeline(of_range(ColorRange.MPEG, count=30), made).run(threads=0)
    with av.open(str(tmp_path / name.replace("%03d", "000"))) as container:
        assert len(list(container.decode(video=0))) == 30


def test_without_a_frame_there_is_the_file_that_was_there(tmp_path: Path) -> None:
    earlier, new = tmp_path / "earlier.mp4", tmp_path / "new.mp4"
    earlier.write_bytes(b"a video")
    for path in (earlier, new):
        el.Pipeline(of_range(ColorRange.MPEG, count=0), FFmpegSink(path)).run(threads=0)
    assert (earlier.read_bytes(), new.exists()) == (b"a video", False)


def test_an_encoder_by_the_name_of_its_codec_is_the_same(tmp_path: Path) -> None:
    """VP8 says limited range of all YUV, and H.264 takes none of an odd size."""
    sink = FFmpegSink(tmp_path / "made.webm", codec="vp8")
    with pytest.raises(ElementError, match="the file would say limited range, as libvpx does"):
        el.Pipeline(of_range(ColorRange.JPEG), sink).run(threads=0)
    odd = FFmpegSink(tmp_path / "made.mp4", codec="h264")
    with pytest.raises(NegotiationError, match="takes whole groups of pixels, not 63x47"):
        el.Pipeline([av.VideoFrame(63, 47, "yuv420p")], odd).run(threads=0)


def test_pictures_of_a_jpeg_decoder_of_an_odd_size_find_an_encoder(tmp_path: Path) -> None:
    """H.264 takes none of an odd size, so it is MPEG-4."""
    made = tmp_path / "made.mkv"
    el.Pipeline([av.VideoFrame(63, 47, "yuvj420p")], FFmpegSink(made)).run(threads=0)
    with av.open(str(made)) as container:
        assert next(container.decode(video=0)).color_range == ColorRange.JPEG


@pytest.mark.parametrize(
    ("codec", "range_", "written"),
    [
        ("libx264", ColorRange.UNSPECIFIED, ColorRange.JPEG),
        ("libx264", ColorRange.MPEG, ColorRange.MPEG),
        ("ffv1", ColorRange.UNSPECIFIED, ColorRange.JPEG),
    ],
)
def test_gray_that_says_nothing_is_written_as_full_range(
    codec: str, range_: ColorRange, written: ColorRange, tmp_path: Path
) -> None:
    """Else players show a file of H.264 with blacks and whites cut off."""
    made = tmp_path / "made.mkv"
    frame = av.VideoFrame.from_ndarray(np.full((48, 64), 250, np.uint8), "gray")
    frame.color_range = range_
    el.Pipeline([frame], FFmpegSink(made, codec=codec)).run(threads=0)
    with av.open(str(made)) as container:
        found = next(container.decode(video=0))
    assert found.color_range == written
    if written == ColorRange.JPEG:
        assert abs(int(found.to_ndarray(format="rgb24")[0, 0, 0]) - 250) <= 2


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (29.97, Fraction(30000, 1001)),
        (23.976, Fraction(24000, 1001)),
        (23.98, Fraction(24000, 1001)),
        ("59.94", Fraction(60000, 1001)),
        (12.5, Fraction(25, 2)),
        (30000 / 1001, Fraction(30000, 1001)),
        (25, Fraction(25)),
    ],
)
def test_rates(given: object, written: Fraction, tmp_path: Path) -> None:
    made = tmp_path / "made.mp4"
    rate: Any = given
    el.Pipeline(Screen(), FFmpegSink(made, rate=rate)).run(threads=0)
    assert rate_of(made) == written


def test_a_source_with_a_rate_of_many_digits(tmp_path: Path) -> None:
    made = tmp_path / "made.mkv"
    # Set past the check: as a source of somebody else's may say it.
    source = Screen()
    vars(source)["rate"] = Fraction(29.97)
    el.Pipeline(source, FFmpegSink(made)).run(threads=0)
    assert rate_of(made) == Fraction(2997, 100)


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("codec", ["mpeg1video", "mpeg2video", "libvpx", "prores_ks", "magicyuv"])
def test_full_range_is_not_said_to_be_limited(codec: str, allowed: bool, tmp_path: Path) -> None:
    made = tmp_path / ("made.avi" if codec == "magicyuv" else "made.mkv")
    wide = codec == "prores_ks"

    def full() -> Iterator[av.VideoFrame]:
        for number in range(12):
            native = av.VideoFrame(64, 48, "yuv422p10le" if wide else "yuv420p")
            for plane in native.planes:
                plane.update(bytes([90, 0] if wide else [90]) * (plane.buffer_size >> wide))
            native.color_range = ColorRange.JPEG
            native.pts, native.time_base = number, Fraction(1, 25)
            yield native

    options = {"strict": "unofficial"} if allowed else {}
    pipe = el.Pipeline(full(), FFmpegSink(made, codec=codec, options=options))
    if allowed:
        pipe.run(threads=0)
        return
    with pytest.raises(ElementError, match=rf"{codec} does of all YUV, .*'strict'"):
        pipe.run(threads=0)


def test_an_encoder_leaves_the_thread_as_it_was_scheduled(tmp_path: Path) -> None:
    """As root, libsvtav1 makes the thread that opens it a real-time one."""
    if "libsvtav1" not in av.codecs_available:
        pytest.skip("missing package av with the encoder libsvtav1")
    frames = [sb.frame(av.VideoFrame(64, 64, "yuv420p"))]
    sink = FFmpegSink(tmp_path / "clip.mp4", "libsvtav1", options={"preset": "12"})
    before = os.sched_getscheduler(0)
    el.Pipeline(frames, sink).run(threads=0)
    assert os.sched_getscheduler(0) == before


def test_files_that_are_written_leave_nothing_to_the_garbage_collector(tmp_path: Path) -> None:
    def once() -> None:
        frames = []
        for number in range(2):
            frame = sb.context("cpu").allocate_frame("I420", 64, 48, pts=number)
            frame.metadata.update(rotation=90, content_light={"max": 1000, "average": 400})
            frames.append(frame)
        el.Pipeline(frames, FFmpegSink(tmp_path / "made.mp4")).run(threads=0)

    assert_no_garbage(once, times=4)
