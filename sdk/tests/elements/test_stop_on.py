# SPDX-License-Identifier: Apache-2.0
"""Signals that end a pipeline: nothing is lost, and whoever handled them before does so again."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.elements._threads import Threads

from .pictures import Collect, frame, frames

pytestmark = pytest.mark.usefixtures("default_signals")


class Endless(el.Source):
    """Gives pictures without an end, and sends a signal after the tenth."""

    gives = el.Image("GRAY8", memory="cpu", width=16, height=8)
    waits: bool = False
    raises: bool = False
    pause: float = 0.0

    def open(self, context: Any) -> None:
        self.given = 0
        self.go = threading.Event()

    def read(self) -> Any:
        if self.given == 10:
            time.sleep(self.pause)
            signal.raise_signal(signal.SIGTERM)
            if self.waits:
                assert self.go.wait(20), "nobody interrupted it"
            if self.raises:
                raise RuntimeError("interrupted")
        self.given += 1
        return frame(self.given)

    def interrupt(self) -> None:
        self.go.set()


class Keeps(el.Transform):
    """Gives what it keeps back when its stream ends."""

    takes = el.Image(memory="cpu")
    kept: ClassVar[list[Any]] = []

    def process(self, picture: Any) -> Any:
        self.kept.append(picture)

    def end_of_stream(self, stream: int) -> Iterator[Any]:
        while self.kept:
            yield self.kept.pop(0)


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(("waits", "raises"), [(False, False), (True, False), (True, True)])
def test_what_was_read_comes_out(threads: int, waits: bool, raises: bool) -> None:
    source, sink = Endless(waits=waits, raises=raises), Collect()
    out = el.Pipeline(source, Keeps(), sink).start(threads=threads, stop_on=signal.SIGTERM)
    came = len(list(out))
    assert came == source.given == len(sink.values)
    assert came >= 10
    rows = out.statistics()
    assert (rows.lost, rows.of("Endless").errors) == (0, 0)
    assert out.stopped
    assert out.stopped_by == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_run_returns() -> None:
    table = el.Pipeline(Endless(), Collect()).run(stop_on=[signal.SIGTERM, signal.SIGINT])
    assert table.of("Collect").frames_in >= 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_in_an_event_loop(pause: float) -> None:
    """Also where the signal comes to another thread while the loop sleeps."""

    async def work() -> int:
        source = Endless(waits=True, pause=pause)
        async with el.Pipeline(source).start(stop_on=signal.SIGTERM) as out:
            return len([one.pts async for one in out])

    assert asyncio.run(work()) == 11


def test_a_source_that_waits_for_its_pool_ends() -> None:
    class Pooled(Endless):
        pool_size = 4

    kept: list[sb.Frame] = []
    with el.Pipeline(Pooled()).start(stop_on=signal.SIGTERM) as out:
        kept += [next(out) for _ in range(4)]  # and the source waits for one of them
        signal.raise_signal(signal.SIGTERM)
        kept += list(out)
    assert len(kept) == 4


def test_all_pipelines_end_and_the_second_signal_is_as_before() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    pipes = [el.Pipeline(frames(10**6), lambda one: one) for _ in range(2)]
    first, second = (pipe.start(stop_on=signal.SIGTERM) for pipe in pipes)
    next(first), next(second)
    signal.raise_signal(signal.SIGTERM)
    assert seen == []
    signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    list(first), list(second)
    assert first.stopped_by == second.stopped_by == signal.SIGTERM


def test_no_source_is_read_before_the_signal_is_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one that sends it, or a user who is quick, would end the process."""
    began, handlers, start = threading.Event(), list[Any](), Threads.start

    def start_and_wait(self: Threads) -> None:
        start(self)
        assert began.wait(20)

    def pictures() -> Iterator[Any]:
        handlers.append(signal.getsignal(signal.SIGTERM))
        began.set()
        yield frame(1)

    monkeypatch.setattr(Threads, "start", start_and_wait)
    out = el.Pipeline(pictures()).start(threads=1, stop_on=signal.SIGTERM)
    assert len(list(out)) == 1
    assert handlers != [signal.SIG_DFL]


@pytest.mark.parametrize("threads", [0, 1])
def test_a_signal_while_another_starts_ends_both(threads: int) -> None:
    class Slow(Collect):
        def open(self, context: Any) -> None:
            super().open(context)
            signal.raise_signal(signal.SIGTERM)

    def start(*items: Any) -> el.Running:
        return el.Pipeline(*items).start(threads=threads, stop_on=signal.SIGTERM)

    before = start(frames(10**6), lambda one: one)
    during = start(frames(10**6), Slow())
    assert during.stopped_by == before.stopped_by == signal.SIGTERM
    assert len(list(during)) < 10**6
    assert len(list(before)) < 10**6
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with start(frames(10**6), Collect()) as after:
        assert after.stopped_by is None
        signal.raise_signal(signal.SIGTERM)
        assert len(list(after)) < 10**6
    assert after.stopped_by == signal.SIGTERM


def test_a_handler_that_the_program_sets_meanwhile() -> None:
    seen: list[int] = []
    first = el.Pipeline(frames(10**6), lambda one: one).start(stop_on=signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    second = el.Pipeline(frames(10**6), lambda one: one).start(stop_on=signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    assert first.stopped_by == second.stopped_by == signal.SIGTERM
    list(first), list(second)
    signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_a_forked_child_is_ended_by_the_signal() -> None:
    with el.Pipeline(frames(10**6), lambda one: one).start(threads=0, stop_on=signal.SIGTERM):
        child = os.fork()
        if not child:
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_has_stopped_leaves_no_handler(elsewhere: bool) -> None:
    seen: list[int] = []
    before = lambda number, _: seen.append(number)  # noqa: E731
    signal.signal(signal.SIGTERM, before)
    out = el.Pipeline(frames(5)).start(stop_on=signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is not before
    if elsewhere:
        thread = threading.Thread(target=out.stop)
        thread.start()
        thread.join()
    else:
        out.stop()
        assert signal.getsignal(signal.SIGTERM) is before
    signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is before
    assert out.stopped_by is None


def test_what_cannot_be() -> None:
    pipe = el.Pipeline(frames(1))
    for number in (signal.SIGKILL, 0, 10_000):
        with pytest.raises(ValueError, match="can be handled"):
            pipe.start(stop_on=number)
    raised: list[str] = []

    def start() -> None:
        try:
            pipe.start(stop_on=signal.SIGTERM)
        except ValueError as error:
            raised.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in raised[0]
