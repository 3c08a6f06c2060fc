# SPDX-License-Identifier: Apache-2.0
"""Signals that end a pipeline: nothing is lost, and whoever handled them before does so again."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import samebytes as sb
import samebytes.elements as el

from .pictures import Collect, frame, frames

pytestmark = pytest.mark.usefixtures("default_signals")


class Endless(el.Source):
    """Gives pictures without an end, and sends a signal after the tenth."""

    gives = el.Image("GRAY8", memory="cpu", width=16, height=8)
    waits: bool = False
    raises: bool = False

    def open(self, context: Any) -> None:
        self.given = 0
        self.go = threading.Event()

    def read(self) -> Any:
        if self.given == 10:
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


def test_in_an_event_loop() -> None:
    async def work() -> int:
        async with el.Pipeline(Endless(waits=True)).start(stop_on=signal.SIGTERM) as out:
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
