# SPDX-License-Identifier: Apache-2.0
"""No file is written over while it is read or written by FFmpeg in this process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_ffmpeg
from samebytes.errors import ElementError
from samebytes_ffmpeg import FFmpegSink, FFmpegSource


@el.source(gives=el.Image("I420", memory="cpu", width=64, height=48))
def grey() -> Iterator[sb.Frame[Any]]:
    for _ in range(3):
        yield sb.context("cpu").allocate_frame("I420", 64, 48)


@pytest.fixture
def video(clip: Path, tmp_path: Path) -> Path:
    """A copy of the clip."""
    return Path(shutil.copy(clip, tmp_path / "video.mp4"))


@pytest.mark.parametrize("threads", [0, 2])
def test_a_sink_leaves_the_file_of_its_source_as_it_is(threads: int, video: Path) -> None:
    before = video.read_bytes()
    same = os.path.relpath(video)
    with pytest.raises(ElementError, match=r"video\.mp4 would be overwritten while it is read"):
        el.Pipeline(FFmpegSource(video), FFmpegSink(same)).run(threads=threads)
    assert video.read_bytes() == before


def test_a_link_is_the_file_that_it_leads_to(video: Path, tmp_path: Path) -> None:
    (tmp_path / "link.mp4").symlink_to(video)
    with samebytes_ffmpeg.open(tmp_path / "link.mp4") as frames:
        next(frames)
        with pytest.raises(ElementError, match="while it is read"):
            el.Pipeline(grey(), FFmpegSink(video)).run()
    el.Pipeline(grey(), FFmpegSink(video)).run()  # it is read no more
    with samebytes_ffmpeg.open(video) as frames:
        assert len(list(frames)) == 3


def test_two_sinks_write_two_files(tmp_path: Path) -> None:
    made = tmp_path / "made.mkv"
    twice = el.Pipeline(grey(), [FFmpegSink(made)], FFmpegSink(made))
    with pytest.raises(ElementError, match=r"made\.mkv is being written already"):
        twice.run()
    el.Pipeline(grey(), FFmpegSink(made)).run()
    el.Pipeline(grey(), FFmpegSink(made)).run()  # written by one after the other


def test_devices_have_as_many_users_as_they_like() -> None:
    first, second = (FFmpegSink("/dev/null", format="rawvideo", codec="rawvideo") for _ in "12")
    el.Pipeline(grey(), [first], second).run()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_uses_none_of_its_parent_s_files(video: Path) -> None:
    with samebytes_ffmpeg.open(video) as frames:
        next(frames)
        child = os.fork()
        if not child:
            try:
                el.Pipeline(grey(), FFmpegSink(video)).run(threads=0)
                os._exit(0)
            finally:
                os._exit(99)
        assert os.waitpid(child, 0) == (child, 0)
