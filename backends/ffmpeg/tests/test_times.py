# SPDX-License-Identifier: Apache-2.0
"""Times in files: in units that encoders and containers hold, and exact where the rate is usual."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError
from samebytes_ffmpeg import FFmpegSink, FFmpegSource

NANO = Fraction(1, 10**9)
RATES = [
    *map(Fraction, (1, 5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 100, 120)),
    *(Fraction(n * 1000, 1001) for n in (24, 30, 60, 120)), Fraction(25, 2), Fraction(1, 5),
]  # fmt: skip


def timed(seconds: list[Fraction], unit: Fraction, rate: Fraction) -> Iterator[sb.Frame[Any]]:
    for number, one in enumerate(seconds):
        frame = sb.context("cpu").allocate_frame(
            "I420", 64, 64, pts=round(one / unit), time_base=unit, duration=1 / rate
        )
        for plane in frame.planes:
            plane.native[...] = 3 * number % 256
        yield frame


def with_pause(pause: Fraction, rate: Fraction = Fraction(25), count: int = 60) -> list[Fraction]:
    return [n / rate + (pause if n >= count // 2 else 0) for n in range(count)]


def times_in(path: Path) -> list[Fraction]:
    with av.open(str(path)) as container:
        shown = [(frame.pts or 0) * Fraction(frame.time_base or 0) for frame in
                 container.decode(video=0)]  # fmt: skip
    return [one - shown[0] for one in shown]


@pytest.mark.parametrize("unit", [NANO, Fraction(1, 10**6), Fraction(1, 90_000)], ids=str)
@pytest.mark.parametrize("pause", [0, 1, 3, 60, 3600, 20_000])
@pytest.mark.parametrize(
    ("codec", "ending"),
    [
        ("libx264", "mp4"), ("libx264", "mov"), ("libx264", "mkv"), ("libx264", "ts"),
        ("mpeg4", "mp4"), ("ffv1", "mkv"),
    ],
)  # fmt: skip
def test_a_pause_is_in_the_file(
    codec: str, ending: str, pause: int, unit: Fraction, tmp_path: Path
) -> None:
    made = tmp_path / f"made.{ending}"
    given = with_pause(Fraction(pause))
    el.Pipeline(timed(given, unit, Fraction(25)), FFmpegSink(made, codec)).run()
    assert times_in(made) == pytest.approx(given, abs=0.001)


@pytest.mark.parametrize("unit", [NANO, Fraction(1, 25)], ids=str)
@pytest.mark.parametrize("begin", [-100, -3, -1])
@pytest.mark.parametrize(
    ("codec", "ending"), [("libx264", "mp4"), ("mpeg4", "mp4"), ("libx264", "mov"),
                          ("libx264", "mkv"), ("libx264", "ts")],
)  # fmt: skip
def test_a_stream_that_begins_before_0_is_whole(
    codec: str, ending: str, begin: int, unit: Fraction, tmp_path: Path
) -> None:
    """Players of MP4 leave out what is before 0."""
    made = tmp_path / f"made.{ending}"
    given = [Fraction(begin + n, 25) for n in range(8)]
    el.Pipeline(timed(given, unit, Fraction(25)), FFmpegSink(made, codec)).run()
    assert times_in(made) == pytest.approx([one - given[0] for one in given], abs=0.001)


@pytest.mark.parametrize("unit", [NANO, Fraction(1, 90_000), Fraction(1, 25)], ids=str)
@pytest.mark.parametrize("begin", [2, 1000, 95_000])
@pytest.mark.parametrize(
    ("codec", "ending"),
    [
        ("libx264", "avi"),
        ("mpeg4", "avi"),
        ("libx264", "mp4"),
        ("libx264", "mkv"),
        ("libx264", "ts"),
    ],
)
def test_a_clock_that_begins_late_is_written(
    codec: str, ending: str, begin: int, unit: Fraction, tmp_path: Path
) -> None:
    """As those of television and of cameras; AVI would put the pause behind the first frame."""
    made = tmp_path / f"made.{ending}"
    given = [begin + Fraction(n, 25) for n in range(8)]
    el.Pipeline(timed(given, unit, Fraction(25)), FFmpegSink(made, codec)).run()
    found = times_in(made)
    assert len(found) == len(given)
    # FFmpeg's reader of AVI guesses the time of the last one.
    assert found[:-1] == pytest.approx([one - given[0] for one in given[:-1]], abs=0.002)


@pytest.mark.parametrize(
    ("length", "times", "rate"), [(1, [0, 1, 2, 4], 25), (2, [0, 2, 3, 5], 600)]
)
def test_avi_says_the_rate_of_its_source(
    length: int, times: list[int], rate: int, tmp_path: Path
) -> None:
    made = tmp_path / "made.avi"
    unit = Fraction(1, 25)

    class Numbers(el.Source):
        gives = el.Image("I420", memory="cpu")

        def negotiate(self, wanted: Any) -> Any:
            return el.FrameInfo("image", "cpu", "I420", 64, 48, rate=Fraction(25))

        def open(self, context: Any) -> None:
            self.left = iter(times)

        def read(self) -> Any:
            time = next(self.left, None)
            if time is None:
                return None
            frame = sb.context("cpu").allocate_frame("I420", 64, 48)
            frame.meta.pts, frame.meta.time_base = time * 512, unit / 512
            frame.metadata["duration"] = length * unit
            return frame

    el.Pipeline(Numbers(), el.create("ffmpeg.sink", made, codec="mpeg4")).run()
    with av.open(made) as container:
        (stream,) = container.streams.video
        assert stream.average_rate == rate
        found = [
            one.pts * (stream.time_base or 1)
            for one in container.decode(stream)
            if one.pts is not None
        ]
    first = found[0]
    assert [(time - first) / unit for time in found] == times


@pytest.mark.parametrize("codec", ["mpeg4", "libx264"])
@pytest.mark.parametrize("unit", [Fraction(1, 25), NANO], ids=str)
def test_a_pause_that_avi_cannot_hold_is_refused_with_the_reason(
    unit: Fraction, codec: str, tmp_path: Path
) -> None:
    """FFmpeg writes 60,000 empty frames, and refuses what comes after more."""
    made = tmp_path / "made.avi"
    most = 2400 if unit.denominator == 25 else 100
    for pause in (most, most + 1, most * 12 // 11):
        frames = timed([Fraction(0), Fraction(pause)], unit, Fraction(25))
        if pause == most:
            el.Pipeline(frames, FFmpegSink(made, codec)).run()
            assert len(times_in(made)) == 2
            continue
        with pytest.raises(ElementError, match=f"{pause} s after.*no more than {most} s: begin"):
            el.Pipeline(frames, FFmpegSink(made, codec)).run()


@pytest.mark.parametrize("begin", [0, 85579, 10**9])
@pytest.mark.parametrize("ending", ["avi", "mkv"])
def test_the_error_of_a_clock_that_steps_back_says_its_times(
    ending: str, begin: int, tmp_path: Path
) -> None:
    """Exactly, of a clock that counts from 1970 too."""
    unit = Fraction(1, 1_000_000)
    frames = timed([Fraction(begin + 5), begin + 5 - unit * 472_753], unit, Fraction(25))
    said = rf"its time, {begin + 4}\.527247 s, is not after the one before, {begin + 5} s"
    with pytest.raises(ElementError, match=said):
        el.Pipeline(frames, FFmpegSink(tmp_path / f"made.{ending}")).run()


def test_frames_of_avi_are_in_order(tmp_path: Path) -> None:
    """AVI has no times: frames that the encoder reordered are shown at those of others."""
    made = tmp_path / "made.avi"
    given = [Fraction(n, 25) for n in range(12)]
    el.Pipeline(timed(given, Fraction(1, 25), Fraction(25)), FFmpegSink(made, "libx264")).run()
    assert times_in(made) == given


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1), Fraction(5)], ids=str)
@pytest.mark.parametrize("ending", ["mp4", "mov"])
def test_a_picture_now_and_then(ending: str, rate: Fraction, tmp_path: Path) -> None:
    made = tmp_path / f"made.{ending}"
    given = [n / rate for n in range(6)]
    el.Pipeline(timed(given, NANO, rate), FFmpegSink(made)).run()
    assert times_in(made) == given


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_times_of_usual_rates_are_exact(codec: str, rate: Fraction, tmp_path: Path) -> None:
    """Though nanoseconds do not have them."""
    made = tmp_path / "made.mp4"
    given = [n / rate for n in range(8)]
    duration = round(1 / rate / NANO) * NANO
    frames = list(timed(given, NANO, rate))
    for frame in frames:
        frame.metadata["duration"] = duration
    el.Pipeline(frames, FFmpegSink(made, codec)).run()
    if rate.numerator <= 65_535:
        assert times_in(made) == given
    assert times_in(made) == pytest.approx(given, abs=1e-5)


@pytest.mark.parametrize("unit", [NANO, Fraction(1, 90_000), Fraction(1, 1000)], ids=str)
@pytest.mark.parametrize(("codec", "ending"), [("mpeg2video", "ts"), ("mpeg1video", "mpg")])
def test_encoders_that_count_frames(
    codec: str, ending: str, unit: Fraction, tmp_path: Path
) -> None:
    made = tmp_path / f"made.{ending}"
    given = [Fraction(n, 25) for n in range(30)]
    el.Pipeline(timed(given, unit, Fraction(25)), FFmpegSink(made, codec)).run()
    with av.open(str(made)) as container:
        assert len(list(container.decode(video=0))) == 30


@pytest.mark.parametrize("ending", ["mp4", "mov"])
@pytest.mark.parametrize("unit", [NANO, Fraction(1, 90_000)], ids=str)
def test_a_pause_that_the_container_cannot_hold(
    unit: Fraction, ending: str, tmp_path: Path
) -> None:
    """MP4's durations are of 32 bits. What came before is a file that can be played."""
    made = tmp_path / f"made.{ending}"
    with pytest.raises(ElementError, match=r"holds no more than 23860\.9\d* s: begin another file"):
        el.Pipeline(timed(with_pause(Fraction(86_400)), unit, Fraction(25)), FFmpegSink(made)).run()
    assert len(times_in(made)) == 30
    scaled = FFmpegSink(made, container_options={"video_track_timescale": "1000"})
    given = with_pause(Fraction(86_400))
    el.Pipeline(timed(given, unit, Fraction(25)), scaled).run()
    assert times_in(made) == pytest.approx(given, abs=0.001)


