# SPDX-License-Identifier: Apache-2.0
"""ffmpeg.source and ffmpeg.sink in pipelines."""

from __future__ import annotations

import ctypes
import errno
import gc
import inspect
import os
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata
from samebytes.errors import ElementError, NegotiationError, ParameterError
from samebytes_ffmpeg import FFmpegSink, FFmpegSource
from samebytes_ffmpeg._elements._output import Output


@el.inplace(takes=el.Image("NV12|I420", memory="cpu", access="rw"))
def mark(frame: sb.Frame[Any]) -> None:
    frame.planes[0].native[:10] = 200


@el.source(gives=el.Image("I420", memory="cpu", width=64, height=48))
def numbers(*, count: int = 8) -> Iterator[sb.Frame[Any]]:
    for number in range(count):
        frame = sb.context("cpu").allocate_frame("I420", 64, 48)
        for plane in frame.planes:
            plane.native[...] = 16 + 8 * number
        frame.meta.pts, frame.meta.time_base = number, Fraction(1, 25)
        yield frame


def seconds(frames: Any) -> list[Fraction]:
    return [frame.meta.pts * frame.meta.time_base for frame in frames]


def at(frame: av.VideoFrame) -> Fraction:
    assert frame.pts is not None
    assert frame.time_base is not None
    return frame.pts * frame.time_base


def decoded(path: Path) -> list[av.VideoFrame]:
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def test_the_source_says_what_the_header_says(clip: Path) -> None:
    text = el.Pipeline(FFmpegSource(clip), lambda frame: frame).explain()
    assert text.startswith("ffmpeg.source gives image I420 322x242 in ffmpeg, 30 fps\n")


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_of_a_decoder_are_changed_in_place_and_encoded(
    threads: int, clip: Path, tmp_path: Path
) -> None:
    sb.reset_stats()
    made = tmp_path / "made.mp4"
    count = len(decoded(clip))
    pipe = el.Pipeline(FFmpegSource(clip), mark(), FFmpegSink(made))
    with pipe.start(threads=threads) as out:
        times = seconds(out)
        frames = out.statistics().of("ffmpeg.sink").frames_in
    assert frames == count  # the last ones too, which a decoder that lives would keep
    assert times == [Fraction(number, 30) for number in range(count)]
    assert sb.stats().copied_bytes == 0
    written = decoded(made)
    assert [at(frame) for frame in written] == times
    for frame in written:
        assert abs(frame.to_ndarray()[4, :300].astype(int) - 200).max() < 20


def test_metadata_of_decoded_frames_are_read_when_asked_for(clip: Path) -> None:
    def look(frame: sb.Frame[Any]) -> Any:
        meta: Any = frame.meta
        assert not meta.metadata_was_read  # it takes longer than all that a pipeline does
        return frame

    pipe = el.Pipeline([FFmpegSource(clip, frames=2), FFmpegSource(clip, frames=2)], look)
    with pipe.start(threads=0) as out:
        frames = list(out)
    found = [metadata.find(frame, metadata.SourceIdentifier) for frame in frames]
    assert found == [metadata.SourceIdentifier(stream_id=n) for n in (0, 1, 0, 1)]
    assert all("ffmpeg" in frame.metadata for frame in frames)
    # What was read before is noted at once.
    again = el.Pipeline([el.source()(lambda: iter(()))(), Given(frames[:1])])
    with again.start(threads=0) as out:
        given = next(out)
    assert metadata.all_of(given, metadata.SourceIdentifier) == [
        metadata.SourceIdentifier(stream_id=1)
    ]


class Given(el.Source):
    """Gives frames of a list."""

    frames: list[Any]

    def open(self, context: Any) -> None:
        self._left = iter(self.frames)

    def read(self) -> Any:
        return next(self._left, None)


