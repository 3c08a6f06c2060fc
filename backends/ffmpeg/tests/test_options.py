# SPDX-License-Identifier: Apache-2.0
"""Options and values that FFmpeg, an encoder or a decoder does not take are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from av.video.reformatter import ColorRange

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ParameterError
from samebytes.plugins import without_secrets
from samebytes_ffmpeg import FFmpegSink, FFmpegSource

from .test_encoders import of_range


@pytest.mark.pyav17
def test_an_option_that_the_encoder_does_not_have_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """FFmpeg would go on without it: a file of another size or quality than was asked for."""
    options = {"presett": "fast", "crf": "30", "token": "s3cret"}
    made = FFmpegSink(tmp_path / "made.mp4", codec="libx264", options=options)
    el.Pipeline(of_range(ColorRange.MPEG), made).run(threads=0)
    (said,) = [one.getMessage() for one in caplog.records if one.name == "samebytes.ffmpeg"]
    assert said == (
        "libx264 has no option 'presett' and no option 'token'; "
        "ffmpeg -h encoder=libx264 lists those that it has"
    )
    assert without_secrets(said) == said


def test_an_option_that_nothing_has_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "made.mp4"
    known = {"movflags": "faststart"}
    made = FFmpegSink(path, container_options={**known, "moveflags": "faststart"})
    el.Pipeline(of_range(ColorRange.MPEG), made).run(threads=0)
    known = {"probesize": "100000", "rtsp_transport": "tcp", "skip_frame": "nokey"}
    el.Pipeline(FFmpegSource(path, options={**known, "token": "s3cret"})).run(threads=0)
    said = [one.getMessage() for one in caplog.records if one.name == "samebytes.ffmpeg"]
    advice = "; ffmpeg -h full lists those that it has"
    assert said == [
        f"ffmpeg.sink: FFmpeg has no option 'moveflags'{advice}",
        f"ffmpeg.source: FFmpeg has no option 'token'{advice}",
    ]
    assert list(map(without_secrets, said)) == said


def test_options_of_a_source_are_those_of_its_decoder(tmp_path: Path) -> None:
    path = tmp_path / "made.avi"
    made = FFmpegSink(path, "mpeg4", {"g": "6", "sc_threshold": "1000000000"})
    el.Pipeline(of_range(ColorRange.MPEG, count=12), made).run(threads=0)
    for options, count in (({}, 12), ({"skip_frame": "nokey"}, 2)):
        pipe = el.Pipeline(FFmpegSource(path, options=options))
        assert pipe.run(threads=0).of("ffmpeg.source").frames_out == count


@pytest.mark.parametrize(
    "options",
    [{"pixel_format": "mjpeg"}, {"profile": "main"}, {"b": "much", "skip_frame": "nokey"}],
)
def test_a_decoder_gets_only_options_that_are_for_decoding(
    options: dict[str, str], tmp_path: Path
) -> None:
    """A codec has all of these; cameras take the first, and only encoders take the others."""
    path = tmp_path / "made.avi"
    el.Pipeline(of_range(ColorRange.MPEG, count=3), FFmpegSink(path, "mpeg4")).run(threads=0)
    pipe = el.Pipeline(FFmpegSource(path, options=options))
    count = 1 if "skip_frame" in options else 3
    assert pipe.run(threads=0).of("ffmpeg.source").frames_out == count


@pytest.mark.parametrize(
    ("codec", "options", "size"),
    [("mpeg4", {"lowres": "1"}, (32, 24)), ("libx264", {"apply_cropping": "0"}, (64, 48))],
)
def test_a_decoder_gives_another_size_by_an_option(
    codec: str, options: dict[str, str], size: tuple[int, int], tmp_path: Path
) -> None:
    """H.264 has whole blocks of 16 pixels, and says how much of them is seen."""
    path = tmp_path / "made.mkv"
    seen = (64, 46 if codec == "libx264" else 48)
    frames = [sb.context("cpu").allocate_frame("I420", *seen) for _ in range(3)]
    el.Pipeline(frames, FFmpegSink(path, codec)).run(threads=0)
    for given, expected in (({}, seen), (options, size)):
        with el.Pipeline(FFmpegSource(path, options=given)).start(threads=0) as running:
            assert [(f.width, f.height) for f in running] == [expected] * 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate", 0), ("rate", 1e9), ("rate", float("inf")), ("rate", float("nan")),
        ("bit_rate", 10**30), ("options", {"crf": 20}), ("container_options", {1: "x"}),
    ],
)  # fmt: skip
def test_values_that_ffmpeg_cannot_hold_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^element 'ffmpeg.sink': parameter '{name}'"):
        el.create("ffmpeg.sink", "made.mkv", **{name: value})
