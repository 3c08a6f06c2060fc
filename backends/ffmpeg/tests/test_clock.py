# SPDX-License-Identifier: Apache-2.0
"""Times of frames go on, whatever the clock of their source does."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes.elements as el
from samebytes_ffmpeg import FFmpegSink, FFmpegSource

RATE = Fraction(25)
BASE = Fraction(1, 90_000)


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two times the same second of video, one after the other."""
    path = tmp_path_factory.mktemp("joined") / "joined.ts"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg2video", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(25):
            picture = np.full((72, 64), number * 8, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = number, 1 / RATE
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    path.write_bytes(path.read_bytes() * 2)
    return path


@pytest.mark.parametrize("live", [False, True])
def test_what_was_joined_is_recorded_whole(joined: Path, tmp_path: Path, live: bool) -> None:
    out = tmp_path / "out.mp4"
    source = FFmpegSource(joined, live=live, frames=50)
    el.Pipeline(source, FFmpegSink(out, codec="mpeg4")).run()
    with av.open(str(out)) as container:
        found = [frame.time for frame in container.decode(video=0)]
    assert len(found) == 50
    assert np.diff(found) == pytest.approx(0.04, abs=1e-3)


@pytest.mark.parametrize("start", [0.0, 1.2, 1.9])
def test_start_counts_times_that_go_on(joined: Path, start: float) -> None:
    def seconds(source: FFmpegSource) -> list[float]:
        with el.Pipeline(source).start(threads=0) as out:
            return [float((one.pts or 0) * (one.meta.time_base or BASE)) for one in out]

    whole = seconds(FFmpegSource(joined))
    found = seconds(FFmpegSource(joined, start=start))
    wanted = [one for one in whole if one >= whole[0] + start - 1e-6]
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("ending", "codec", "options"),
    [
        ("ts", "mpeg2video", {"g": "10", "bf": "2"}),
        ("mpg", "mpeg2video", {"g": "10", "bf": "2"}),
        ("avi", "mpeg4", {"g": "10"}),
        ("flv", "libx264", {"x264-params": "keyint=10:open-gop=1:bframes=3:scenecut=0"}),
        ("mp4", "libx264", {"x264-params": "keyint=10:open-gop=1:bframes=3:scenecut=0"}),
    ],
)
def test_no_frame_is_missing_from_start_on(
    tmp_path: Path, ending: str, codec: str, options: dict[str, str]
) -> None:
    """Key frames are at other places than a search for a time finds, or behind what needs them."""
    path = tmp_path / f"film.{ending}"
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(40):
            picture = np.roll(np.arange(72 * 64).reshape(72, 64) % 200, number * 3, 1)
            frame = av.VideoFrame.from_ndarray(picture.astype(np.uint8), "yuv420p")
            frame.pts, frame.time_base = number, 1 / RATE
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))

    def given(source: FFmpegSource) -> list[tuple[float, bytes]]:
        with el.Pipeline(source).start(threads=0) as out:
            return [
                (
                    round(float((one.pts or 0) * (one.meta.time_base or BASE)), 3),
                    one.map("cpu").planes[0].native.tobytes(),
                )
                for one in out
            ]

    whole = given(FFmpegSource(path))
    assert len(whole) >= 39  # an encoder may leave the last one open
    for number in range(1, 40):
        for start in (number * 0.04, number * 0.04 - 0.02):
            wanted = [one for one in whole if one[0] >= round(whole[0][0] + start, 3)]
            assert given(FFmpegSource(path, start=start)) == wanted


@pytest.mark.parametrize("ending", ["m3u8", "mkv", "ts"])
def test_start_at_the_time_of_a_frame_gives_it(tmp_path: Path, ending: str) -> None:
    """Containers round times to their units; HLS has no position at the last frames."""
    path, rate = tmp_path / f"film.{ending}", Fraction(24000, 1001)
    options = {"x264-params": "keyint=10:bframes=3:scenecut=0"}
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=rate, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(24):
            frame = av.VideoFrame(64, 48, "yuv420p")
            frame.pts, frame.time_base = number, 1 / rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    given = []
    for number in range(24):
        with el.Pipeline(FFmpegSource(path, start=float(number / rate))).start(threads=0) as out:
            given.append(sum(1 for _ in out))
    assert given == list(range(24, 0, -1))


@pytest.mark.parametrize("ending", ["mkv", "mp4", "avi"])
def test_tags_that_are_not_utf_8_keep_no_file_shut(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"tagged.{ending}"
    with av.open(str(path), "w") as container:
        container.metadata["title"] = "Cafe_ABCDE"
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["title"] = "Cafe_ABCDE"
        for number in range(3):
            frame = av.VideoFrame(64, 48, "yuv420p")
            frame.pts, frame.time_base = number, 1 / RATE
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    tagged = path.read_bytes().replace(b"Cafe_ABCDE", b"Caf\xe9_ABCDE")
    assert b"Caf\xe9" in tagged
    path.write_bytes(tagged)
    assert el.Pipeline(FFmpegSource(path)).run().of("ffmpeg.source").frames_out == 3