def test_a_part_of_a_file(clip: Path) -> None:
    pipe = el.Pipeline(FFmpegSource(clip, start=0.5, frames=5))
    assert seconds(pipe.start(threads=0)) == [Fraction(15 + number, 30) for number in range(5)]


class Watching:
    """A container whose demux() can be looked at afterwards."""

    def __init__(self, container: Any) -> None:
        self._container = container
        self.packets: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def demux(self, stream: Any) -> Iterator[Any]:
        packets = self._each(stream)
        self.packets.append(packets)
        return packets

    def _each(self, stream: Any) -> Iterator[Any]:
        yield from self._container.demux(stream)


def test_a_source_that_stops_early_closes_the_demuxer(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PyAV's demux() frees its packet when it is closed or ends, not when it is dropped.
    opened: list[Watching] = []
    original = av.open

    def watched(*values: Any, **named: Any) -> Watching:
        opened.append(Watching(original(*values, **named)))
        return opened[-1]

    monkeypatch.setattr(av, "open", watched)
    el.Pipeline(FFmpegSource(clip, frames=3)).run(threads=0)
    with el.Pipeline(FFmpegSource(clip, loop=True)).start() as out:
        next(out)
    demuxers = [packets for container in opened for packets in container.packets]
    assert len(demuxers) >= 2
    assert {inspect.getgeneratorstate(packets) for packets in demuxers} == {"GEN_CLOSED"}


class _Mallinfo(ctypes.Structure):
    """struct mallinfo2 of malloc.h."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    )  # fmt: skip


def test_sources_that_stop_early_leave_nothing_allocated(clip: Path) -> None:
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if ask is None:
        pytest.skip("not glibc 2.33 or later: it cannot be asked what is allocated")
    ask.restype = _Mallinfo

    def allocated() -> int:
        gc.collect()
        now = ask()
        return int(now.uordblks + now.hblkhd)

    source = FFmpegSource(clip, frames=2, threads=1)

    def some(count: int = 50) -> None:
        for _ in range(count):
            source.negotiate(None)
            while source.read() is not None:
                pass
            source.close()

    some()
    growth = []
    for _ in range(3):
        before = allocated()
        some()
        growth.append(allocated() - before)
    # Tables of the interpreter grow now and then; what is lost with a connection, each time. Two
    # allocations of at least 32 bytes were.
    assert min(growth) < 50 * 64, growth


def test_times_go_on_when_a_file_begins_again(clip: Path) -> None:
    count = 2 * len(decoded(clip)) + 3
    pipe = el.Pipeline(FFmpegSource(clip, loop=True, frames=count))
    assert seconds(pipe.start(threads=0)) == [Fraction(number, 30) for number in range(count)]


def test_a_loop_without_end_is_stopped_from_outside(clip: Path) -> None:
    with el.Pipeline(FFmpegSource(clip, loop=True)).start() as out:
        for _ in range(100):
            next(out)
    with pytest.raises(StopIteration):
        next(out)


def test_a_second_run_begins_again(clip: Path) -> None:
    pipe = el.Pipeline(FFmpegSource(clip, frames=3))
    assert pipe.run(threads=0).of("ffmpeg.source").frames_out == 3
    assert pipe.run().of("ffmpeg.source").frames_out == 3


def test_several_inputs_go_through_the_same_elements(clip: Path) -> None:
    sources = [FFmpegSource(clip, frames=count) for count in (2, 5)]
    assert len(list(el.Pipeline(sources, lambda frame: frame).start())) == 7


def test_what_cannot_be_opened_is_named(tmp_path: Path, clip: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    for url, words in (
        (tmp_path / "none.mp4", "no such file"),
        (tmp_path / "text.mp4", "cannot open"),
    ):
        with pytest.raises(ElementError, match=words) as caught:
            el.Pipeline(FFmpegSource(url)).run()
        assert caught.value.element == "ffmpeg.source"
    with pytest.raises(ElementError, match="no video stream 1: it has video"):
        el.Pipeline(FFmpegSource(clip, stream=1)).run()
    with pytest.raises(ParameterError, match="threads"):
        el.create("ffmpeg.source", clip, threads=-1)
    with pytest.raises(ParameterError, match="'start' must be a number, 0 to 1000000000, not inf"):
        el.create("ffmpeg.source", clip, start=float("inf"))


def test_frames_of_the_cpu_are_lent_and_unchanged(tmp_path: Path) -> None:
    sb.reset_stats()
    made = tmp_path / "made.mkv"
    pipe = el.Pipeline(numbers(), el.create("ffmpeg.sink", made, codec="ffv1"))
    frames = list(pipe.start())
    assert sb.stats().copied_bytes == 0
    written = decoded(made)
    assert len(written) == len(frames) == 8
    for frame, other in zip(frames, written, strict=True):
        assert np.array_equal(frame.planes[0].native, other.to_ndarray()[:48])
    assert seconds(frames) == [at(frame) for frame in written]


def test_the_sink_leaves_the_av_frame_as_it_was(clip: Path, tmp_path: Path) -> None:
    before = [(f.pts, f.time_base, f.pict_type) for f in decoded(clip)[:9]]
    pipe = el.Pipeline(FFmpegSource(clip, frames=9), FFmpegSink(tmp_path / "made.mp4"))
    natives = [frame.native for frame in pipe.start(threads=0)]
    assert [(f.pts, f.time_base, f.pict_type) for f in natives] == before


def test_a_file_is_whole_when_it_was_stopped_early(clip: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.mp4"
    with el.Pipeline(FFmpegSource(clip, loop=True), FFmpegSink(made)).start(threads=0) as out:
        for _ in range(20):
            next(out)
    assert len(decoded(made)) == 20


@pytest.mark.parametrize("on_failure", ["keep", "remove"])
@pytest.mark.parametrize("fails", [False, True])
def test_what_becomes_of_the_file_of_a_run_that_fails(
    on_failure: str, fails: bool, clip: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made.mp4"

    def fail(frame: Any) -> Any:
        if fails and len(seen) == 9:
            raise ValueError("ninth")
        seen.append(frame.pts)
        return frame

    seen: list[int] = []
    pipe = el.Pipeline(FFmpegSource(clip, frames=20), fail, FFmpegSink(made, on_failure=on_failure))
    with pytest.raises(ElementError, match="ninth") if fails else nullcontext():
        pipe.run()
    if fails and on_failure == "remove":
        assert not made.exists()
    else:
        assert len(decoded(made)) == (9 if fails else 20)


def test_the_sink_refuses_what_it_would_have_to_convert(tmp_path: Path) -> None:
    rgb = FFmpegSink(tmp_path / "made.mp4", codec="mjpeg")
    source = el.source(gives=el.Image("BGR", memory="cpu", width=64, height=48))(lambda: iter(()))
    with pytest.raises(ElementError, match=r"mjpeg takes .*, not bgr24"):
        el.Pipeline(source(), rgb).explain()
    with pytest.raises(ElementError, match="no encoder 'none'"):
        el.Pipeline(numbers(), FFmpegSink(tmp_path / "made.mp4", codec="none")).run()

    def sizes() -> Iterator[av.VideoFrame]:
        yield av.VideoFrame(64, 48, "yuv420p")
        yield av.VideoFrame(32, 48, "yuv420p")

    with pytest.raises(ElementError, match="yuv420p 32x48, and the file has yuv420p 64x48"):
        el.Pipeline(sizes(), FFmpegSink(tmp_path / "made.mp4")).run()


def test_one_sink_writes_one_stream(tmp_path: Path) -> None:
    pipe = el.Pipeline([numbers(), numbers()], FFmpegSink(tmp_path / "made.mkv"))
    says = r'it takes one stream, and there are 2 sources: put "\{stream\}" into the name'
    with pytest.raises(NegotiationError, match=says):
        pipe.run()
    assert not (tmp_path / "made.mkv").exists()


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("out-{stream}.mkv", ["out-0.mkv", "out-1.mkv"]),
        ("{stream:02}/a {b} {stream}.mkv", ["00/a {b} 0.mkv", "01/a {b} 1.mkv"]),
    ],
)
def test_a_file_for_each_stream(
    pattern: str, names: list[str], threads: int, clip: Path, tmp_path: Path
) -> None:
    """Of other sizes, rates and lengths; the frames of each are what its source gave."""
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
    made = el.create("ffmpeg.sink", tmp_path / pattern, codec="ffv1")
    pipe = el.Pipeline([numbers(count=3), FFmpegSource(clip, frames=5)], made)
    for _ in range(2):  # and again
        came: dict[int, list[Any]] = {0: [], 1: []}
        with pipe.start(threads=threads) as out:
            for frame in out:
                source = metadata.find(frame, metadata.SourceIdentifier)
                assert source is not None
                assert source.stream_id is not None
                pixels = frame.map("cpu").planes[0].native.copy()
                came[source.stream_id].append((seconds([frame])[0], pixels))
        for number, name in enumerate(names):
            written = decoded(tmp_path / name)
            assert len(written) == len(came[number]) == (3, 5)[number]
            for (when, pixels), shown in zip(came[number], written, strict=True):
                assert abs(at(shown) - when) < Fraction(1, 1000)  # as Matroska counts
                assert np.array_equal(shown.to_ndarray()[: len(pixels)], pixels)
    assert sorted(p.name for p in tmp_path.rglob("*.mkv")) == sorted(Path(n).name for n in names)


def test_the_rate_of_each_file_is_that_of_its_stream(clip: Path, tmp_path: Path) -> None:
    @el.source(gives=el.Image("I420", memory="cpu", width=64, height=48))
    def slow() -> Iterator[sb.Frame[Any]]:
        for number in range(3):
            yield sb.context("cpu").allocate_frame(
                "I420", 64, 48, pts=number, time_base=Fraction(1, 5), duration=Fraction(1, 5)
            )

    made = el.create("ffmpeg.sink", tmp_path / "{stream}.mp4", codec="mpeg4")
    el.Pipeline([slow(), FFmpegSource(clip, frames=5)], made).run()
    rates = []
    for number in (0, 1):
        with av.open(str(tmp_path / f"{number}.mp4")) as container:
            rates.append(container.streams.video[0].average_rate)
    assert rates == [5, 30]


def test_one_stream_may_be_numbered_too(tmp_path: Path) -> None:
    el.Pipeline(numbers(), FFmpegSink(tmp_path / "out-{stream}.mkv", codec="ffv1")).run()
    assert len(decoded(tmp_path / "out-0.mkv")) == 8


@pytest.mark.parametrize("on_failure", ["keep", "remove"])
def test_a_failed_run_treats_all_files_alike(on_failure: Any, tmp_path: Path) -> None:
    def fail(frame: sb.Frame[Any]) -> sb.Frame[Any]:
        if frame.pts == 6:
            raise ValueError("enough")
        return frame

    made = FFmpegSink(tmp_path / "{stream}.mkv", codec="ffv1", on_failure=on_failure)
    with pytest.raises(ElementError, match="enough"):
        el.Pipeline([numbers(), numbers()], fail, made).run(threads=0)
    assert len(list(tmp_path.glob("*.mkv"))) == (2 if on_failure == "keep" else 0)


@pytest.mark.parametrize("on_failure", ["keep", "remove"])
def test_a_file_that_cannot_be_finished_is_one_of_a_failed_run(
    on_failure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a small file, all is written at the end: a disk that is full is noticed only then."""
    close = Output.close

    def full(output: Output) -> None:
        close(output)
        if len(closed) == 0:
            closed.append(output)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    closed: list[Output] = []
    monkeypatch.setattr(Output, "close", full)
    made = FFmpegSink(tmp_path / "{stream}.mkv", codec="ffv1", on_failure=on_failure)
    with pytest.raises(ElementError, match="cannot finish what it writes: No space left"):
        el.Pipeline([numbers(), numbers()], made).run(threads=0)
    assert len(list(tmp_path.glob("*.mkv"))) == (2 if on_failure == "keep" else 0)


@pytest.mark.parametrize("on_failure", ["keep", "remove"])
def test_a_file_whose_header_is_refused_is_closed(on_failure: Any, tmp_path: Path) -> None:
    made, options = tmp_path / "made.mp4", {"movflags": "none-of-that-name"}
    sink = FFmpegSink(made, codec="mpeg4", container_options=options, on_failure=on_failure)
    with pytest.raises(ElementError, match="an option of container_options= is wrong"):
        el.Pipeline(numbers(), sink).run()
    assert made.exists() == (on_failure == "keep")
    left = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert not [path for path in left if path.name.startswith(made.name)]


def test_all_files_are_removed_but_those_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.name == "1.mkv":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)

    def breaks() -> Iterator[sb.Frame[Any]]:
        for _ in range(3):
            yield sb.context("cpu").allocate_frame("I420", 64, 48)
        raise OSError("unplugged")

    made = FFmpegSink(tmp_path / "{stream}.mkv", codec="mpeg4", on_failure="remove")
    with pytest.raises(ElementError, match="unplugged"):
        el.Pipeline([numbers(), breaks(), numbers()], made).run(threads=0)
    assert [path.name for path in tmp_path.glob("*.mkv")] == ["1.mkv"]


