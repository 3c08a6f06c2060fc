# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from samebytes_demo import pipelines
from samebytes_demo.pipelines import DemoError

from .conftest import Transcode, decode


@pytest.mark.parametrize(
    ("codec", "size", "format_", "encoder"),
    [
        ("libx264", (640, 360), "yuv420p", "libx264"),
        ("libx264", (854, 480), "yuv420p", "libx264"),  # padded rows
        ("libx264", (322, 242), "yuv420p", "libx264"),  # odd chroma
        ("mpeg4", (321, 241), "yuv420p", "mpeg4"),
        ("libx264", (640, 360), "yuv422p", "libx264"),
        ("libx264", (640, 360), "yuv444p", "libx264"),
        ("ffv1", (321, 241), "yuv444p", "libx264"),
        ("ffv1", (321, 241), "yuv422p", "ffv1"),
        ("mjpeg", (640, 360), "yuvj420p", "libx264"),
        ("ffv1", (640, 360), "gray", "libx264"),
        ("rawvideo", (640, 360), "nv12", "libx264"),
        ("ffv1", (640, 360), "yuva420p", "ffv1"),
    ],
)
def test_sizes_and_formats(
    codec: str, size: tuple[int, int], format_: str, encoder: str, transcode: Transcode,
    tmp_path: Path,
) -> None:  # fmt: skip
    source = transcode(codec, size, format_, name="source.mkv")
    output, other = tmp_path / "out.mkv", tmp_path / "native.mkv"
    result = pipelines.run_samebytes(source, output)
    native = pipelines.run_native(source, other)
    assert result.frames == 12
    assert result.encoder == encoder
    assert result.copied_bytes == native.copied_bytes == 0
    assert result.boxes == native.boxes
    assert all(boxes for boxes in result.boxes[1:])
    with av.open(output) as container:
        frames = list(container.decode(video=0))
    assert len(frames) == 12
    # What H.264 has no profile for decodes as its next relative.
    decoded = {"gray": "yuv420p", "nv12": "yuv420p"}.get(format_, format_)
    assert {(f.width, f.height, f.format.name) for f in frames} == {(*size, decoded)}
    assert np.array_equal(decode(output, "bgr24"), decode(other, "bgr24"))


@pytest.mark.parametrize(
    ("codec", "format_"),
    [
        ("libx264", "yuv420p"),
        ("libx264", "yuv422p"),
        ("mjpeg", "yuvj420p"),
        ("rawvideo", "nv12"),
        ("ffv1", "gray"),
    ],
)
def test_the_copying_idiom_agrees(
    codec: str, format_: str, transcode: Transcode, tmp_path: Path
) -> None:
    source = transcode(codec, (854, 480), format_, name="source.mkv")
    one, other = tmp_path / "one.mkv", tmp_path / "other.mkv"
    ours, theirs = pipelines.run_samebytes(source, one), pipelines.run_copying(source, other)
    assert ours.boxes == theirs.boxes
    assert np.array_equal(decode(one, "bgr24"), decode(other, "bgr24"))


@pytest.mark.parametrize(
    ("codec", "size", "format_", "message"),
    [("ffv1", (640, 360), "yuv444p", "yuv444p"), ("mpeg4", (321, 241), "yuv420p", "odd sizes")],
)
def test_the_copying_idiom_says_what_pyav_does_not_take(
    codec: str, size: tuple[int, int], format_: str, message: str, transcode: Transcode,
    tmp_path: Path,
) -> None:  # fmt: skip
    source = transcode(codec, size, format_, name="source.mkv")
    with pytest.raises(DemoError, match=message):
        pipelines.run_copying(source, tmp_path / "out.mkv")


@pytest.mark.parametrize("frames", [1, 2])
def test_short_videos(frames: int, transcode: Transcode, tmp_path: Path) -> None:
    source, output = transcode(frames=frames), tmp_path / "out.mp4"
    result = pipelines.run_samebytes(source, output)
    assert result.frames == frames == len(decode(output))
    assert [bool(boxes) for boxes in result.boxes] == [False, True][:frames]
    assert result.copied_bytes == 0


