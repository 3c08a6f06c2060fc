# SPDX-License-Identifier: Apache-2.0
"""Pipelines that run: in the caller's thread and with threads, and all ways in which they end."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import (
    ClosedError,
    ElementError,
    NegotiationError,
    PoolTimeoutError,
    UnknownNameError,
    UnsupportedObjectError,
)

from .pictures import HEIGHT, WIDTH, Collect, Log, add, frame, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


def numbers_of(out: Any) -> list[int]:
    return [picture.pts for picture in out]


def values(out: Any) -> list[int]:
    return [int(picture.planes[0].native[0, 0]) for picture in out]


@THREADS
def test_elements_change_the_very_bytes(threads: int) -> None:
    originals = list(frames(6))
    pointers = [picture.planes[0].native.ctypes.data for picture in originals]
    pipe = el.Pipeline(originals, add(by=7), add(by=1))
    with pipe.start(threads=threads) as out:
        found = list(out)
    assert [picture.planes[0].native.ctypes.data for picture in found] == pointers
    assert values(found) == [number + 8 for number in range(6)]
    assert [picture.pts for picture in found] == list(range(6))
    assert sb.stats().copies == 0


@THREADS
def test_functions_generators_and_sinks(threads: int) -> None:
    def twice(picture: Any) -> Iterator[Any]:
        yield picture
        yield frame(100 + picture.pts)

    def odd(picture: Any) -> Any:
        return picture if picture.pts % 2 else None

    sink = Collect()
    pipe = el.Pipeline(frames(4), twice, odd, sink, lambda picture: [picture, frame(9)])
    assert pipe.run(threads=threads).of("odd").frames_out == 4
    assert sink.values == [1, 101, 3, 103]


@THREADS
def test_branches_read_the_same_frame(threads: int) -> None:
    here, there = Collect(), Collect()
    seen: list[int] = []

    def note(picture: Any) -> None:
        seen.append(picture.planes[0].native.ctypes.data)

    pipe = el.Pipeline(numbers(count=5), add(by=1), [here, note], [there], note)
    assert pipe.run(threads=threads).of("note").frames_in == 5
    assert here.values == there.values == [1, 2, 3, 4, 5]
    assert len(seen) == 10
    assert len(set(seen)) <= 5


def test_what_branches_share_is_not_written() -> None:
    with pytest.raises(NegotiationError, match=r"shared with 'Collect'.*copy=True"):
        el.Pipeline(numbers(), [Collect()], add()).explain()


@THREADS
def test_a_branch_writes_to_a_copy_if_that_is_allowed(threads: int) -> None:
    changed, unchanged = Collect(), Collect()
    pipe = el.Pipeline(numbers(count=3), [add(by=10), changed], unchanged, copy=True)
    assert "COPIES each frame first" in pipe.explain()
    rows = pipe.run(threads=threads)
    assert (changed.values, unchanged.values) == ([10, 11, 12], [0, 1, 2])
    assert sb.stats().copied_bytes == rows.of("add").copied_bytes == 3 * WIDTH * HEIGHT


@THREADS
def test_branches_get_nothing_that_can_be_written_to(threads: int) -> None:
    def writes(picture: Any) -> None:
        picture.planes[0].native[...] = 0

    with pytest.raises(ElementError, match="read-only"):
        el.Pipeline(numbers(count=2), [Collect()], writes).run(threads=threads)


@THREADS
def test_several_sources_end_one_after_another(threads: int) -> None:
    seen: dict[int, list[int]] = {0: [], 1: []}

    class Streams(el.Transform):
        def process(self, picture: Any) -> Any:
            seen[picture.pts >= 100].append(picture.pts)
            return picture

    pipe = el.Pipeline([numbers(count=3), numbers(count=9, start=100)], Streams())
    with pipe.start(threads=threads) as out:
        assert len(list(out)) == 12
    assert seen == {0: [0, 1, 2], 1: list(range(100, 109))}


@pytest.mark.parametrize("concurrent", [False, True])
def test_threads_of_one_element_keep_the_order(concurrent: bool) -> None:
    at_once: list[int] = []
    inside = set()

    class Slow(el.Transform):
        def process(self, picture: Any) -> Any:
            inside.add(picture.pts)
            at_once.append(len(inside))
            time.sleep(0.002 * (3 - picture.pts % 3))
            inside.discard(picture.pts)
            return picture

    Slow.concurrent = concurrent
    with el.Pipeline(frames(24), Slow()).start(threads=3) as out:
        assert numbers_of(out) == list(range(24))
    assert (max(at_once) > 1) is concurrent


@THREADS
def test_errors_say_where(threads: int) -> None:
    class Fails(el.Transform):
        at: int = 3

        def process(self, picture: Any) -> Any:
            if picture.pts == self.at:
                raise ZeroDivisionError("by zero")
            return picture

    with pytest.raises(ElementError, match=r"'Fails' \(stream 0, pts 3, at=3\): ZeroDiv") as caught:
        el.Pipeline(frames(9), Fails()).run(threads=threads)
    error = caught.value
    assert (error.element, error.stream, error.pts) == ("Fails", 0, 3)
    assert isinstance(error.__cause__, ZeroDivisionError)
    rows = el.Pipeline(frames(9), Fails()).run(threads=threads, on_error="drop")
    assert (rows.of("Fails").errors, rows.of("Fails").frames_out) == (1, 8)


@THREADS
def test_elements_are_opened_and_closed_once(threads: int) -> None:
    calls: list[str] = []
    pipe = el.Pipeline(numbers(count=2), Log(calls))
    pipe.run(threads=threads)
    assert calls == ["negotiate", "open", "negotiate", "process", "process", "end", "close"]
    calls.clear()
    pipe.run(threads=threads)  # again
    assert calls[-1] == "close"


@THREADS
@pytest.mark.parametrize("fails", ["negotiate", "open", "process", "end", "close"])
def test_what_was_opened_is_closed_whatever_fails(threads: int, fails: str) -> None:
    calls: list[str] = []
    others: list[str] = []
    pipe = el.Pipeline(numbers(), Log(others), Log(calls, fails=fails))
    with pytest.raises(ElementError, match=f"Log.*{fails} fails"):
        pipe.run(threads=threads)
    assert calls.count("close") == others.count("close") == 1


def test_nothing_is_called_after_close() -> None:
    sink, change, source = Collect(), add(), numbers(count=1)
    el.Pipeline(source, change, sink).run()
    for call in (lambda: sink.write(frame()), lambda: change.process(frame()), source.read):
        with pytest.raises(ClosedError, match="after close"):
            call()


@THREADS
def test_stopping_a_source_without_end(threads: int) -> None:
    def forever() -> Iterator[Any]:
        number = 0
        while True:
            number += 1
            yield frame(number)

    with el.Pipeline(forever(), add()).start(threads=threads) as out:
        for picture in out:
            if picture.planes[0].native[0, 0] > 5:
                break
    assert out.stopped


def test_a_source_that_waits_is_interrupted() -> None:
    class Waits(el.Source):
        def open(self, context: Any) -> None:
            self.event = threading.Event()

        def read(self) -> Any:
            self.event.wait()

        def interrupt(self) -> None:
            self.event.set()

    running = el.Pipeline(Waits()).start()
    running.stop()
    assert running.stopped


def test_leaving_the_block_while_threads_wait() -> None:
    with (
        pytest.raises(ZeroDivisionError),
        el.Pipeline(frames(99), add()).start(queue=1) as out,
    ):
        assert next(out).width // 0
    assert out.stopped
    el.Pipeline(frames(99), add()).start(queue=1)  # dropped at once
    gc.collect()


def test_frames_under_way_are_let_go() -> None:
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def watched() -> Iterator[Any]:
        for picture in frames(20):
            alive.add(picture)
            yield picture

    with el.Pipeline(watched(), add(), lambda picture: picture).start(queue=3) as out:
        next(out)
    del out
    gc.collect()
    assert not alive


@pytest.mark.parametrize("when_full", ["drop-oldest", "drop-newest"])
def test_live_sources_drop_before_the_pipeline(when_full: str) -> None:
    gate = threading.Event()
    finished = threading.Event()

    def live() -> Iterator[Any]:
        yield from frames(50)
        finished.set()

    def wait(picture: Any) -> Any:
        gate.wait()
        return picture

    with el.Pipeline(live(), wait).start(queue=2, when_full=when_full) as out:
        assert finished.wait(10)
        gate.set()
        found = numbers_of(out)
        row = out.statistics().of("wait")
    assert row.dropped == 50 - len(found)
    assert found == sorted(found)
    assert 2 <= len(found) <= 4
    assert (found[-1] == 49) is (when_full == "drop-oldest")


def test_async_for() -> None:
    async def work() -> list[int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        def slow(picture: Any) -> Any:
            time.sleep(0.005)
            return picture

        ticking = asyncio.create_task(tick())
        with el.Pipeline(frames(8), slow).start() as out:
            found = [int(picture.pts or 0) async for picture in out]
        ticking.cancel()
        assert ticks > 8  # the loop went on
        return found

    assert asyncio.run(work()) == list(range(8))
    with (
        pytest.raises(ElementError, match="needs threads"),
        el.Pipeline(frames(1)).start(threads=0) as out,
    ):
        aiter(out)


def test_what_is_no_pipeline() -> None:
    one = add()
    for items, why in (
        ((), "begins with a source"),
        ((add(),), "begins with a source, not 'add'"),
        ((frames(1), one, one), "stands in the pipeline twice"),
        ((frames(1), numbers()), "sources come first"),
        ((frames(1), 3), "an element or a function"),
        ((frames(1), Collect), "Collect is a class of elements: call it"),
        ((frames(1), []), "a branch without elements"),
        (("in.mp4",), "a source or an iterable"),
    ):
        with pytest.raises(UnsupportedObjectError, match=why):
            el.Pipeline(*items)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"when_full": "block"}, UnknownNameError),
        ({"on_error": "ignore"}, UnknownNameError),
        ({"threads": -1}, ValueError),
        ({"queue": 0}, ValueError),
    ],
    ids=str,
)
def test_options_that_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"{next(iter(options))}"):
        el.Pipeline(frames(1)).start(**options)


def test_it_runs_once_at_a_time() -> None:
    pipe = el.Pipeline(frames(1))
    with pipe.start(), pytest.raises(ElementError, match="runs already"):
        pipe.start()


@THREADS
def test_giving_something_else_than_announced(threads: int) -> None:
    def wrong_size() -> Iterator[Any]:
        yield frame(0, width=WIDTH + 2)

    wrong = el.source(gives=el.Image("GRAY8", memory="cpu", width=WIDTH, height=HEIGHT))(wrong_size)
    with pytest.raises(NegotiationError, match=r"announced image GRAY8 16x8.*gives image GRAY8 18"):
        el.Pipeline(wrong()).run(threads=threads)

    class Colored(el.Transform):
        gives = el.Image("BGR", memory="cpu")

        def process(self, picture: Any) -> Any:
            return frame(1)

    with pytest.raises(NegotiationError, match="announced image BGR in cpu, and gives image GRAY8"):
        el.Pipeline(numbers(), Colored()).run(threads=threads)
    with pytest.raises(NegotiationError, match="it gave 'int'"):
        el.Pipeline(numbers(), lambda picture: 3).run(threads=threads)


@THREADS
def test_a_layout_that_changes_in_mid_stream(threads: int) -> None:
    calls: list[str] = []

    def growing() -> Iterator[Any]:
        for number in range(6):
            yield frame(number, width=WIDTH + 2 * (number // 3))

    with el.Pipeline(growing(), Log(calls), add()).start(threads=threads) as out:
        assert [picture.width for picture in out] == [16, 16, 16, 18, 18, 18]
    assert calls.count("negotiate") == 2

    class Fixed(Log):
        takes = el.Image(width=WIDTH)

    with pytest.raises(NegotiationError, match="its width is 18, not 16"):
        el.Pipeline(growing(), Fixed([])).run(threads=threads)


_slot: Any = vars(sb.Frame)["readonly"]


class Decoded(sb.Frame[Any]):
    """A frame that its decoder still reads, for a while."""

    __slots__ = ()
    may_become_writable = True
    busy: ClassVar[set[int | None]] = set()

    @property
    def readonly(self) -> bool:
        return self.pts in self.busy

    @readonly.setter
    def readonly(self, value: bool) -> None:
        _slot.__set__(self, value)


def decoded(count: int, behind: int) -> Iterator[Any]:
    """Frames that become writable when `behind` newer ones have been read."""
    for number in range(count):
        whole = frame(number)
        Decoded.busy.add(number)
        Decoded.busy.discard(number - behind)
        yield Decoded.borrowed(whole.native, whole.context, whole.meta, keep=whole)
    Decoded.busy.clear()


@THREADS
def test_writers_wait_for_the_decoder(threads: int) -> None:
    with el.Pipeline(decoded(9, 3), add()).start(threads=threads) as out:
        assert values(out) == list(range(1, 10))
    with pytest.raises(ElementError, match=r"still reads it after 2 newer frames.*hold=.*copy="):
        el.Pipeline(decoded(9, 4), add(), hold=2).run(threads=threads)
    Decoded.busy.clear()
    assert sb.stats().copies == 0
    with el.Pipeline(decoded(9, 4), add(), hold=2, copy=True).start(threads=threads) as out:
        assert values(out) == list(range(1, 10))
    assert sb.stats().copies > 0
    Decoded.busy.clear()


class Pooled(el.Source):
    """A source with a pool of surfaces, which fails if it has none left."""

    count: int = 20
    size: int = 4
    behind: int = 0

    def negotiate(self, wanted: el.FrameInfo | None) -> el.FrameInfo:
        return el.FrameInfo("image", "cpu", "GRAY8", WIDTH, HEIGHT, pool=self.size)

    def open(self, context: Any) -> None:
        self._frames = decoded(self.count, self.behind)
        self._out: weakref.WeakSet[Any] = weakref.WeakSet()

    def read(self) -> Any:
        assert len(self._out) < self.size, "a decoder without a surface"
        made = next(self._frames, None)
        if made is not None:
            self._out.add(made)
        return made

    def close(self) -> None:
        Decoded.busy.clear()


@pytest.mark.parametrize("threads", [0, 1])
def test_a_fixed_pool_does_not_deadlock_with_the_queues(threads: int) -> None:
    pipe = el.Pipeline(Pooled(), add(), Collect())
    assert pipe.run(threads=threads, queue=50, pool_timeout=5).of("Collect").frames_in == 20
    # More frames wait for the decoder than there are: the pipeline says so and does not hang.
    with pytest.raises(ElementError, match="still reads it after 3 newer frames"):
        el.Pipeline(Pooled(behind=9), add()).run(threads=threads, pool_timeout=5)


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_that_the_program_keeps(threads: int) -> None:
    kept: list[Any] = []
    with (
        pytest.raises(PoolTimeoutError, match=r"'Pooled'.*all 4 frames of its pool are in use"),
        el.Pipeline(Pooled()).start(threads=threads, pool_timeout=0.2) as out,
    ):
        kept.extend(out)
    assert len(kept) == 4


def test_a_pool_of_frames() -> None:
    made = []

    def make() -> Any:
        made.append(frame())
        return made.pop()

    pool = el.FramePool(make, maximum=2, timeout=0.2, name="scale")
    first = pool.acquire()
    first.planes[0].native[...] = 5
    array, address = first.planes[0].native[2:], first.planes[0].native.ctypes.data
    del first
    second = pool.acquire()
    assert second.planes[0].native.ctypes.data != address  # the array keeps it
    with pytest.raises(PoolTimeoutError, match="'scale': all 2 frames"):
        pool.acquire()
    second.metadata["own"] = 1
    del array
    third = pool.acquire()
    assert third.planes[0].native.ctypes.data == address
    del second, third
    assert not pool.acquire().metadata
    assert len(pool) == 2


def test_statistics() -> None:
    with el.Pipeline(numbers(count=9), add(), Collect()).start() as out:
        for _ in out:
            pass
        rows = out.statistics()
    assert [row.element for row in rows] == ["numbers", "add", "Collect"]
    assert {(row.frames_in, row.frames_out, row.dropped, row.copied_bytes) for row in rows} == {
        (9, 9, 0, 0)
    }
    assert all(row.p50 <= row.p95 <= row.p99 for row in rows)
    assert str(rows).splitlines()[0].split()[:3] == ["element", "in", "out"]
    with pytest.raises(UnknownNameError):
        rows.of("missing")


def test_explain() -> None:
    pipe = el.Pipeline(numbers(), [Collect()], lambda picture: picture)
    assert pipe.explain().splitlines() == [
        "numbers gives image GRAY8 16x8 in cpu",
        '    Collect takes it in cpu, access "r"',
        '  <lambda> takes it in cpu, access "r"',
    ]
    later = el.Pipeline(frames(2), add())
    assert "agreed on with the first frame" in later.explain()
    with later.start() as out:
        next(out)
        assert "frames gives image GRAY8 16x8 in cpu" in out.explain()


def test_elements_cannot_agree() -> None:
    def note(picture: Any) -> None: ...

    with pytest.raises(NegotiationError) as caught:
        el.Pipeline(
            numbers(), [Collect()], el.inplace(takes=el.Image("NV12|I420"))(note)()
        ).explain()
    text = str(caught.value)
    assert "'numbers' gives image GRAY8 16x8 in cpu; it takes image NV12|I420" in text
    assert "its format is GRAY8, not NV12 or I420" in text
    assert caught.value.before == "numbers"


def test_sources_are_said_what_is_wanted() -> None:
    wanted: list[Any] = []

    class Either(el.Source):
        gives = el.Image("NV12|GRAY8", memory="cpu")

        def negotiate(self, offer: el.FrameInfo | None) -> Any:
            wanted.append(offer)
            return offer

        def read(self) -> Any:
            return None

    el.Pipeline(Either(), add()).run()
    assert wanted[0].format == "GRAY8"
    el.Pipeline(Either(), lambda picture: picture).run()
    assert wanted[1].format == "NV12"


def test_arrays_of_a_mapping_outlive_the_pipeline() -> None:
    with el.Pipeline(numbers(count=3)).start() as out:
        arrays = [picture.planes[0].native for picture in out]
    del out
    gc.collect()
    assert [int(array[0, 0]) for array in arrays] == [0, 1, 2]
    assert np.shares_memory(arrays[0], arrays[0])


def test_errors_show_no_password() -> None:
    error = ElementError("source", "it failed", parameters={"url": "rtsp://me:secret@host/1"})
    assert "url='rtsp://me:...@host/1'" in str(error)
    assert "secret" not in str(error)
    assert len(str(ElementError("e", "m", parameters={"model": "x" * 5000}))) < 200


@THREADS
def test_stopping_from_another_thread(threads: int) -> None:
    def forever() -> Iterator[Any]:
        while True:
            yield frame()

    sink = Collect()
    running = el.Pipeline(forever(), sink).start(threads=threads)
    stopping = threading.Timer(0.05, running.stop)
    stopping.start()
    for _ in running:
        pass
    stopping.join()
    assert running.stopped
    with pytest.raises(ClosedError):
        sink.write(frame())


@THREADS
def test_what_interrupt_raises_is_said_after_everything_was_closed(threads: int) -> None:
    calls: list[str] = []

    class Breaks(Log):
        def interrupt(self) -> None:
            raise OSError("no such pipe")

    running = el.Pipeline(numbers(count=99), Breaks(calls)).start(threads=threads)
    if threads:
        with pytest.raises(ElementError, match=r"interrupt\(\) raised OSError: no such pipe"):
            running.stop()
    else:
        running.stop()  # nothing is under way
    assert calls[-1] == "close"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:os.fork:RuntimeWarning")
def test_a_forked_child_closes_nothing() -> None:
    calls: list[str] = []
    read, write = os.pipe()
    running = el.Pipeline(frames(99), Log(calls)).start(queue=1)
    next(running)
    child = os.fork()
    if not child:
        del running
        gc.collect()
        os.write(write, b"closed" if "close" in calls else b"open")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 9) == b"open"
    running.stop()
    os.close(read)
    os.close(write)