@pytest.mark.parametrize("fails", ["before", "encoder", "pipe"])
def test_what_a_failed_run_has_not_made_stays(fails: str, tmp_path: Path) -> None:
    """An earlier file that was not emptied yet, and a pipe."""
    path = tmp_path / "made.mkv"
    with ExitStack() as closing:
        if fails == "pipe":
            os.mkfifo(path)
            closing.callback(os.close, os.open(path, os.O_RDWR))  # its reader
        else:
            path.write_bytes(b"a video")
        options = {"b": "many"} if fails == "encoder" else {}
        sink = FFmpegSink(path, codec="mpeg4", options=options, on_failure="remove")

        def until_it_breaks() -> Iterator[sb.Frame[Any]]:
            for _ in range(0 if fails == "before" else 3):
                yield sb.context("cpu").allocate_frame("I420", 64, 48)
            raise OSError("unplugged")

        with pytest.raises(ElementError):
            el.Pipeline(until_it_breaks(), sink).run(threads=0)
    assert path.is_fifo() if fails == "pipe" else path.read_bytes() == b"a video"


def test_a_folder_that_is_missing_is_named_with_the_first_frame(tmp_path: Path) -> None:
    with pytest.raises(ElementError, match=r"the folder .*none does not exist"):
        el.Pipeline(numbers(), FFmpegSink(tmp_path / "none" / "{stream}.mp4")).run()


def test_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ElementError, match="cannot create it"):
        el.Pipeline(numbers(), FFmpegSink(tmp_path / "none" / "made.mp4")).run()


@pytest.mark.parametrize("url", ["made", "made.unknown", "udp://127.0.0.1:9"])
def test_a_name_without_a_container_says_what_to_pass(url: str, tmp_path: Path) -> None:
    there = url if "://" in url else tmp_path / url
    with pytest.raises(ElementError, match=r"pass format=, such as 'mpegts'"):
        el.Pipeline(numbers(), FFmpegSink(there)).run(threads=0)


def test_the_sink_takes_no_tensors(tmp_path: Path) -> None:
    source = el.source(gives=el.Tensors(memory="cpu"))(lambda: iter(()))
    with pytest.raises(NegotiationError):
        el.Pipeline(source(), FFmpegSink(tmp_path / "made.mp4")).explain()


# Connections: to this machine alone.
