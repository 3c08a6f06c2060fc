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
from devtools.said_files import COLUMNS, FILES, File, outcome  # noqa: E402
from samebytes.errors import ElementError  # noqa: E402
from samebytes_ffmpeg import FFmpegSink, FFmpegSource  # noqa: E402

from .frames import ENTRIES, WIDTH, saying  # noqa: E402


def said_in_file(file: File, path: Path, *left_out: str) -> dict[str, Any]:
    """What a reader gets of frames that say everything but that."""
    if file.codec not in av.codecs_available:
        pytest.skip(f"missing package av with the encoder {file.codec}")
    frames = saying()
    for frame in frames:
        for entry in left_out:
            del frame.metadata[entry]
    options = {"preset": "12"} if file.codec == "libsvtav1" else {}
    el.Pipeline(frames, FFmpegSink(path, file.codec, options=options)).run()
    with el.Pipeline(FFmpegSource(path, frames=1)).start(threads=0) as out:
        return dict(next(out).metadata)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a file says; each is written once."""

    @cache
    def said(number: int) -> dict[str, Any]:
        file = FILES[number]
        path = tmp_path_factory.mktemp("file") / f"made.{file.ending}"
        return said_in_file(file, path, *file.refused)

    return said


@pytest.mark.parametrize("entry", COLUMNS)
@pytest.mark.parametrize("number", range(len(FILES)), ids=[file.words for file in FILES])
def test_what_a_file_says(number: int, entry: str, read: Any, tmp_path: Path) -> None:
    file = FILES[number]
    path = tmp_path / f"made.{file.ending}"
    state = outcome(file, entry)
    if state == "refused":
        with pytest.raises(ElementError, match="would say limited range"):
            said_in_file(file, path)
        return
    if entry == "color_range":  # alone: MP4 may say it beside others
        others = (one for one in ENTRIES if one not in (entry, "duration"))
        found = said_in_file(file, path, *others).get(entry)
    else:
        found = read(number).get(entry)
    assert _is(found, ENTRIES[entry]) == (state == "kept"), found


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
    file = next(one for one in FILES if (one.codec, one.ending) == ("libx264", "mkv"))
    said = said_in_file(file, tmp_path / "made.mkv")
    assert said["sample_aspect_ratio"] == ENTRIES["sample_aspect_ratio"]


def test_an_aspect_ratio_that_only_the_container_says(tmp_path: Path) -> None:
    """PyAV's frames do not have it; those of ffmpeg.source do, as of any other file."""
    file = next(one for one in FILES if one.codec == "libvpx")
    path = tmp_path / "made.webm"
    assert _is(said_in_file(file, path, *file.refused)["sample_aspect_ratio"], Fraction(4, 3))
    with av.open(str(path)) as container:
        frame: Any = next(container.decode(video=0))
    assert "sample_aspect_ratio" not in sb.frame(frame).metadata
