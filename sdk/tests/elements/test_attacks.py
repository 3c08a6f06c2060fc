# SPDX-License-Identifier: Apache-2.0
"""Pipelines under attack: branches, drops, negotiation beside work, and all ways to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import ElementError, NegotiationError

from .pictures import HEIGHT, WIDTH, Collect, Log, add, frame, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


class PassesOn(el.Transform):
    def process(self, picture: Any) -> Any:
        return picture


@THREADS
def test_what_is_shared_stays_shared_on_its_way(threads: int) -> None:
    for items in ([[Collect()], PassesOn(), add()], [[PassesOn(), add()], Collect()]):
        with pytest.raises(NegotiationError, match="the frame is shared with"):
            el.Pipeline(numbers(), *items).run(threads=threads)
    watch = Collect()
    el.Pipeline(numbers(count=4), [watch], PassesOn(), add(), add(), copy=True).run(threads=threads)
    assert watch.values == [0, 1, 2, 3]
    assert sb.stats().copies == 4  # once for each frame: what add() gives is its own


@THREADS
def test_a_branch_may_write_to_frames_that_are_new(threads: int) -> None:
    class Doubles(el.Transform):
        gives = el.Image("GRAY8", memory="cpu")

        def process(self, picture: Any) -> Any:
            return frame(2 * picture.pts)

    watch, changed = Collect(), Collect()
    el.Pipeline(numbers(count=4), [Doubles(), add(), changed], watch).run(threads=threads)
    assert (watch.values, changed.values) == ([0, 1, 2, 3], [1, 3, 5, 7])

    class Lies(Doubles):
        def process(self, picture: Any) -> Any:
            return picture

    with pytest.raises(NegotiationError, match=r"passes on a frame that others read.*same\(\)"):
        el.Pipeline(numbers(), [Lies(), add()], Collect()).run(threads=threads)


def test_dropping_loses_no_end() -> None:
    pictures = list(frames(8))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for queue in (1, 1, 4, 4):

            def live() -> Iterator[Any]:
                for number in range(4000):
                    yield pictures[number % 8]

            pipe = el.Pipeline(live(), lambda picture: picture)
            rows = pipe.run(queue=queue, when_full="drop-oldest")
            row = rows.of("<lambda>")
            assert row.frames_in + row.dropped == 4000
    finally:
        sys.setswitchinterval(before)


def test_nobody_is_inside_while_an_element_negotiates() -> None:
    wrong = []

    class Sized(el.Transform):
        concurrent = True

        def negotiate(self, given: el.FrameInfo) -> el.FrameInfo:
            self.width = given.width
            return given

        def process(self, picture: Any) -> Any:
            time.sleep(0.001)
            if picture.width != self.width:
                wrong.append(picture.pts)
            return picture

    mixed = (frame(number, width=WIDTH + 8 * (number % 2)) for number in range(30))
    with el.Pipeline(mixed, Sized()).start(threads=3) as out:
        assert [picture.pts for picture in out] == list(range(30))
    assert not wrong


@THREADS
def test_an_element_may_give_frames_late(threads: int) -> None:
    kept: list[Any] = []

    def delay(picture: Any) -> Any:
        kept.append(picture)
        return kept.pop(0) if len(kept) > 1 else None

    growing = (frame(number, width=WIDTH + 2 * number) for number in range(4))
    with el.Pipeline(growing, delay).start(threads=threads) as out:
        assert [picture.width for picture in out] == [16, 18, 20]


@THREADS
def test_explaining_a_running_pipeline_changes_nothing(threads: int) -> None:
    calls: list[str] = []
    pipe = el.Pipeline(numbers(count=6), Log(calls))
    with pipe.start(threads=threads) as out:
        next(out)
        assert pipe.explain() == out.explain()
        assert "close" not in calls
        assert [picture.pts for picture in out] == [1, 2, 3, 4, 5]
    calls.clear()
    pipe.explain()
    assert calls == ["negotiate", "close"]


def test_an_element_is_in_one_running_pipeline() -> None:
    shared = add()
    with el.Pipeline(frames(9), shared).start() as out:
        other = el.Pipeline(frames(9), shared)
        for use in (other.explain, other.start):
            with pytest.raises(ElementError, match="another pipeline uses this element"):
                use()
        assert len(list(out)) == 9
    assert other.run().of("add").frames_in == 9


def test_whoever_stops_second_finds_everything_closed() -> None:
    closed: list[str] = []

    class Slow(el.Transform):
        def process(self, picture: Any) -> Any:
            time.sleep(0.3)
            return picture

        def close(self) -> None:
            closed.append("Slow")

    pipe = el.Pipeline(frames(99), Slow())
    with pipe.start() as out:
        stopping = threading.Timer(0.1, out.stop)
        stopping.start()
        list(out)
    assert closed == ["Slow"]
    stopping.join()
    with pipe.start() as out:
        next(out)


@THREADS
def test_an_element_may_stop_its_own_pipeline(threads: int) -> None:
    running: list[Any] = []
    started = threading.Event()

    def enough(picture: Any) -> Any:
        assert started.wait(10)
        if picture.pts == 3:
            running[0].stop()
        return picture

    calls: list[str] = []
    running.append(el.Pipeline(numbers(count=99), Log(calls), enough).start(threads=threads))
    started.set()
    assert len(list(running[0])) < 20
    assert calls[-1] == "close"


@THREADS
def test_ctrl_c_without_a_block_closes_everything(threads: int) -> None:
    calls: list[str] = []

    def struck(_: Any) -> Any:
        raise KeyboardInterrupt

    running = el.Pipeline(numbers(), Log(calls), struck).start(threads=threads)
    with pytest.raises(KeyboardInterrupt):
        list(running)
    assert calls[-1] == "close"
    assert running.stopped


def test_ctrl_c_in_close_closes_the_others() -> None:
    calls: list[str] = []

    class Struck(PassesOn):
        def close(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        el.Pipeline(numbers(count=1), Log(calls), Struck()).run()
    assert calls[-1] == "close"


def test_a_stream_that_ends_does_not_block_the_event_loop() -> None:
    async def work() -> int:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Any]()

        class Fed(el.Source):
            def read(self) -> Any:
                return asyncio.run_coroutine_threadsafe(queue.get(), loop).result(10)

        async def feed() -> None:
            for number in range(3):
                await asyncio.sleep(0.02)
                queue.put_nowait(frame(number))
            queue.put_nowait(None)

        feeding = asyncio.create_task(feed())
        count = 0
        with el.Pipeline([numbers(count=1), Fed()], PassesOn()).start() as out:
            async for _ in out:
                count += 1
        await feeding
        return count

    assert asyncio.run(work()) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_leaving_the_block_in_a_forked_child_closes_nothing() -> None:
    calls: list[str] = []
    read, write = os.pipe()
    with el.Pipeline(frames(99), Log(calls)).start(queue=1) as out:
        next(out)
        child = os.fork()
        if not child:
            out.__exit__(None, None, None)
            os.write(write, b"closed" if "close" in calls else b"open")
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 9) == b"open"
    os.close(read)
    os.close(write)


@THREADS
def test_none_in_a_generator_is_not_a_frame(threads: int) -> None:
    def some() -> Iterator[Any]:
        yield frame(1)
        yield None
        yield frame(2)

    def late(picture: Any) -> Iterator[Any]:
        yield None
        yield picture

    pipe = el.Pipeline(some(), late, lambda picture: [None, picture])
    with pipe.start(threads=threads) as out:
        assert [picture.pts for picture in out] == [1, 2]
    with el.Pipeline(el.source()(some)()).start(threads=threads) as out:
        assert len(list(out)) == 2


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_of_a_small_pool_go_on_one_by_one(threads: int) -> None:
    def many(_: Any) -> Iterator[Any]:
        pool = el.FramePool(frame, maximum=8, timeout=2)
        for _ in range(20):
            yield pool.acquire()

    with el.Pipeline(numbers(count=1), many).start(threads=threads, queue=1) as out:
        count = 0
        for picture in out:
            count += picture.height == HEIGHT
            del picture
        assert count == 20


def test_new_frames_say_their_stream_too() -> None:
    class Makes(el.Transform):
        gives = el.Image("GRAY8", memory="cpu")

        def process(self, picture: Any) -> Any:
            return frame(picture.pts)

    pipe = el.Pipeline([numbers(count=2), numbers(count=2, start=100)], Makes())
    with pipe.start() as out:
        for picture in out:
            found = sb.metadata.find(picture, sb.metadata.SourceIdentifier)
            assert found is not None
            assert found.stream_id == (picture.pts or 0) // 100


def test_options_are_checked_before_anything_is_opened() -> None:
    calls: list[str] = []
    pipe = el.Pipeline(frames(1), Log(calls))
    bad: tuple[dict[str, Any], ...] = (
        {"when_full": "bad", "threads": 0}, {"threads": 1.5}, {"pool_timeout": -1},
        {"pool_timeout": "x"},
    )  # fmt: skip
    for options in bad:
        with pytest.raises((LookupError, TypeError, ValueError)):
            pipe.start(**options)
    gc.collect()
    assert not calls


def test_threads_of_one_element_lose_no_count() -> None:
    class Quick(PassesOn):
        concurrent = True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        rows = el.Pipeline([frame()] * 3000, Quick()).run(threads=4)
    finally:
        sys.setswitchinterval(before)
    assert (rows.of("Quick").frames_in, rows.of("Quick").frames_out) == (3000, 3000)
