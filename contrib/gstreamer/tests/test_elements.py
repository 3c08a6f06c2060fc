# SPDX-License-Identifier: Apache-2.0
"""gstreamer.source and gstreamer.sink: streams that end, fail, wait, and are stopped."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from gi.repository import Gst

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import ClosedError, ElementError, ParameterError

GRAY = "video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1"


def source(text: str, **parameters: Any) -> el.Element:
    return el.create("gstreamer.source", text, **parameters)


def sink(text: str, **parameters: Any) -> el.Element:
    return el.create("gstreamer.sink", text, **parameters)


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_pass_from_one_pipeline_to_another(tmp_path: Path, threads: int) -> None:
    written = tmp_path / "frames"
    pipe = el.Pipeline(
        source(f"videotestsrc num-buffers=5 ! {GRAY}"),
        lambda frame: frame,
        sink(f"filesink location={written}"),
    )
    with pipe.start(threads=threads) as out:
        pts = [frame.pts for frame in out]
    assert pts == [0, 33333333, 66666666, 100000000, 133333333]
    assert written.stat().st_size == 5 * 64 * 48
    assert sb.stats().copies == 0


def test_frames_of_the_cpu_are_lent_to_the_sink(tmp_path: Path) -> None:
    frames = [sb.context("cpu").allocate_frame("GRAY8", 64, 48) for _ in range(3)]
    for number, frame in enumerate(frames):
        frame.native[0][...] = 10 * number
    written = tmp_path / "frames"
    el.Pipeline(frames, sink(f"filesink location={written}")).run()
    assert [written.read_bytes()[64 * 48 * n] for n in range(3)] == [0, 10, 20]
    assert sb.stats().copies == 0


@pytest.mark.parametrize(
    ("unit", "length"), [(None, 40), (1000, 40), (1, 1000), (10, 100), (90_000, 40)]
)
def test_frames_without_times_follow_one_another(
    unit: int | None, length: int, tmp_path: Path
) -> None:
    """Muxers such as Matroska's leave out buffers that have none, and write an empty file."""
    frames = [sb.context("cpu").allocate_frame("GRAY8", 64, 48) for _ in range(4)]
    for frame in frames:
        frame.meta.time_base = None if unit is None else Fraction(1, unit)
    frames[2].metadata["duration"] = Fraction(2)
    made = tmp_path / "made.mkv"
    with el.Pipeline(frames, sink(f"matroskamux ! filesink location={made}")).start() as out:
        assert [frame.meta.pts for frame in out] == [None] * 4
    with el.Pipeline(source(f"filesrc location={made} ! matroskademux")).start() as out:
        times = [(frame.meta.pts or 0) // 1_000_000 for frame in out]
    assert times == [0, length, 2 * length, 2 * length + 2000]


@pytest.mark.parametrize("kind", ["cpu", "gstreamer"])
def test_a_time_that_the_sink_makes_up_is_not_seen_by_other_branches(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame: sb.Frame = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
    if kind == "gstreamer":
        made = Gst.Buffer.new_wrapped(bytes(64 * 48))
        frame = sbg.frame_of(made, Gst.Caps.from_string(GRAY))
    meta, seen = frame.meta, list[tuple[int | None, int | None]]()
    write = sbg.GStreamerSink.write

    def spy(self: Any, given: Any) -> None:
        seen.append((given.pts, meta.pts))
        write(self, given)

    monkeypatch.setattr(sbg.GStreamerSink, "write", spy)
    el.Pipeline([frame], sink("fakesink")).run()
    assert (seen, frame.meta is meta) == ([(0, None)], True)


def test_an_appsrc_that_stamps_frames_does(tmp_path: Path) -> None:
    frames = [sb.context("cpu").allocate_frame("GRAY8", 64, 48) for _ in range(4)]
    made = tmp_path / "made"
    stamped = sink(f"appsrc do-timestamp=true is-live=true ! filesink location={made}")
    el.Pipeline(frames, stamped).run()
    assert made.stat().st_size == 4 * 64 * 48


def test_a_program_that_had_an_appsink_of_its_own_before() -> None:
    """PyGObject makes the classes of these elements once, without GstApp's methods if that is not
    imported yet: programs that pull by signals do not import it.
    """
    child = f"""
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init([])
own = Gst.parse_launch("appsrc name=source ! appsink name=sink")
assert not hasattr(own.get_by_name("sink"), "try_pull_sample")
assert not hasattr(own.get_by_name("source"), "end_of_stream")
import samebytes.elements as el
source = el.create("gstreamer.source", "videotestsrc num-buffers=7 ! {GRAY}", access="rw")
print(el.Pipeline(source, el.create("gstreamer.sink", "fakesink")).run()[-1].frames_in)
"""
    made = subprocess.run(
        [sys.executable, "-c", child], check=False, capture_output=True, text=True, timeout=60
    )
    assert made.stdout == "7\n", made.stderr


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no_such_element", "no_such_element"),
        ("filesrc location=/nonexistent", "/nonexistent"),
        (f"videotestsrc ! {GRAY} ! identity error-after=3", "identity"),
    ],
)
def test_an_error_in_the_sources_pipeline(text: str, said: str, threads: int) -> None:
    with pytest.raises(ElementError, match=r"(?s)'gstreamer.source'.*PipelineError.*") as caught:
        el.Pipeline(source(text)).run(threads=threads)
    assert said in str(caught.value)
    assert isinstance(caught.value.__cause__, sbg.PipelineError)


