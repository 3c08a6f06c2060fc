# SPDX-License-Identifier: Apache-2.0
"""Times of frames go on, whatever the clock of their source does."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest

import samebytes.elements as el
from samebytes_ffmpeg import FFmpegSink, FFmpegSource
from samebytes_ffmpeg._elements import _clock
from samebytes_ffmpeg._elements._clock import Clock

RATE = Fraction(25)
BASE = Fraction(1, 90_000)


def times(given: list[float | None], *, live: bool = False, passes: int = 1) -> list[Fraction]:
    """What a clock makes of frames with such times."""
    clock = Clock(live=live)
    found = []
    for number in range(passes):
        if number:
            clock.begin_again()
        for seconds in given:
            frame = av.VideoFrame(8, 8, "gray")
            if seconds is not None:
                frame.pts, frame.time_base = round(seconds / BASE), BASE
            found.append(clock.set(frame, RATE))
            assert frame.pts == found[-1] / Fraction(frame.time_base or 1)
    return found


@pytest.mark.parametrize("live", [False, True])
def test_times_in_order_stay_as_they_are(live: bool) -> None:
    given = [1.48, 1.52, 1.56, 1.6, 3.0, 9.0]
    assert [float(one) for one in times(list(given), live=live)] == pytest.approx(given)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("back", [0.2, 1, 3600, 10**6])
def test_a_step_back_goes_on_after_the_last_frame(back: float, live: bool) -> None:
    begin = 2.0 * 10**6
    given = [begin, begin + 0.04, begin + 0.08 - back, begin + 0.12 - back]
    found = times(list(given), live=live)
    assert [after - before for before, after in pairwise(found)] == [Fraction(1, 25)] * 3


def test_frames_out_of_order_shift_nothing() -> None:
    found = times([0, 0.04, 0.08, 0.06, 0.04, 0.12, 0.12, 0.16])
    steps = [after - before for before, after in pairwise(found)]
    assert min(steps) > 0
    assert found[5] == Fraction(12, 100)
    assert found[-1] == Fraction(16, 100)


def test_a_live_clock_that_steps_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A film may show an hour in one picture; what a camera took came after that hour."""
    given: list[float | None] = [0, 0.04, 0.08 + 3600, 0.12 + 3600]
    assert times(given)[-1] == Fraction(12, 100) + 3600
    assert times(given, live=True) == [Fraction(4 * n, 100) for n in range(4)]
    passed = iter((0.0, 0.0, 0.0, 3600.0, 3600.0))
    monkeypatch.setattr(_clock, "time", SimpleNamespace(monotonic=lambda: next(passed)))
    assert times([0, 0.04, 3600.0], live=True)[-1] == 3600


def test_a_pass_follows_the_one_before() -> None:
    assert times([5, 5.04], passes=3) == [5 + Fraction(4 * n, 100) for n in range(6)]
    assert times([None, None], passes=2) == [Fraction(4 * n, 100) for n in range(4)]


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