def test_a_pause_that_the_encoder_cannot_count(tmp_path: Path) -> None:
    made = tmp_path / "made.mkv"
    for pause in (86_300, 86_500):
        given = with_pause(Fraction(pause), count=4)
        pipe = el.Pipeline(timed(given, NANO, Fraction(25)), FFmpegSink(made, "mpeg4"))
        if pause < 86_400:
            pipe.run()
            continue
        with pytest.raises(ElementError, match="counts no more than a day: begin another file"):
            pipe.run()


def counts_in(path: Path) -> tuple[Fraction | None, list[int | None]]:
    """The unit of a file, and the times of its frames in it."""
    with av.open(str(path)) as container:
        return container.streams.video[0].time_base, [f.pts for f in container.decode(video=0)]


def test_frames_that_are_closer_than_the_unit_ascend(tmp_path: Path) -> None:
    made = tmp_path / "made.mp4"
    given = [n * NANO for n in (0, 1, 2, 3, 40_000_000)]
    el.Pipeline(timed(given, NANO, Fraction(25)), FFmpegSink(made)).run()
    assert counts_in(made) == (Fraction(1, 90_000), [0, 1, 2, 3, 3600])
    with pytest.raises(ElementError, match="is not after the one before"):
        el.Pipeline(timed([*given, given[-1]], NANO, Fraction(25)), FFmpegSink(made)).run()