@pytest.mark.parametrize("threads", [0, 1])
def test_an_error_in_the_sinks_pipeline(threads: int) -> None:
    pipe = el.Pipeline(
        source(f"videotestsrc ! {GRAY}"), sink("identity error-after=3 ! fakesink")
    )  # fmt: skip
    with pytest.raises(ElementError, match=r"(?s)'gstreamer.sink'.*stream 0.*identity") as caught:
        pipe.run(threads=threads)
    assert isinstance(caught.value.__cause__, sbg.PipelineError)


def test_the_end_waits_for_what_was_written(tmp_path: Path) -> None:
    written = tmp_path / "frames"
    slow = sink(f"identity sleep-time=20000 ! filesink location={written}", max_buffers=10)
    el.Pipeline(source(f"videotestsrc num-buffers=8 ! {GRAY}"), slow).run()
    assert written.stat().st_size == 8 * 64 * 48


def test_a_source_without_frames_fails_in_time_unless_it_is_live() -> None:
    before = threading.enumerate()
    with pytest.raises(ElementError, match=r"no frame came within 0\.05 s"):
        el.Pipeline(source("appsrc", timeout=0.05)).run()
    running = el.Pipeline(source("appsrc", timeout=0.05, live=True)).start()
    time.sleep(0.2)
    assert not running.stopped
    running.stop()
    assert set(threading.enumerate()) <= set(before)


class Compiling:
    """Takes several times as long as the source waits, and lets it have the next frame then."""

    def __init__(self, push: Any) -> None:
        self._push = push
        self.frames = 0

    def __call__(self, frame: Any) -> Any:
        self.frames += 1
        if self.frames == 1:
            time.sleep(0.5)
            self._push()
        return frame


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_source_waits_while_an_element_is_busy(by_hand: bool, threads: int) -> None:
    native = Gst.parse_launch(f"appsrc name=a format=time caps={GRAY} ! appsink name=b")
    appsrc = native.get_by_name("a")

    def push() -> None:
        appsrc.emit("push-buffer", Gst.Buffer.new_wrapped(bytes(64 * 48)))
        if compiling.frames:
            appsrc.emit("end-of-stream")

    compiling = Compiling(push)
    made = sbg.GStreamerSource(native, timeout=0.1)
    first: Any = made
    if not by_hand:
        first = source("unused", timeout=0.1)
        vars(first)["open"] = lambda context: vars(first).update(_source=made)
    push()
    with el.Pipeline(first, compiling).start(threads=threads) as out:
        assert len(list(out)) == 2
    made.close()


def test_interrupting_ends_a_read_that_waits() -> None:
    with sbg.GStreamerSource("appsrc", timeout=60) as waiting:
        timer = threading.Timer(0.1, waiting.interrupt)
        timer.start()
        assert waiting.read() is None
        assert waiting.read() is None
        timer.join()


def test_interrupting_ends_a_write_that_waits_and_closing_still_ends_the_stream(
    tmp_path: Path,
) -> None:
    written = tmp_path / "frames"
    frame = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
    made = sbg.GStreamerSink(
        f"identity sleep-time=300000 ! filesink location={written}", max_buffers=1, timeout=60
    )
    count, has_written = 0, threading.Event()

    def interrupt() -> None:
        has_written.wait(60)
        made.interrupt()

    def write_all() -> None:
        nonlocal count
        while True:
            made.write(frame)
            count += 1
            has_written.set()

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(ClosedError, match="interrupted"):
        write_all()
    interrupting.join()
    made.close()
    assert count > 0
    assert written.stat().st_size == count * 64 * 48


