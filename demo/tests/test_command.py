# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from samebytes_demo import _command, _demo, pipelines
from samebytes_demo._sheet import make_sheet

from .conftest import Run, Transcode, decode


def run(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    _command.add_arguments(parser)
    return _command.run(parser.parse_args([str(a) for a in arguments]))


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run(*arguments, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    told: dict[str, Any] = json.loads(out)
    return told


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
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_without_options_it_makes_its_own_clip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("--frames", 20) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "samebytes-demo.mp4", "samebytes-demo.png",
    ]  # fmt: skip
    assert len(decode(tmp_path / "samebytes-demo.mp4")) == 20
    for part in (
        "a test clip made by FFmpeg: I420 640x360, h264",
        "boxes   57, in 19 of 20 frames",
        "ffmpeg -> openvino (frames",
        "ALIAS",
        "Bytes copied between the frameworks: 0\n",
        "found the same boxes",
        "take the ratios as a hint",
    ):
        assert part in out


def test_json(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.mp4"
    told = report(capsys, "--input", clip, "--output", output, "--frames", 10)
    assert told["input"] == str(clip)
    assert (told["width"], told["height"], told["format"]) == (640, 360, "I420")
    assert told["samebytes"]["frames"] == told["copying"]["frames"] == 10
    assert told["samebytes"]["copied_bytes"] == 0 < told["copying"]["copied_bytes"]
    assert told["same_boxes"] is True
    assert [len(boxes) for boxes in told["boxes"]] == [0] + [3] * 9
    assert [route["copies"] for route in told["routes"]] == [False] * 3
    assert Path(told["sheet"]).exists()
    assert told["not_compared"] is None


def test_without_the_comparison(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = report(
        capsys, "--input", clip, "--output", tmp_path / "o.mp4", "--frames", 3, "--no-compare"
    )
    assert told["copying"] is None
    assert told["same_boxes"] is None
    assert "--no-compare" in told["not_compared"]


def test_what_cannot_be_compared_still_runs(
    transcode: Transcode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = transcode("mpeg4", (321, 241))
    assert run("--input", source, "--output", tmp_path / "o.mp4") == 0
    assert "Not compared with the copying idiom: PyAV's to_ndarray() takes no odd" in (
        capsys.readouterr().out
    )


def test_allowed_copies_are_told(
    transcode: Transcode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = transcode(frames=30, options={"x264-params": "ref=16:bframes=3"})
    output = tmp_path / "o.mp4"
    told = report(capsys, "--input", source, "--output", output, "--wait", 2, "--allow-copy")
    assert told["samebytes"]["copied_bytes"] > 0
    assert told["same_boxes"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--input", "missing.mp4"), "missing.mp4 does not exist"),
        (("--frames", 3, "--model", "missing.xml"), "missing.xml does not exist"),
        (("--device", "TPU"), "no device TPU here"),
        (("--frames", 3, "--output", "out.png"), "another ending"),
        (("--frames", 3, "--output", "none/out.mp4"), "there is no folder none"),
        (("--frames", 3, "--output", ""), "no name of a file"),
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

    monkeypatch.setattr(_demo, "run_copying", lying)
    assert run("--input", clip, "--output", tmp_path / "o.mp4", "--frames", 5) == 1
    out, err = capsys.readouterr()
    assert "OTHER BOXES" in out
    assert "different boxes" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows ends the process at once: run it on Linux")
def test_sigterm_removes_the_temporary_folder(tmp_path: Path) -> None:
    code = """
import argparse, os, signal
from samebytes_demo import _command, _demo

def ended(args, source, folder):
    print(folder.is_dir(), folder)
    os.kill(os.getpid(), signal.SIGTERM)
    raise AssertionError("not ended")

_demo.run_demo = ended
parser = argparse.ArgumentParser()
_command.add_arguments(parser)
_command.run(parser.parse_args(["--input", "any.mp4"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert done.stdout.startswith(f"True {tmp_path}")
    assert list(tmp_path.iterdir()) == []


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