@pytest.mark.parametrize(
    ("unit", "there"),
    [
        (Fraction(1, 25), Fraction(1, 12_800)),  # FFmpeg's muxer makes it finer
        (Fraction(1001, 30_000), Fraction(1, 30_000)),
        (Fraction(1, 12_800), Fraction(1, 12_800)),
        (Fraction(1, 180_000), Fraction(1, 180_000)),
    ],
    ids=str,
)
def test_units_that_are_not_too_fine_are_kept(
    unit: Fraction, there: Fraction, tmp_path: Path
) -> None:
    made = tmp_path / "made.mp4"
    given = [n * unit for n in range(3)]
    el.Pipeline(timed(given, unit, Fraction(30)), FFmpegSink(made)).run()
    found, counts = counts_in(made)
    assert found == there
    assert [(count or 0) * there for count in counts] == given


def test_times_beyond_all_counts_are_refused_by_name(tmp_path: Path) -> None:
    frames = timed([Fraction(n) for n in range(10)], Fraction(1, 25), Fraction(25))
    for frame in (far := list(frames)):
        frame.meta.pts = (frame.meta.pts or 0) + 2**62
    with pytest.raises(ElementError, match="more than FFmpeg can count"):
        el.Pipeline(far, FFmpegSink(tmp_path / "made.mp4")).run()


