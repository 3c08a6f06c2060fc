# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from samebytes_demo import _command, _compare, _compare_rgb, _demo, _streams, pipelines
from samebytes_demo._sheet import make_sheet

from .conftest import Run, Transcode, decode


@pytest.fixture(autouse=True)
def two_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the rounds to two: test_statistics.py tests what is measured; here it only runs."""
    for module in (_compare, _compare_rgb, _demo, _streams):
        monkeypatch.setattr(module, "ROUNDS", 2)


def run(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    _command.add_arguments(parser)
    return _command.run(parser.parse_args([str(a) for a in arguments]))


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run(*arguments, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    reported: dict[str, Any] = json.loads(out)
    return reported


def test_it_is_the_entry_point_of_the_command() -> None:
    (entry,) = importlib.metadata.entry_points(group="samebytes.commands", name="demo")
    module = entry.load()
    assert module is _command
    assert isinstance(module.SUMMARY, str)


def test_importing_it_imports_no_framework() -> None:
    code = (
        "import sys, samebytes_demo._command; "
        "print([n for n in ('av', 'cv2', 'openvino', 'rich') if n in sys.modules])"
    )
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert reported.stdout.strip() == "[]"


def test_without_options_it_makes_its_own_clip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--frames", 8) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "samebytes-demo.mp4", "samebytes-demo.png",
    ]  # fmt: skip
    assert len(decode(tmp_path / "samebytes-demo.mp4")) == 8
    for part in (
        "a test clip made by FFmpeg: I420 1920x1080, h264",
        "boxes   21, in 7 of 8 frames",
        "ffmpeg -> openvino (frames",
        "ALIAS",
        "Bytes copied between the frameworks: 0\n",
        "Addresses compared, and equal: 88 pairs\n",
        "Writes by OpenCV, seen by FFmpeg or OpenVINO: 48\n",
        "Each way in turn, 2 passes of 8 frames",
        "  without codecs",
        "a stand-in for yours",
        "The model's input differs from samebytes', copying: by ",
        "WHAT THIS RUN SHOWED",
        "RGB model and decoding: samebytes took",
    ):
        assert part in out
    assert "software device" not in out


def test_json(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.mp4"
    reported = report(capsys, "--input", clip, "--output", output, "--frames", 10)
    assert reported["input"] == str(clip)
    assert (reported["width"], reported["height"], reported["format"]) == (640, 360, "I420")
    verified = reported["verified"]
    assert (verified["frames"], verified["copied_bytes"]) == (10, 0)
    assert (verified["equal_addresses"], verified["writes_seen"]) == (110, 60)
    assert reported["same_boxes"] is True
    assert [len(boxes) for boxes in reported["boxes"]] == [0] + [3] * 9
    assert [route["copies"] for route in reported["routes"]] == [False] * 3
    assert Path(reported["sheet"]).exists()
    assert reported["not_compared"] is reported["no_rgb"] is None
    assert reported["device_is_software"] is False
    names = ["samebytes", "by hand", "copying"]
    for comparison in (reported["pipeline"], reported["rgb"]):
        assert (comparison["frames"], comparison["rounds"]) == (10, 2)
        assert list(comparison["ways"]) == names
        assert comparison["missing"] == {}
        for way in comparison["ways"].values():
            everything = way["all"]
            for clock in ("cpu_ms", "wall_ms"):
                spread = everything[clock]
                assert 0 < spread["low"] <= spread["median"] <= spread["high"]
            assert sum(s["mb"] for s in way["stages"].values()) == pytest.approx(everything["mb"])
    copied = {name: way["all"]["mb"] for name, way in reported["pipeline"]["ways"].items()}
    frame, luma, mask = 640 * 360 * 3 // 2, 640 * 360, 80 * 45
    assert copied["samebytes"] == copied["by hand"] == 0
    assert copied["copying"] == pytest.approx((2 * frame + luma + mask) / 1e6)
    made = {name: way["all"]["mb"] for name, way in reported["rgb"]["ways"].items()}
    assert made["samebytes"] < made["by hand"] < made["copying"]
    assert made["copying"] == pytest.approx((640 * 360 + 300 * 300) * 3 / 1e6)
    assert reported["rgb"]["size"] == [300, 300]
    assert set(reported["rgb"]["differences"]) == {"by hand", "copying"}
    assert len(reported["shown"]) == 8


@pytest.mark.together
def test_several_streams(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = run("--input", clip, "--streams", 2, "--output", tmp_path / "out.mp4")
    assert status == 0
    out = capsys.readouterr().out
    assert "TIMED: streams at the same time" in out
    assert "2 streams of " in out
    assert "3840x2160" not in out  # only beside the test clip


def test_without_the_comparison(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = report(
        capsys, "--input", clip, "--output", tmp_path / "o.mp4", "--frames", 3, "--no-compare"
    )
    assert reported["pipeline"] is reported["rgb"] is reported["same_boxes"] is None
    assert reported["shown"] == []
    assert "--no-compare" in reported["not_compared"]
    assert reported["verified"]["writes_seen"] == 18
    assert run("--input", clip, "--output", tmp_path / "o.mp4", "--frames", 3, "--no-compare") == 0
    assert "Nothing was timed: --no-compare was given." in capsys.readouterr().out


def test_what_cannot_be_compared_still_runs(
    transcode: Transcode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = transcode("mpeg4", (321, 241))
    assert run("--input", source, "--output", tmp_path / "o.mp4") == 0
    out = capsys.readouterr().out
    assert "Not compared, copying: PyAV's to_ndarray() takes no odd" in out
    assert "Find and draw boxes: samebytes took" in out
    # With another name for what it was compared with.
    assert "the code written by hand" in out.partition("WHAT THIS RUN SHOWED")[2]


@pytest.mark.together
def test_allowed_copies_are_reported(
    transcode: Transcode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = transcode(frames=30, options={"x264-params": "ref=16:bframes=3"})
    output = tmp_path / "o.mp4"
    reported = report(capsys, "--input", source, "--output", output, "--wait", 2, "--allow-copy")
    assert reported["verified"]["copied_bytes"] > 0
    assert reported["pipeline"]["ways"]["samebytes"]["all"]["mb"] > 0
    assert reported["same_boxes"] is True


@pytest.mark.together
def test_a_way_that_cannot_do_it_is_left_out(
    transcode: Transcode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Frames that wait for a fixed number of others are not free in such a stream."""
    source = transcode(frames=30, options={"x264-params": "ref=16:bframes=3"})
    reported = report(capsys, "--input", source, "--output", tmp_path / "o.mp4")
    assert "still refers to a frame" in reported["pipeline"]["missing"]["by hand"]
    assert list(reported["pipeline"]["ways"]) == ["samebytes", "copying"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--input", "missing.mp4"), "missing.mp4 does not exist"),
        (("--frames", 3, "--model", "missing.xml"), "missing.xml does not exist"),
        (("--device", "TPU"), "no device TPU here"),
        (("--frames", 3, "--output", "out.png"), "another ending"),
        (("--frames", 3, "--output", "none/out.mp4"), "there is no folder none"),
        (("--frames", 3, "--output", ""), "must be a file name"),
    ],
)
def test_errors_are_one_line_and_status_1(
    arguments: tuple[object, ...], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("samebytes demo: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--input", "--model", "--output"])
