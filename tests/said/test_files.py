# SPDX-License-Identifier: Apache-2.0
"""Each cell of the table of what files of ffmpeg.sink say."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

for _module, _package in (
    ("av", "av"), ("samebytes_dma", "samebytes-dma"), ("samebytes_ffmpeg", "samebytes-ffmpeg"),
):  # fmt: skip
    pytest.importorskip(_module, reason=f"missing package {_package}: pip install {_package}")

import av  # noqa: E402 - after what is skipped for

import samebytes as sb  # noqa: E402
import samebytes.elements as el  # noqa: E402
from samebytes.errors import ElementError  # noqa: E402
from samebytes_ffmpeg import FFmpegSink, FFmpegSource  # noqa: E402

from .frames import ENTRIES, WIDTH, saying  # noqa: E402
from .page import FILES, reasons  # noqa: E402

# The rows of the page: FFmpeg's name of the encoder, and how a file's name ends.
MADE_BY = {
    "H.264 in MP4": ("libx264", "mp4"),
    "H.264 in Matroska": ("libx264", "mkv"),
    "H.264 in MPEG-TS": ("libx264", "ts"),
    "H.265 in MP4": ("libx265", "mp4"),
    "VP9 in WebM": ("libvpx-vp9", "webm"),
    "AV1 in Matroska": ("libsvtav1", "mkv"),
    "VP8 in WebM": ("libvpx", "webm"),
    "MPEG-4 in MP4": ("mpeg4", "mp4"),
    "MPEG-4 in Matroska": ("mpeg4", "mkv"),
    "MPEG-4 in AVI": ("mpeg4", "avi"),
    "FFV1 in Matroska": ("ffv1", "mkv"),
    "FFV1 in AVI": ("ffv1", "avi"),
    "MPEG-2 in MPEG-PS": ("mpeg2video", "mpg"),
    "JPEG in AVI": ("mjpeg", "avi"),
}


def said_in_file(file: str, folder: Path, *left_out: str) -> dict[str, Any]:
    """Return what a reader gets of frames that say everything except the entries left out."""
    codec, ending = MADE_BY[file]
    path = folder / f"made.{ending}"
    if codec not in av.codecs_available:
        pytest.skip(f"missing package av with the encoder {codec}")
    frames = saying()
    for frame in frames:
        for entry in left_out:
            del frame.metadata[entry]
    options = {"preset": "12"} if codec == "libsvtav1" else {}
    el.Pipeline(frames, FFmpegSink(path, codec, options=options)).run()
    with el.Pipeline(FFmpegSource(path, frames=1)).start(threads=0) as out:
        return dict(next(out).metadata)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that reads what a file says; each file is written once."""

    @cache
    def said(file: str) -> dict[str, Any]:
        return said_in_file(file, tmp_path_factory.mktemp("file"), *refused(file))

    return said


def refused(file: str) -> list[str]:
    """The entries that must not be said of such a file."""
    return [entry for entry, outcome in FILES[file].items() if outcome == "refused"]


@pytest.mark.parametrize(
    ("file", "entry"), [(file, entry) for file, outcomes in FILES.items() for entry in outcomes]
)
def test_what_a_file_says(file: str, entry: str, read: Any, tmp_path: Path) -> None:
    outcome = FILES[file][entry]
    # The range alone: MP4 may say it beside others.
    others = [one for one in ENTRIES if one not in (entry, "duration")]
    if outcome == "refused":
        with pytest.raises(ElementError, match=r"would say (limited|no) range"):
            said_in_file(file, tmp_path, *others)
        return
    if entry == "color_range":
        found = said_in_file(file, tmp_path, *others).get(entry)
    else:
        found = read(file).get(entry)
    assert _is(found, ENTRIES[entry]) == (outcome == "kept"), found


def test_the_page_has_a_reason_for_all_that_is_lost() -> None:
    assert list(FILES) == list(MADE_BY)
    said = reasons("What files say")
    for file, outcomes in FILES.items():
        assert len(outcomes) == 11
        assert set(outcomes.values()) <= {"kept", "dropped", "refused"}
        lost = {f"`{entry}`" for entry, outcome in outcomes.items() if outcome != "kept"}
        assert {entry for entry in lost if entry not in said.get(file, "")} == set(), file


def _is(found: Any, said: Any) -> bool:
    """True if it is the same, as far as files have the numbers for it."""
    if isinstance(said, Fraction) and found is not None:
        return bool(abs(found - said) * WIDTH < 1)
    if isinstance(said, dict) and found is not None:
        return all(float(found[key]) == pytest.approx(float(one), rel=0.01, abs=0.001)
                   for key, one in said.items())  # fmt: skip
    return bool(found == said)


def test_an_aspect_ratio_that_a_container_rounds_to_pixels(tmp_path: Path) -> None:
    """The bitstream has it exactly, and they say the same."""
    said = said_in_file("H.264 in Matroska", tmp_path)
    assert said["sample_aspect_ratio"] == ENTRIES["sample_aspect_ratio"]


def test_an_aspect_ratio_that_only_the_container_says(tmp_path: Path) -> None:
    """PyAV's frames do not have it; those of ffmpeg.source do, as of any other file."""
    said = said_in_file("VP8 in WebM", tmp_path, *refused("VP8 in WebM"))
    assert _is(said["sample_aspect_ratio"], Fraction(4, 3))
    with av.open(str(tmp_path / "made.webm")) as container:
        frame: Any = next(container.decode(video=0))
    assert "sample_aspect_ratio" not in sb.frame(frame).metadata