@pytest.mark.parametrize("threads", [0, 1])
def test_what_cannot_be_finished_is_an_error(threads: int) -> None:
    """All of it is written at the end, where there is no room."""
    given = [Fraction(n, 25) for n in range(3)]
    sink = FFmpegSink("/dev/full", "libx264", format="mpegts")
    with pytest.raises(ElementError, match="No space left") as caught:
        el.Pipeline(timed(given, NANO, Fraction(25)), sink).run(threads=threads)
    assert caught.value.element == "ffmpeg.sink"
    assert "Errno" not in str(caught.value)


# In a process of its own: other libraries there write as well, and LLVM ends the process for it.
_FULL_AT_THE_END = """
import resource, sys
import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError

def frames():
    yield sb.context("cpu").allocate_frame("I420", 64, 64)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))

try:
    el.Pipeline(frames(), el.create("ffmpeg.sink", sys.argv[1])).run(threads=0)
except ElementError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_of_the_trailer_too(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _FULL_AT_THE_END, str(tmp_path / "made.mp4")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "cannot finish what it writes: File too large" in done.stdout, done.stderr


def test_no_time_steps_back(tmp_path: Path) -> None:
    made = tmp_path / "made.mkv"
    frames = [sb.context("cpu").allocate_frame("I420", 64, 64) for _ in range(4)]
    el.Pipeline(frames, FFmpegSink(made)).run()
    assert all(after > before for before, after in pairwise(times_in(made)))


def test_frames_without_times_are_numbered(tmp_path: Path) -> None:
    """Also where a video begins again."""
    made = tmp_path / "made.h264"
    given = [Fraction(n, 20) for n in range(2)]
    el.Pipeline(timed(given, Fraction(1, 20), Fraction(20)), FFmpegSink(made)).run()
    source = FFmpegSource(made, loop=True, frames=4, options={"framerate": "20"})
    with el.Pipeline(source).start(threads=0) as out:
        shown = [(frame.meta.pts or 0) * Fraction(frame.meta.time_base or 0) for frame in out]
    assert shown == [Fraction(number, 20) for number in range(4)]


@pytest.mark.parametrize("rate", [Fraction(25), Fraction(30_000, 1001), Fraction(1)], ids=str)
@pytest.mark.parametrize(
    ("codec", "ending", "unit"),
    [
        ("rawvideo", "y4m", Fraction(1, 12_800)),
        ("rawvideo", "y4m", Fraction(1, 1000)),
        ("rawvideo", "y4m", NANO),
        ("libvpx", "ogg", Fraction(1, 12_800)),
        ("libvpx", "ogg", NANO),
    ],
)
def test_files_that_say_one_rate_say_that_of_the_frames(
    codec: str, ending: str, unit: Fraction, rate: Fraction, tmp_path: Path
) -> None:
    """Not the unit of the file that they come from."""
    made = tmp_path / f"made.{ending}"
    given = [n / rate for n in range(6)]
    frames = timed(given, unit, rate)
    el.Pipeline(frames, FFmpegSink(made, codec, rate=rate)).run()
    assert times_in(made) == given


@pytest.mark.parametrize("unit", [Fraction(1, 25), Fraction(1, 1000), Fraction(1, 90_000)], ids=str)
@pytest.mark.parametrize("ending", ["mp4", "avi", "mkv"])
def test_frames_without_times_have_the_rate(ending: str, unit: Fraction, tmp_path: Path) -> None:
    """The unit of the times that they had makes no difference."""
    made = tmp_path / f"made.{ending}"
    given = [Fraction(n, 30) for n in range(40)]
    frames = list(timed(given, unit, Fraction(25)))
    for frame in frames:
        frame.meta.pts = None
    el.Pipeline(frames, FFmpegSink(made, "mpeg4", rate=Fraction(30))).run()
    assert times_in(made) == pytest.approx(given, abs=0.001)


def test_frames_without_times_go_on_by_the_rate(tmp_path: Path) -> None:
    """Errors do not add up, in a unit that the length of a frame is not a multiple of."""
    made = tmp_path / "made.mp4"
    given = [Fraction(n, 30) for n in range(40)]
    first, *frames = timed(given, Fraction(1, 1000), Fraction(30))
    for frame in frames:
        frame.meta.pts = None
    el.Pipeline([first, *frames], FFmpegSink(made)).run()
    assert times_in(made) == pytest.approx(given, abs=0.0006)


def without_durations(frames: Iterator[sb.Frame[Any]]) -> Iterator[sb.Frame[Any]]:
    for frame in frames:
        del frame.metadata["duration"]
        yield frame


@pytest.mark.parametrize("codec", ["libvpx", "libvpx-vp9", "libx264"])
@pytest.mark.parametrize("unit", [Fraction(1, 10), Fraction(1), Fraction(2)], ids=str)
def test_units_longer_than_a_frame(unit: Fraction, codec: str, tmp_path: Path) -> None:
    """With them a frame has no length, as encoders count it."""
    made = tmp_path / "made.mkv"
    given = [n * unit for n in range(4)]
    frames = without_durations(timed(given, unit, 1 / unit))
    el.Pipeline(frames, FFmpegSink(made, codec, rate=Fraction(30))).run()
    assert times_in(made) == given


@pytest.mark.parametrize("unit", [Fraction(1, 30), Fraction(1001, 24_000)], ids=str)
def test_the_unit_is_the_rate_where_nothing_else_says_one(unit: Fraction, tmp_path: Path) -> None:
    """MPEG-2 counts frames, so that they would come at another rate."""
    made = tmp_path / "made.ts"
    given = [n * unit for n in range(12)]
    frames = without_durations(timed(given, unit, 1 / unit))
    el.Pipeline(frames, FFmpegSink(made, "mpeg2video")).run()
    assert times_in(made) == pytest.approx(given, abs=0.0001)


@pytest.mark.parametrize(
    ("codec", "ending", "rate", "said"),
    [
        ("mpeg1video", "mpg", Fraction(10), "perhaps mpeg1video has no 10 frames a second: pass"),
        ("mpeg2video", "ts", Fraction(7, 3), r"mpeg2video has no 2\.33333 frames a second: pass"),
        ("mpeg2video", "mxf", Fraction(10), "no place for mpeg2video of this rate, .*: pass rate="),
        ("gif", "gif", Fraction(240), "frames are closer than 1/100 s, the unit of time of gif"),
    ],
)
def test_rates_that_a_file_cannot_have_are_named(
    codec: str, ending: str, rate: Fraction, said: str, tmp_path: Path
) -> None:
    format_ = "GRAY8" if codec == "gif" else "I420"
    made = timed([n / rate for n in range(6)], Fraction(1, 90_000), rate)
    frames = [one.convert(format_, copy=True) for one in made]
    with pytest.raises(ElementError, match=said):
        el.Pipeline(frames, FFmpegSink(tmp_path / f"made.{ending}", codec)).run()