def test_no_password_of_an_address_is_printed(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of them is read or written, but a camera may well be tried."""
    assert run("--frames", 3, option, "rtsp://me:s3cret@c/live.mp4") == 1
    err = capsys.readouterr().err
    assert "c/live.mp4" in err
    assert "s3cret" not in err


@pytest.mark.parametrize("frames", ["0", "-1", "many"])
def test_a_number_of_frames_that_is_none(frames: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--frames", frames)
    assert ended.value.code == 2
    assert f"--frames: {frames!r} is not a whole number above zero" in capsys.readouterr().err


def test_the_sheet_does_not_overwrite_the_input(
    transcode: Transcode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = transcode("png", format_="gray", frames=1, name="photo.png")
    before = source.read_bytes()
    assert run("--input", source, "--output", tmp_path / "photo.mp4") == 1
    assert "photo.png is the input" in capsys.readouterr().err
    assert source.read_bytes() == before
    assert not (tmp_path / "photo.mp4").exists()


def test_different_boxes_are_a_failure(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    honest = pipelines.run_copying

    def lying(*args: Any, **kwargs: Any) -> Any:
        result = honest(*args, **kwargs)
        result.boxes[-1] = []
        return result

    monkeypatch.setattr(_compare, "run_copying", lying)
    assert run("--input", clip, "--output", tmp_path / "o.mp4", "--frames", 5) == 1
    out, err = capsys.readouterr()
    assert "OTHER BOXES, which is an error: copying" in out
    assert "different boxes" in err


@pytest.mark.together
def test_the_sheet_shows_frames_with_their_boxes(runs: dict[str, Run], tmp_path: Path) -> None:
    picture = tmp_path / "sheet.png"
    assert make_sheet(runs["samebytes"].output, picture, runs["samebytes"].result.frames) == 9
    sheet = cv2.imread(str(picture))
    assert sheet is not None
    height, width, _ = sheet.shape
    assert width > 1000
    assert height > 700
    # Blue is what yellow lacks.
    blue, green, red = (sheet[..., i].astype(int) for i in range(3))
    yellow = (red > 150) & (green > 150) & (blue < 90)
    rows = np.array_split(yellow, 3)
    assert all(part.mean() > 0.003 for row in rows for part in np.array_split(row, 3, axis=1))


def test_the_sheet_of_one_frame(transcode: Transcode, tmp_path: Path) -> None:
    picture = tmp_path / "sheet.png"
    assert make_sheet(transcode(frames=1), picture, 1) == 1
    assert cv2.imread(str(picture)) is not None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no colons in names: run it on Linux")
def test_a_colon_in_a_name_is_not_a_protocol(
    transcode: Transcode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcode(name="source.mp4").rename(tmp_path / "12:30.mp4")
    monkeypatch.chdir(tmp_path)
    output = Path("12:31.mp4")
    assert pipelines.run_samebytes(Path("12:30.mp4"), output).frames == 12
    assert make_sheet(output, Path("sheet.png"), 12) == 9
