# SPDX-License-Identifier: Apache-2.0
"""The end of a pipeline, which leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import (
    ClosedError,
    ElementError,
    PoolTimeoutError,
)

from .pictures import Collect, Log, add, frame, frames, numbers

THREADS = pytest.mark.parametrize("threads", [0, 1, 3])


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


class Watched(el.Source):
    """A source that knows which of its frames are alive."""

    def open(self, context: Any) -> None:
        self.alive: weakref.WeakSet[Any] = weakref.WeakSet()
        self._left = 5

    def read(self) -> Any:
        if not self._left:
            return None
        self._left -= 1
        made = frame()
        self.alive.add(made)
        return made


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Turn the garbage collector off, so that whatever only it would free stays."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@THREADS
@pytest.mark.parametrize("on_error", ["stop", "drop"])
@pytest.mark.parametrize("fails", ["negotiate", "process", "end", "close"])
@pytest.mark.usefixtures("without_collector")
def test_an_error_that_was_dropped_holds_no_frames(threads: int, fails: str, on_error: str) -> None:
    """Its traceback holds the frames, so it must not hold itself."""
    source = Watched()
    with suppress(ElementError):
        el.Pipeline(source, add(), Log([], fails=fails)).run(threads=threads, on_error=on_error)
    assert not source.alive


@pytest.mark.parametrize("taken", ["async", "at the end of the block", "never"])
@pytest.mark.usefixtures("without_collector")
def test_an_error_of_threads_that_was_dropped_holds_no_frames(taken: str) -> None:
    source = Watched()
    pipe = el.Pipeline(source, Log([], fails="process"))

    async def takes() -> None:
        with suppress(ElementError):
            async for _ in pipe.start():
                pass
        assert not source.alive

    def waits(out: Any) -> None:
        deadline = time.monotonic() + 60
        while not out._workers.failed:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    if taken == "async":
        asyncio.run(takes())
    elif taken == "never":
        waits(pipe.start())
    else:
        with suppress(ElementError), pipe.start() as out:
            waits(out)
    assert not source.alive


@pytest.mark.parametrize("fails", ["open", "process", "close", "interrupt"])
@pytest.mark.usefixtures("without_collector")
def test_a_dropped_error_in_a_coroutine_holds_no_element(fails: str) -> None:
    elements: weakref.WeakSet[Any] = weakref.WeakSet()
    loop: Any = None
    task: Any = None

    class Fails(Log):
        """With "interrupt" it is cancelled while it opens."""

        def open(self, context: Any) -> None:
            super().open(context)
            if fails == "interrupt":
                self._asked = threading.Event()
                loop.call_soon_threadsafe(task.cancel)
                assert self._asked.wait(60)
                raise OSError("interrupted")

        def interrupt(self) -> None:
            if fails == "interrupt":
                self._asked.set()

    async def takes() -> None:
        nonlocal loop, task
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        pipe = el.Pipeline(numbers(count=1), Fails([], fails=fails))
        elements.update(pipe.elements.values())
        with suppress(ElementError, asyncio.CancelledError):
            async with await pipe.start_async() as out:
                async for _ in out:
                    pass

    asyncio.run(takes())
    assert not elements


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.usefixtures("without_collector")
def test_ctrl_c_in_close_holds_nothing(threads: int) -> None:
    class Interrupt(KeyboardInterrupt):
        pass

    class Interrupted(el.Sink):
        def write(self, picture: Any) -> None:
            pass

        def close(self) -> None:
            raise Interrupt

    try:
        el.Pipeline(numbers(count=1), Interrupted()).run(threads=threads)
    except Interrupt as error:
        raised = weakref.ref(error)
    assert raised() is None


def test_frames_under_way_are_dropped() -> None:
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_closes_nothing() -> None:
    calls: list[str] = []
    read, write = os.pipe()
    running = el.Pipeline(frames(99), Log(calls)).start(queue=1)
    next(running)
    reference = weakref.ref(running)
    child = os.fork()
    if not child:
        del running
        gc.collect()
        gone = reference() is None  # with its elements, whose destructors may wait for threads
        os.write(write, b"closed" if gone or "close" in calls else b"open")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 9) == b"open"
    running.stop()
    os.close(read)
    os.close(write)


@THREADS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_waits_for_no_frames(threads: int) -> None:
    """It has no threads that could bring one."""
    read, write = os.pipe()
    with el.Pipeline(frames(99)).start(threads=threads) as running:
        next(running)
        child = os.fork()
        if not child:
            try:
                next(running)
            except ElementError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.close(write)
        assert b"not in this fork() of it" in os.read(read, 999)
        os.waitpid(child, 0)
        next(running)
    os.close(read)


@THREADS
@pytest.mark.parametrize("kind", [OSError, None])
def test_a_source_that_fails_ends_its_own_stream(threads: int, kind: Any) -> None:
    class Broken(el.Source):
        gives = el.Image("GRAY8", memory="cpu")

        def open(self, context: Any) -> None:
            self.left = list(range(3))

        def read(self) -> Any:
            if self.left:
                return frame(self.left.pop(0))
            if kind is None:
                return "no frame"  # not what it announced
            raise kind("unplugged")

    log: list[str] = []
    pipe = el.Pipeline([numbers(count=40), Broken()], Log(log), add())
    with pipe.start(threads=threads, on_error="end-stream") as out:
        came = [picture.pts for picture in out]
    assert Counter(came) == Counter([*range(40), *range(3)])
    assert log.count("end") == 2
    rows = out.statistics()
    assert (rows.of("Broken").errors, rows.of("numbers").errors, rows.lost) == (1, 0, 0)
    (error,) = out.ended_early.values()
    assert (error.element, list(out.ended_early)) == ("Broken", [1])
    assert ("unplugged" if kind else "no frame") in str(error)
    assert error.__traceback__ is None
    for policy in ("stop", "drop"):
        with pytest.raises(ElementError, match="'Broken'"):
            pipe.run(threads=threads, on_error=policy)


@THREADS
def test_the_only_source_that_fails_ends_the_run(threads: int) -> None:
    def broken() -> Iterator[Any]:
        yield from frames(2)
        raise OSError("unplugged")

    with el.Pipeline(el.source()(broken)(), Collect()).start(
        threads=threads, on_error="end-stream"
    ) as out:
        assert len(list(out)) == 2
    assert str(out.ended_early[0].__cause__) == "unplugged"


@THREADS
def test_frames_that_the_program_keeps_end_the_run_all_the_same(threads: int) -> None:
    class Pooled(el.Source):
        gives = el.Image("GRAY8", memory="cpu")
        pool_size = 2

        def read(self) -> Any:
            return frame()

    kept: list[Any] = []
    with (
        pytest.raises(PoolTimeoutError),
        el.Pipeline(Pooled(), Collect()).start(
            threads=threads, on_error="end-stream", pool_timeout=0.05
        ) as out,
    ):
        kept.extend(out)
    assert len(kept) == 2


def test_the_table_shows_the_queues() -> None:
    with el.Pipeline(numbers(count=9), add(), Collect()).start(queue=2) as out:
        next(out)
        head, *rows = str(out.statistics()).splitlines()
    assert head.split()[:4] == ["element", "in", "out", "queue"]
    assert all(len(row.split()) == len(head.split()) - 3 for row in rows[:3])  # "p50 ms" is two
