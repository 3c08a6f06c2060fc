# SPDX-License-Identifier: Apache-2.0
"""Recordings of sources whose clocks repeat, step back, step ahead or are not there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import ElementError

av = pytest.importorskip("av", reason="missing package av: pip install av")
pytest.importorskip("gi", reason="missing package gi: pip install PyGObject")
for _name in ("ffmpeg", "gstreamer"):
    _package = f"samebytes-{_name}"
    pytest.importorskip(
        f"samebytes_{_name}", reason=f"missing package {_package}: pip install {_package}"
    )

import samebytes_gstreamer as sbg  # noqa: E402 - after what is skipped for

FRAMES = 10
CHANGE = 5
"""The frame with which the clock does something."""
RATE = 25
DAYS = 7 * 86_400
CAPS = f"video/x-raw,format=I420,width=64,height=48,framerate={RATE}/1"

_TIMESTAMP_SCALE = bytes.fromhex("2ad7b1") + b"\x83"
"""Of Matroska: how many nanoseconds a unit has, in three bytes."""


@el.inplace
def with_clock(frame: Any, *, kind: str = "") -> None:
    """Give a frame the time that a clock of this kind has."""
    number = frame.pts * RATE // 10**9
    if kind == "repeats":
        frame.meta.pts = min(number, CHANGE) * 10**9 // RATE
    elif kind == "back":
        frame.meta.pts = (number % CHANGE) * 10**9 // RATE
    elif kind == "ahead" and number >= CHANGE:
        frame.meta.pts += DAYS * 10**9
    elif kind == "missing" and number % CHANGE != 1:
        frame.meta.pts = None


def file_of(kind: str, folder: Path) -> Path:
    """A file that FFmpeg reads with such times."""
    if kind == "back":
        path = written(folder / "once.ts", range(CHANGE))
        path.write_bytes(path.read_bytes() * (FRAMES // CHANGE))
    elif kind == "missing":
        path = written(folder / "bare.h264", range(FRAMES), "libx264")
    elif kind == "repeats":
        path = written(folder / "made.mkv", [min(number, CHANGE) for number in range(FRAMES)])
    elif kind == "ahead":
        times = [number + (number >= CHANGE) * DAYS * RATE for number in range(FRAMES)]
        path = written(folder / "made.mkv", times)
    else:
        path = written(folder / "made.mkv", [number * 10**6 for number in range(FRAMES)])
        content = path.read_bytes()
        assert content.count(_TIMESTAMP_SCALE) == 1
        at = content.index(_TIMESTAMP_SCALE) + len(_TIMESTAMP_SCALE)
        path.write_bytes(content[:at] + (1).to_bytes(3, "big") + content[at + 3 :])
    return path


def written(path: Path, times: Any, codec: str = "mpeg2video") -> Path:
    """A file of pictures at these times, in frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.options = {"bf": "0"}
        packets = []
        for number in range(len(times)):
            frame = av.VideoFrame(64, 48, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            packets += stream.encode(frame)
        packets += stream.encode(None)
        for packet, time in zip(packets, times, strict=True):
            packet.pts = packet.dts = time
            container.mux(packet)
    return path


def from_ffmpeg(kind: str, folder: Path, live: bool) -> Any:
    url = file_of(kind, folder)
    return el.create("ffmpeg.source", url, live=live, frames=FRAMES, reconnect=0)


def from_gstreamer(kind: str, _: Path, live: bool) -> Any:
    name = sbg.register(with_clock, name="sb_with_clock")
    text = f"videotestsrc num-buffers={FRAMES} ! {CAPS} ! {name} kind={kind}"
    return el.create("gstreamer.source", text, live=live)


def to_ffmpeg(ending: str) -> Callable[[Path], tuple[Path, Any]]:
    def sink(folder: Path) -> tuple[Path, Any]:
        path = folder / f"recorded.{ending}"
        return path, el.create("ffmpeg.sink", path)

    return sink


def to_gstreamer(muxer: str, ending: str) -> Callable[[Path], tuple[Path, Any]]:
    def sink(folder: Path) -> tuple[Path, Any]:
        path = folder / f"recorded.{ending}"
        return path, el.create("gstreamer.sink", f"jpegenc ! {muxer} ! filesink location={path}")

    return sink


SOURCES = {"ffmpeg": from_ffmpeg, "gstreamer": from_gstreamer}
SINKS = {
    "ffmpeg-mp4": to_ffmpeg("mp4"),
    "ffmpeg-mkv": to_ffmpeg("mkv"),
    "gstreamer-mov": to_gstreamer("qtmux", "mov"),
    "gstreamer-mkv": to_gstreamer("matroskamux", "mkv"),
}


def seconds_in(path: Path) -> list[float]:
    """The times of a recording, each of whose frames is decoded."""
    with av.open(str(path)) as container:
        return [frame.time for frame in container.decode(video=0)]


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("live", [False, True], ids=["file", "live"])
@pytest.mark.parametrize("kind", ["repeats", "back", "ahead", "missing", "nanoseconds"])
def test_is_recorded_whole(kind: str, live: bool, source: str, sink: str, tmp_path: Path) -> None:
    if kind == "ahead" and not sink.endswith("mkv"):
        live = True  # others have no pause of days
    path, end = SINKS[sink](tmp_path)
    ran = el.Pipeline(SOURCES[source](kind, tmp_path, live), end).run()
    assert ran.of(f"{source}.source").frames_out == FRAMES
    found = seconds_in(path)
    assert len(found) == FRAMES
    assert all(before < after for before, after in pairwise(found))
    if kind in {"back", "missing"} or (kind == "ahead" and live):
        assert found[-1] - found[0] == pytest.approx((FRAMES - 1) / RATE, abs=0.05)
    elif kind == "ahead":
        assert found[-1] - found[0] > DAYS


@pytest.mark.parametrize("source", SOURCES)
def test_a_pause_that_a_file_cannot_have_is_named(source: str, tmp_path: Path) -> None:
    _, end = SINKS["ffmpeg-mp4"](tmp_path)
    with pytest.raises(ElementError, match="mp4 holds no more"):
        el.Pipeline(SOURCES[source]("ahead", tmp_path, False), end).run()
