# SPDX-License-Identifier: Apache-2.0
"""The fate of the frames under way when an element raises, or somebody stops the pipeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError

from .pictures import Collect, Decoded, Log, add, decoded, frame, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


class Fails(el.Transform):
    """Raises for one frame."""

    at: int

    def process(self, picture: Any) -> Any:
        if picture.pts == self.at:
            raise ZeroDivisionError
        return picture


class Batch(el.Transform):
    """Gives three frames at a time, or raises for all of them."""

    at: int = -1

    def open(self, context: Any) -> None:
        self._frames: list[Any] = []

    def frames_kept(self) -> int:
        return len(self._frames)

    def process(self, picture: Any) -> Any:
        self._frames.append(picture)
        return self._given() if len(self._frames) == 3 else None

    def end_of_stream(self, stream: int) -> Any:
        return self._given()

    def _given(self) -> list[Any]:
        given, self._frames = self._frames, []
        if any(picture.pts == self.at for picture in given):
            raise ZeroDivisionError
        return given

    def close(self) -> None:
        self._frames = []


def accounted(rows: el.Statistics, came: int) -> int:
    """Return the number of frames known to have come out, raised, been left out or been lost."""
    return came + rows.lost + sum(row.errors + row.dropped for row in rows)


def until_it_fails(pipe: el.Pipeline, match: str, **options: Any) -> tuple[el.Running, list[Any]]:
    """Run it, and give the times of the frames that came out before the error."""
    came: list[Any] = []
    running = pipe.start(**options)
    with pytest.raises(ElementError, match=match):
        came.extend(picture.pts for picture in running)
    return running, came


@THREADS
@pytest.mark.parametrize("concurrent", [False, True])
def test_what_had_gone_past_the_element_comes_out(
    threads: int, concurrent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fails, "concurrent", concurrent)

    ahead, process = threading.Event(), Fails.process

    def runs_ahead() -> Iterator[Any]:
        for number in range(60):
            if number == 28:
                ahead.set()
            yield frame(number)

    def fails(self: Fails, picture: Any) -> Any:
        if picture.pts == 20 and threads:
            assert ahead.wait(60)  # so that frames are under way
        return process(self, picture)

    monkeypatch.setattr(Fails, "process", fails)

    def slow(picture: Any) -> Any:
        time.sleep(0.002)
        return picture

    pipe = el.Pipeline(runs_ahead(), Fails(20), slow, add())
    out, came = until_it_fails(pipe, "'Fails'", threads=threads, queue=8)
    assert came == list(range(20))
    rows = out.statistics()
    assert accounted(rows, len(came)) == rows[0].frames_out
    assert (rows.of("Fails").errors, rows.of("slow").lost) == (1, 0)
    if threads:
        # The source may have been in a read, whose frame goes nowhere.
        assert rows.of("Fails").lost == rows.lost - rows[0].lost > 0
        assert " under way when it stopped" in str(rows)


@pytest.mark.parametrize("source_fails", [False, True])
def test_an_error_comes_as_it_is_when_no_thread_can_be_started(
    source_fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timer that ends the pipeline after some seconds is a thread, too."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", refused)

    def broken() -> Iterator[Any]:
        yield from frames(5)
        raise OSError("unplugged")

    calls: list[str] = []
    source = el.source()(broken)() if source_fails else numbers(count=10_000)
    pipe = el.Pipeline(source, Fails(100), Log(calls), add())
    out, came = until_it_fails(pipe, "unplugged" if source_fails else "'Fails'")
    rows = out.statistics()
    assert accounted(rows, len(came)) == rows[0].frames_out + source_fails
    assert calls[-1] == "close"
    assert not out.left()


@THREADS
def test_a_source_that_fails_ends_what_it_gave(threads: int) -> None:
    def broken() -> Iterator[Any]:
        yield from frames(5)
        raise OSError("unplugged")

    sink = Collect()
    pipe = el.Pipeline([el.source()(broken)(), numbers(count=10_000)], sink, add())
    out, came = until_it_fails(pipe, "unplugged", threads=threads)
    rows = out.statistics()
    assert set(range(5)) <= set(came)
    assert accounted(rows, len(came)) == rows[0].frames_out + rows[1].frames_out + 1
    assert len(sink.values) == len(came)


def test_a_source_that_waits_does_not_keep_the_error() -> None:
    class Waits(el.Source):
        def open(self, context: Any) -> None:
            self.event = threading.Event()
            self.given = False

        def read(self) -> Any:
            if self.given:
                assert self.event.wait(60)
                return None
            self.given = True
            return frame(3)

        def interrupt(self) -> None:
            self.event.set()

    waits = Waits()
    with pytest.raises(ElementError, match="'Fails'"):
        el.Pipeline(waits, Fails(3)).run()
    assert waits.event.is_set()


def test_an_element_that_never_returns_does_not_keep_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("samebytes.elements._threads._PATIENCE", 0.3)
    is_stuck, go_on = threading.Event(), threading.Event()
    returned = []

    def stuck(picture: Any) -> Any:
        if picture.pts == 3:
            is_stuck.set()
            returned.append(go_on.wait(60))
        return picture

    def fails(picture: Any) -> None:
        if picture.pts == 2:
            assert is_stuck.wait(60)
            raise ZeroDivisionError

    until_it_fails(el.Pipeline(frames(9), stuck, fails), "'fails'")
    assert not returned
    go_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("samebytes"):
            thread.join()


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_stopping_counts_what_was_under_way(threads: int) -> None:
    def slow(picture: Any) -> Any:
        time.sleep(0.001)
        return picture

    with el.Pipeline(numbers(count=200), slow, add()).start(threads=threads, queue=6) as out:
        came = [next(out).pts for _ in range(4)]
    rows = out.statistics()
    assert accounted(rows, len(came)) == rows[0].frames_out
    assert bool(rows.lost) is bool(threads)


@pytest.mark.parametrize("threads", [0, 1])
def test_stopping_ends_a_wait_for_a_frame_of_a_pool(threads: int) -> None:
    waiting = threading.Event()
    kept = []

    class Scales(el.Transform):
        gives = el.Image("GRAY8", memory="cpu")

        def open(self, context: Any) -> None:
            self.pool = el.FramePool(frame, maximum=2, timeout=60)

        def process(self, picture: Any) -> Any:
            if picture.pts == 2:
                waiting.set()
            kept.append(self.pool.acquire())
            return kept[-1]

    began = time.monotonic()
    running = el.Pipeline(frames(9), Scales()).start(threads=threads)

    def stop() -> None:
        waiting.wait()
        running.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    for _ in running:
        pass
    stopping.join()
    assert running.stopped
    assert time.monotonic() - began < 30
    assert running.statistics().of("Scales").lost >= 1


@THREADS
def test_elements_know_in_close_whether_the_run_failed(threads: int) -> None:
    class Notes(el.Sink):
        def open(self, context: Any) -> None:
            self.failed: list[bool] = []

        def write(self, picture: Any) -> None:
            pass

        def close(self) -> None:
            self.failed.append(self.run_failed)

    def failed(*elements: Any, leave: bool = False, error: bool = False) -> bool:
        notes = Notes()
        try:
            with el.Pipeline(frames(9), *elements, notes).start(threads=threads) as out:
                for _ in out:
                    if leave:
                        break
                    if error:
                        raise LookupError
        except (ElementError, LookupError):
            pass
        (found,) = notes.failed
        return found

    assert not failed()
    assert not failed(leave=True)
    assert failed(error=True)
    assert failed(Fails(4))
    assert "run_failed" not in Notes.declared_parameters()


@THREADS
def test_latency_is_that_of_the_whole_chain(threads: int) -> None:
    def slow(picture: Any) -> Any:
        time.sleep(0.003)
        return picture

    def new(picture: Any) -> Any:
        return frame(picture.pts)

    rows = el.Pipeline(frames(9), slow, new, slow).run(threads=threads)
    assert rows.latency.frames == 9
    assert 6 <= rows.latency.p50 <= rows.latency.p95 <= rows.latency.p99
    assert "source to end, ms: p50" in str(rows)
    # A frame that is given later began when it was read.
    rows = el.Pipeline(frames(9), slow, Later(6)).run(threads=threads)
    assert rows.latency.p50 >= 15


class Later(el.Transform):
    """Gives each frame when so many others have come, or when its stream ends."""

    behind: int

    def open(self, context: Any) -> None:
        self.kept: list[Any] = []

    def process(self, picture: Any) -> Any:
        self.kept.append(picture)
        return self.kept.pop(0) if len(self.kept) > self.behind else None

    def end_of_stream(self, stream: int) -> Any:
        kept, self.kept = self.kept, []
        return kept


@THREADS
def test_frames_that_are_given_later_go_on_in_their_stream(threads: int) -> None:
    """Each waits for its decoder, which reads it until its own stream ends, and not the other."""
    seen: dict[int, list[int]] = {0: [], 1: []}

    @el.source()
    def read(*, first: int, count: int) -> Iterator[Any]:
        own = range(first, first + count)
        for number in own:
            whole = frame(number)
            Decoded.busy.add(number)
            yield Decoded.borrowed(whole.native, whole.context, whole.meta, keep=whole)
        Decoded.busy.difference_update(own)

    class Streams(el.Transform):
        takes = el.Image("GRAY8", memory="cpu", access="rw")

        def process(self, picture: Any) -> Any:
            seen[picture.pts // 100].append(picture.pts)
            return picture

        def end_of_stream(self, stream: int) -> Any:
            seen[stream].append(-1)
            return None

    sources = [read(first=0, count=4), read(first=100, count=9)]
    el.Pipeline(sources, Later(3), Streams(), hold=20).run(threads=threads)
    assert seen == {0: [0, 1, 2, 3, -1], 1: [*range(100, 109), -1]}


def test_sound_and_tensors_behind_a_branch_are_copied_if_that_is_allowed() -> None:
    def tensors() -> Iterator[Any]:
        for number in range(3):
            tensor = sb.context("cpu").allocate((4, 2), "float32")
            tensor.native[...] = number
            yield sb.Frame.borrowed((tensor.native,), tensor.context, sb.FrameMeta(None))

    @el.inplace(takes=el.Media(memory="cpu", access="rw"))
    def doubles(given: Any) -> None:
        given.planes[0].native[...] *= 2

    changed, unchanged = [], []
    pipe = el.Pipeline(
        tensors(),
        [doubles(), lambda given: changed.append(given.planes[0].native[0, 0])],
        lambda given: unchanged.append(given.planes[0].native[0, 0]),
        copy=True,
    )
    pipe.run()
    assert (changed, unchanged) == ([0, 2, 4], [0, 1, 2])
    assert sb.stats().copied_bytes == 3 * 4 * 2 * 4


def test_what_a_copy_says_of_itself_is_its_own() -> None:
    given = frame(5)
    given.metadata["kept"] = "yes"
    given.regions.append(sb.Region(0, 0, 2, 2, "a"))
    sb.metadata.add(given, sb.metadata.ObjectId(1))
    copied = el.own_copy(given)
    sb.metadata.add(copied, sb.metadata.ObjectId(2))
    copied.regions[0].label = "b"
    assert len(sb.metadata.all_of(given, sb.metadata.ObjectId)) == 1
    assert (given.regions[0].label, copied.pts, copied.metadata["kept"]) == ("a", 5, "yes")


@THREADS
@pytest.mark.parametrize(("at", "errors"), [(0, 3), (5, 3), (9, 2)])
def test_each_frame_of_a_batch_that_fails_counts(threads: int, at: int, errors: int) -> None:
    pipe = el.Pipeline(frames(11), Batch(at))
    with pipe.start(threads=threads, on_error="drop") as out:
        came = [picture.pts for picture in out]
    rows = out.statistics()
    assert len(came) == 11 - errors
    assert (rows.of("Batch").errors, rows.lost) == (errors, 0)
    assert rows.of("Batch").frames_in == rows.of("Batch").frames_out == 11 - errors
    assert f"{errors}" in str(rows)


@THREADS
def test_a_batch_that_fails_and_ends_the_run(threads: int) -> None:
    pipe = el.Pipeline(frames(30), Batch(at=4), add())
    out, came = until_it_fails(pipe, "'Batch'", threads=threads)
    assert came == [0, 1, 2]
    rows = out.statistics()
    assert rows.of("Batch").errors == 3
    assert accounted(rows, len(came)) == rows[0].frames_out


@THREADS
def test_frames_that_an_element_keeps_are_lost_when_it_stops(threads: int) -> None:
    pipe = el.Pipeline(numbers(count=200), Batch(), add())
    with pipe.start(threads=threads, queue=2) as out:
        came = [next(out).pts for _ in range(4)]
    rows = out.statistics()
    assert accounted(rows, len(came)) == rows[0].frames_out


def test_frames_of_a_batch_that_is_not_full_are_lost_when_it_stops() -> None:
    running: list[el.Running] = []

    def stops(picture: Any) -> Any:
        if picture.pts == 7:
            running[0].stop()
        return picture

    pipe = el.Pipeline(numbers(count=200), stops, Batch())
    with pipe.start(threads=0) as out:
        running.append(out)
        came = [picture.pts for picture in out]
    rows = out.statistics()
    assert came == [0, 1, 2, 3, 4, 5]
    assert (rows.lost, rows.of("Batch").lost) == (2, 2)
    assert accounted(rows, len(came)) == rows[0].frames_out


@THREADS
def test_a_frame_that_waited_and_fails_at_the_end_is_left_out(threads: int) -> None:
    @el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
    def fails(picture: Any) -> None:
        if picture.pts % 2:
            raise ZeroDivisionError

    pipe = el.Pipeline(decoded(6, behind=9), fails())
    with pipe.start(threads=threads, on_error="drop") as out:
        assert [picture.pts for picture in out] == [0, 2, 4]
    rows = out.statistics()
    assert (rows.of("fails").errors, rows.lost) == (3, 0)
    out, came = until_it_fails(
        el.Pipeline(decoded(6, behind=9), fails()), "'fails'", threads=threads
    )
    assert came == [0]
    assert accounted(out.statistics(), 1) == 6
