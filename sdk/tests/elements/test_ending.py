# SPDX-License-Identifier: Apache-2.0
"""How pipelines end, and what is left then: nothing."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import (
    ClosedError,
    ElementError,
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
