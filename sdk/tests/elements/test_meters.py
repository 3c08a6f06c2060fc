# SPDX-License-Identifier: Apache-2.0
"""Rates, looks and slow calls by a clock that the test sets, as no pipeline could wait for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.elements import Progress

from .pictures import add, frame

Clock = Callable[..., None]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """`wait(seconds)` moves the clock, which stands still otherwise.

    `wait(seconds, readings)` does so after it was read that many times.
    """
    now, steps = time.perf_counter_ns(), list[int]()

    def move(seconds: float, readings: int = 0) -> None:
        steps.extend([0] * readings)
        steps.append(round(seconds * 1e9))

    def read() -> int:
        nonlocal now
        if steps:
            now += steps.pop(0)
        return now

    monkeypatch.setattr("time.perf_counter_ns", read)
    return move


class Paced(el.Source):
    """Takes long for the first frame, as where a model is compiled, then as long for each."""

    wait: Clock
    expected: int
    each: float
    first: float = 1000.0

    def open(self, context: Any) -> None:
        self.numbers = count()

    def frames_expected(self) -> int:
        return self.expected

    def read(self) -> Any:
        number = next(self.numbers)
        self.wait(self.each if number else self.first)
        return frame(number)


def about(seconds: float) -> Any:
    """Return an object that equals this many seconds, up to rounding."""
    return pytest.approx(seconds)


def after(frames: int, *sources: el.Source) -> tuple[Progress, el.Statistics]:
    """The progress and the statistics when so many frames have been read."""
    with el.Pipeline(list(sources), add()).start(threads=0) as out:
        for _ in range(frames):
            next(out)
        return out.progress(), out.statistics()


def test_the_time_left_is_by_the_rate_after_the_first_frame(wait: Clock) -> None:
    progress, _ = after(11, Paced(wait, 21, 0.2))
    assert progress == Progress(11, 21, about(2.0))
    progress, _ = after(11, Paced(wait, 5, 0.2))
    assert progress == Progress(11, 5, 0.0)  # it was only about right
    progress, _ = after(1, Paced(wait, 5, 0.2))
    assert progress == Progress(1, 5, None)


def test_the_rates_of_several_sources_add_up(wait: Clock) -> None:
    progress, _ = after(22, Paced(wait, 16, 0.1, 0.1), Paced(wait, 16, 0.1, 0.1))
    assert progress == Progress(22, 32, about(1.0))


def test_the_rate_is_without_what_the_first_frame_compiles(wait: Clock) -> None:
    _, rows = after(6, Paced(wait, 21, 0.25))
    assert rows.of("Paced").fps == rows.of("add").fps == 4.0
    _, rows = after(1, Paced(wait, 21, 0.25))
    assert rows.of("Paced").fps == rows.of("add").fps == 0.0


def test_what_is_left_out_is_said_while_frames_move(
    wait: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A minute goes by between two calls, and the program takes none of the frames before it."""
    runs, full, later, given = (threading.Event() for _ in range(4))

    @el.source()
    def hasty() -> Iterator[Any]:
        for number in range(9):
            yield frame(number)
        assert runs.wait(30)
        wait(60.0, 1)  # when this call has ended; nobody else reads the clock by now
        yield frame(9)
        full.set()
        assert later.wait(30)
        yield frame(10)
        given.set()

    def said() -> int:
        return len([text for text in caplog.messages if "left out before the program" in text])

    pipe = el.Pipeline(hasty())
    with (
        caplog.at_level(logging.INFO, "samebytes"),
        pipe.start(queue=1, when_full="drop-oldest"),
    ):
        runs.set()
        assert full.wait(30)
        assert said() == 0
        later.set()
        assert given.wait(30)
        assert said() == 1


def test_a_slow_call_is_said_but_not_of_a_source(
    wait: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def slow(picture: Any) -> Any:
        wait(2.0)
        return picture

    pipe = el.Pipeline(Paced(wait, 9, 2.0), slow)
    with caplog.at_level(logging.INFO, "samebytes"), pipe.start(threads=0) as out:
        for _ in range(9):
            next(out)
    texts = [text for text in caplog.messages if "call took" in text or "first frame took" in text]
    assert len(texts) == 2
    assert texts[0].startswith("slow: its first frame took ")
    assert texts[1].startswith("slow: one call took ")
