# SPDX-License-Identifier: Apache-2.0
"""Pipelines that run, in the caller's thread and with threads."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import (
    ElementError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes.testing.rules.garbage import collector_off

from .pictures import Collect, add, frame, frames, numbers

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


@THREADS
def test_iterables_of_frames_are_sources_among_others(threads: int) -> None:
    def generated() -> Iterator[Any]:
        yield frame(5)

    first = [
        frames(2),
        list(frames(3)),
        numbers(count=4),
        generated,
        el.Pipeline(frames(6)).start(),
    ]
    with el.Pipeline(first, lambda picture: picture).start(threads=threads) as out:
        streams = Counter(el.stream_of(picture) for picture in out)
    assert streams == {0: 2, 1: 3, 2: 4, 3: 1, 4: 6}


def test_a_source_and_a_frame_are_not_two_streams() -> None:
    with pytest.raises(
        UnsupportedObjectError, match="an iterable of frames here, not <Frame GRAY8"
    ):
        el.Pipeline([numbers(), frame(1)])


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


def test_threads_do_not_run_away_from_the_slowest() -> None:
    """As where the first frame compiles a model: what others make of theirs waits for it."""
    threads, others = 2, []
    enough = threading.Event()

    class SlowAtFirst(el.Transform):
        concurrent = True

        def process(self, picture: Any) -> Any:
            if picture.pts:
                others.append(picture.pts)
                if len(others) == 2 * threads - 1:
                    enough.set()
            else:
                assert enough.wait(20)
                time.sleep(0.1)  # to see whether they go on
                found.append(len(others))
            return picture

    found: list[int] = []
    with el.Pipeline(frames(100), SlowAtFirst()).start(threads=threads) as out:
        assert numbers_of(out) == list(range(100))
    assert found == [2 * threads - 1]


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("fails", [False, True])
def test_a_pipeline_goes_without_the_garbage_collector(fails: bool, threads: int) -> None:
    @el.inplace
    def refuse(picture: Any) -> None:
        if fails and picture.pts == 4:
            raise ZeroDivisionError

    with collector_off():
        elements = [add(by=1), refuse(), Collect()]
        gone: list[Any] = [weakref.ref(element) for element in elements]
        pipe = el.Pipeline(frames(6), *elements)
        with suppress(ElementError), pipe.start(threads=threads) as out:
            for picture in out:
                gone.append(weakref.ref(picture))
                del picture  # what comes last is an error, not another one
        del pipe, elements, out
        assert [ref() for ref in gone] == [None] * len(gone)


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("fails", [False, True])
def test_functions_in_a_pipeline_go_without_the_garbage_collector(
    fails: bool, threads: int
) -> None:
    """And so does what they refer to."""

    class Model:
        def __call__(self, picture: Any) -> Any:
            if fails and picture.pts == 2:
                raise ZeroDivisionError
            return picture

    def given(model: Any) -> Any:
        def read() -> Iterator[Any]:
            assert model
            yield from frames(4)

        return read

    def work() -> list[Any]:
        model, bound, closed = Model(), Model(), Model()
        last = partial(lambda picture, by: [by(picture)], by=closed)
        pipe = el.Pipeline(given(closed), model, bound.__call__, last)
        with suppress(ElementError), pipe.start(threads=threads) as out:
            assert len(list(out)) == 4
        return [weakref.ref(model), weakref.ref(bound), weakref.ref(closed)]

    with collector_off():
        assert [ref() for ref in work()] == [None] * 3


def test_a_function_that_a_pipeline_refuses_goes_without_the_garbage_collector() -> None:
    def repeated(picture: Any, *, times: int) -> Any:
        return [picture] * times

    gone = weakref.ref(repeated)
    with collector_off():
        with pytest.raises(ElementError, match="'repeated': parameter 'times' is missing"):
            el.Pipeline(frames(1), repeated)
        del repeated
        assert gone() is None


@THREADS
def test_errors_say_where(threads: int) -> None:
    class Fails(el.Transform):
        at: int = 2
        table: Any = None
        mode: str = "fast"

        def process(self, picture: Any) -> Any:
            if picture.pts == self.at:
                raise ZeroDivisionError("by zero")
            return picture

    # Of the parameters, those that were changed.
    with pytest.raises(ElementError, match=r"'Fails' \(stream 0, pts 3, at=3\): ZeroDiv") as caught:
        el.Pipeline(frames(9), Fails(at=3, mode="fast")).run(threads=threads)
    error = caught.value
    assert error.parameters == {"at": 3}
    assert Fails(table=np.zeros(3)).changed_parameters.keys() == {"table"}
    assert (error.element, error.stream, error.pts) == ("Fails", 0, 3)
    assert isinstance(error.__cause__, ZeroDivisionError)
    rows = el.Pipeline(frames(9), Fails()).run(threads=threads, on_error="drop")
    assert (rows.of("Fails").errors, rows.of("Fails").frames_out) == (1, 8)


@pytest.mark.parametrize("when_full", ["drop-oldest", "drop-newest"])
def test_live_sources_drop_before_the_pipeline(when_full: str) -> None:
    taken, finished, gate = threading.Event(), threading.Event(), threading.Event()

    def live() -> Iterator[Any]:
        yield frame(0)
        assert taken.wait(60)  # from here on there is room for two, and no more
        yield from (frame(number) for number in range(1, 50))
        finished.set()

    def wait(picture: Any) -> Any:
        taken.set()
        assert gate.wait(60)
        return picture

    with el.Pipeline(live(), wait).start(queue=2, when_full=when_full) as out:
        assert finished.wait(60)
        gate.set()
        found = numbers_of(out)
        row = out.statistics().of("wait")
    assert row.dropped == 50 - len(found)
    assert found == sorted(found)
    assert 2 <= len(found) <= 4
    assert (found[-1] == 49) is (when_full == "drop-oldest")


@pytest.mark.parametrize("when_full", ["drop-oldest", "drop-newest"])
@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("items", [list, lambda: [Collect()], lambda: [[Collect()]]])
def test_frames_that_are_left_out_are_counted_wherever_that_is(
    items: Any, stopped: bool, sources: int, when_full: str
) -> None:
    """By the element that they would have gone to, or where that is the program, the source."""
    taken = threading.Event()
    ended = threading.Semaphore(0)

    def live() -> Iterator[Any]:
        yield frame(0)
        assert taken.wait(60)
        yield from frames(20)
        ended.release()

    made = [el.source()(live)() for _ in range(sources)]
    with el.Pipeline(made, *items()).start(queue=1, when_full=when_full) as out:
        came = [next(out)]
        taken.set()
        for _ in range(sources):
            assert ended.acquire(timeout=60)
        if stopped:
            out.stop()
        else:
            came += out
        rows = out.statistics()
    main = rows if any(isinstance(one, el.Sink) for one in items()) else rows[:sources]
    left_out, lost = sum(row.dropped for row in main), sum(row.lost for row in main)
    untaken = rows.lost - sum(row.lost for row in rows)
    assert 21 * sources == len(came) + left_out + lost + untaken
    assert left_out > 0
    for row in rows[sources:]:  # what comes to an element
        assert row.frames_in + row.dropped + row.lost == 21 * sources


def test_async_for() -> None:
    async def work() -> list[int]:
        ticks = threading.Semaphore(0)

        async def tick() -> None:
            while True:
                ticks.release()
                await asyncio.sleep(0.001)

        def slow(picture: Any) -> Any:
            while ticks.acquire(blocking=False):
                pass
            assert ticks.acquire(timeout=60)  # the loop goes on meanwhile
            return picture

        ticking = asyncio.create_task(tick())
        with el.Pipeline(frames(8), slow).start() as out:
            found = [int(picture.pts or 0) async for picture in out]
        ticking.cancel()
        return found

    assert asyncio.run(work()) == list(range(8))
    with (
        pytest.raises(ElementError, match="needs threads"),
        el.Pipeline(frames(1)).start(threads=0) as out,
    ):
        aiter(out)


def test_the_same_element_twice() -> None:
    one, source = add(), numbers(count=1)
    for items in (
        (source, one, one),
        (source, one, Collect(), one),
        (source, [one], one),
        (source, [one], [Collect(), [one]]),
        ([source, source], Collect()),
    ):
        with pytest.raises(UnsupportedObjectError, match=r"'?\w+.* is in the pipeline twice"):
            el.Pipeline(*items)
    # Two of a kind are two elements, and have two names.
    with el.Pipeline(source, one, add()).start(threads=0) as out:
        assert values(out) == [2]
        assert [row.element for row in out.statistics()] == ["numbers", "add", "add#2"]


def test_what_is_not_a_pipeline() -> None:
    for items, why in (
        ((), "begins with a source"),
        ((add(),), "begins with a source, not 'add'$"),
        (([numbers(), add()],), "not 'add': the list is of sources, and elements follow it"),
        ((frames(1), numbers()), "sources come first"),
        ((frames(1), 3), "an element or a function"),
        ((frames(1), Collect), "Collect is a class: pass an element of it, Collect"),
        ((frames(1), []), "a branch without elements"),
        (("in.mp4",), r'a source or an iterable .*create\("ffmpeg.source", name\) reads a video'),
        ((frames(1), "opencv.draw"), r"an element or a function .*create\(name\) makes one"),
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


def test_arrays_of_a_mapping_outlive_the_pipeline() -> None:
    with el.Pipeline(numbers(count=3)).start() as out:
        arrays = [picture.planes[0].native for picture in out]
    del out
    gc.collect()
    assert [int(array[0, 0]) for array in arrays] == [0, 1, 2]
    assert np.shares_memory(arrays[0], arrays[0])


def test_errors_show_no_password() -> None:
    error = ElementError("source", "it failed", parameters={"url": "rtsp://me:secret@host/1"})
    assert "url='rtsp://...@host/1'" in str(error)
    assert "secret" not in str(error)
    assert len(str(ElementError("e", "m", parameters={"model": "x" * 5000}))) < 200


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_do_not_refer_to_the_pipeline_that_read_them(threads: int) -> None:
    """The pipeline may list them: with a cycle, only the garbage collector would free both."""
    source = Collect()  # any object that weak references see
    items = list(frames(3))
    pipe = el.Pipeline(items, lambda picture: picture, source)
    held, step = weakref.ref(items[0]), weakref.ref(source)
    with collector_off():
        with pipe.start(threads=threads) as out:
            last = list(out)[-1]
        del pipe, out, source
        assert step() is None
        del items
        assert held() is None
        del last