@pytest.mark.parametrize(("on_failure", "written"), [("finish", 4), ("stop", 0)])
def test_what_becomes_of_what_was_written_when_the_run_fails(
    on_failure: str, written: int, tmp_path: Path
) -> None:
    made = tmp_path / "frames"

    def fail(frame: Any) -> Any:
        if frame.pts > 100_000_000:
            raise ValueError("fifth")
        return frame

    # Nothing passes before the end of the stream comes.
    slow = f"queue min-threshold-buffers=50 ! filesink location={made}"
    pipe = el.Pipeline(
        source(f"videotestsrc num-buffers=9 ! {GRAY}"), fail, sink(slow, on_failure=on_failure)
    )
    with pytest.raises(ElementError, match="fifth"):
        pipe.run()
    assert made.stat().st_size == written * 64 * 48


def test_a_pipeline_is_started_again() -> None:
    pipe = el.Pipeline(source(f"videotestsrc num-buffers=3 ! {GRAY}"), sink("fakesink"))
    for _ in range(2):
        assert [one.frames_in for one in pipe.run()] == [3, 3]


def test_a_block_that_is_left_stops_both() -> None:
    before = threading.enumerate()
    pipe = el.Pipeline(source(f"videotestsrc ! {GRAY}"), sink("fakesink"))
    with pipe.start() as out:
        next(iter(out))
    assert out.stopped
    assert set(threading.enumerate()) <= set(before)


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("gstreamer.source", {"access": "q"}, "'access' must be 'r' or 'rw'"),
        ("gstreamer.source", {"max_buffers": 0}, "'max_buffers' must be an int, >= 1"),
        ("gstreamer.sink", {"timeout": "x"}, "'timeout' must be a number"),
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=f"{name}.*{said}"):
        el.create(name, "fakesink", **parameters)
    with pytest.raises(ParameterError, match="'pipeline' is missing: it must be a str"):
        el.create(name)


def test_the_names_of_an_appsink_and_an_appsrc() -> None:
    two = f"videotestsrc num-buffers=2 ! {GRAY} ! tee name=t t. ! queue ! appsink name=a t. ! queue"
    el.Pipeline(
        source(f"{two} ! fakesink async=false", appsink="a"),
        sink("appsrc name=b ! fakesink", appsrc="b", caps=GRAY),
    ).run()
    with pytest.raises(ElementError, match="no appsink named 'c'"):
        el.Pipeline(source(f"{two} ! fakesink", appsink="c")).run()


@el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
def fill(frame: Any) -> None:
    frame.planes[0].native[...] = 9


@el.inplace(takes=el.Image("GRAY8", memory="cpu"))
def look(frame: Any) -> None:
    assert not frame.planes[0].native.flags.writeable


TWICE = f"videotestsrc num-buffers=12 ! {GRAY} ! tee name=t ! queue ! appsink t. ! queue name=q"
FORGETS = "enable-last-sample=false"


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("before", [list, lambda: [look()], lambda: [lambda frame: frame]])
@pytest.mark.parametrize(
    ("text", "access"),
    [
        *product(
            (f"videotestsrc num-buffers=12 ! {GRAY}", f"{TWICE} ! fakesink {FORGETS}"),
            (None, "r", "rw"),
        ),
        # Elements that refer to a frame until there are newer ones, as decoders do.
        *product((f"{TWICE} min-threshold-buffers=3 ! fakesink {FORGETS}",), (None, "r")),
    ],
)
def test_what_writes_waits_until_it_may(
    text: str, before: Any, access: str | None, threads: int
) -> None:
    pipe = el.Pipeline(source(text, access=access), *before(), fill())
    with pipe.start(threads=threads) as out:
        assert [frame.map("cpu").planes[0].native[0, 0] for frame in out] == [9] * 12
        assert sum(row.copied_bytes for row in out.statistics()) == 0
    assert sb.stats().copies == 0


@pytest.mark.parametrize("threads", [0, 1])
def test_a_frame_that_an_element_keeps(threads: int) -> None:
    keeps = f"{TWICE} ! fakesink enable-last-sample=true"  # the last one
    with pytest.raises(ElementError, match=r"pts 366666666.*still reads it.*copy=True"):
        el.Pipeline(source(keeps), look(), fill()).run(threads=threads)
    with el.Pipeline(source(keeps), look(), fill(), copy=True).start(threads=threads) as out:
        assert len(list(out)) == 12
        copied = [row.copied_bytes for row in out.statistics()]
    assert copied == [0, 0, 64 * 48]
    assert sb.stats().copied_bytes == 64 * 48


def test_memory_that_is_read_only_for_good_is_refused_with_the_first_frame() -> None:
    frame = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
    lent = frame.map("gstreamer", "r")
    assert lent.readonly
    with pytest.raises(ElementError, match="read-only"):
        el.Pipeline([lent], fill()).run()