def test_times_and_rate_are_kept(clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    pipelines.run_samebytes(clip, output, frames=20)
    with av.open(clip) as one, av.open(output) as other:
        assert other.streams.video[0].average_rate == one.streams.video[0].average_rate
        times = [f.time for f, _ in zip(one.decode(video=0), range(20), strict=False)]
        assert [f.time for f in other.decode(video=0)] == pytest.approx(times)


def test_a_raw_stream_gets_times(transcode: Transcode, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    pipelines.run_samebytes(transcode(name="raw.h264"), output)
    with av.open(output) as container:
        assert [f.time for f in container.decode(video=0)] == pytest.approx(np.arange(12) / 30)


def test_rotation_is_kept(transcode: Transcode, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    pipelines.run_samebytes(transcode(rotation=90), output)
    with av.open(output) as container:
        assert next(container.decode(video=0)).rotation == 90


def refused(source: Path, message: str) -> None:
    with pytest.raises(DemoError, match=message):
        pipelines.run_native(source, source.with_name("never.mp4"))


def test_a_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "missing.mp4", "does not exist")


def test_a_folder(tmp_path: Path) -> None:
    refused(tmp_path, "cannot open")


def test_a_file_that_is_not_a_video(tmp_path: Path) -> None:
    path = tmp_path / "text.mp4"
    path.write_text("no video " * 1000)
    refused(path, "cannot open")


def test_a_file_with_sound_alone(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(path, "w") as container:
        stream = container.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), "fltp", "stereo")
        frame.sample_rate = 48000
        assert isinstance(stream, av.AudioStream)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    refused(path, "no video, only audio")


def test_ten_bits(transcode: Transcode) -> None:
    refused(transcode(format_="yuv420p10le"), "-pix_fmt yuv420p")


def test_rgb(transcode: Transcode) -> None:
    refused(transcode("ffv1", format_="bgr0", name="rgb.mkv"), "-pix_fmt yuv420p")


def test_a_damaged_file(clip: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.mp4"
    path.write_bytes(clip.read_bytes()[:5000])
    refused(path, "cannot open")


def test_a_video_that_changes_its_size(transcode: Transcode, tmp_path: Path) -> None:
    path = tmp_path / "both.h264"
    parts = [transcode(size=size, name=f"{size[0]}.h264") for size in ((640, 360), (320, 240))]
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    with pytest.raises(DemoError, match="frame 12 is yuv420p 320x240"):
        pipelines.run_samebytes(path, tmp_path / "out.mp4")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/out.mp4", "there is no folder"),
        ("out.unknown", "its ending must be"),
        ("out.webm", "name an .mp4 or .mkv"),
    ],
)
def test_outputs_that_cannot_be_written(
    name: str, message: str, clip: Path, tmp_path: Path
) -> None:
    with pytest.raises(DemoError, match=message):
        pipelines.run_samebytes(clip, tmp_path / name, frames=2)


@pytest.mark.parametrize("failure", [DemoError, KeyboardInterrupt])
def test_a_failure_leaves_an_earlier_output_as_it_was(
    failure: type[BaseException], clip: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.mp4"
    # Without it the encoder holds all frames back until then, and there is no file yet.
    options = {"tune": "zerolatency"}
    seen: list[str] = []

    def fail(count: int) -> None:
        if count == 40:
            seen.extend(sorted(p.suffix for p in tmp_path.iterdir()))
            raise failure

    with pytest.raises(failure):
        pipelines.run_samebytes(clip, output, options=options, on_frame=fail)
    assert list(tmp_path.iterdir()) == []
    output.write_bytes(b"earlier")
    with pytest.raises(failure):
        pipelines.run_samebytes(clip, output, options=options, on_frame=fail)
    assert output.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [output]
    assert seen == [".mp4", ".mp4", ".mp4"], "the video was not written beside the earlier one"
    pipelines.run_samebytes(clip, output, frames=3)
    assert len(decode(output)) == 3
    assert list(tmp_path.iterdir()) == [output]


def test_an_output_that_is_a_link_stays_one(clip: Path, tmp_path: Path) -> None:
    output, there = tmp_path / "out.mp4", tmp_path / "there.mp4"
    try:
        output.symlink_to(there)
    except OSError as error:
        pytest.skip(f"this account may make no symbolic links: {error}")
    pipelines.run_samebytes(clip, output, frames=3)
    assert output.is_symlink()
    assert len(decode(there)) == 3


def test_an_output_that_is_a_folder(clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    output.mkdir()
    with pytest.raises(DemoError, match="it is a folder"):
        pipelines.run_samebytes(clip, output, frames=3)
