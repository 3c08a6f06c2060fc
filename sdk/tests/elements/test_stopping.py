# SPDX-License-Identifier: Apache-2.0
"""Events that stop a pipeline: its own end, Ctrl-C while it stops, and the end of the program."""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import ElementError

from .pictures import Collect, frame, frames


class Interrupted(el.Sink):
    """Notes which of these are called."""

    takes = el.Image()

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def write(self, picture: Any) -> None: ...

    def interrupt(self) -> None:
        self.calls.append("interrupt")

    def close(self) -> None:
        self.calls.append("close")


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_what_has_ended_is_not_interrupted(threads: int) -> None:
    """So that its close() may still send what waits."""
    sink = Interrupted()
    el.Pipeline(frames(5), sink).run(threads=threads)
    assert sink.calls == ["close"]


def test_what_is_stopped_early_is_interrupted() -> None:
    sink = Interrupted()
    with el.Pipeline(frames(10_000), sink).start() as out:
        next(out)
    assert sink.calls == ["interrupt", "close"]


def running_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("samebytes Strikes")]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("times", [1, 9])
def test_ctrl_c_in_interrupt_leaves_no_thread(times: int, raised: type[BaseException]) -> None:
    class Strikes(el.Source):
        """Its read() waits for interrupt(), which is interrupted itself: once, or always."""

        gives = el.Image("GRAY8", memory="cpu")
        closed = asked = number = 0

        def open(self, context: Any) -> None:
            self.asked = self.number = 0
            self._ends = threading.Event()

        def read(self) -> Any:
            self.number += 1
            assert self.number == 1 or self._ends.wait(60)
            return frame()

        def interrupt(self) -> None:
            self.asked += 1
            if self.asked == times or times > 1:
                self._ends.set()
            if self.asked <= times:
                raise raised
            self._ends.set()

        def close(self) -> None:
            self.closed += 1

    source, sink = Strikes(), Collect()
    pipe = el.Pipeline(source, sink)
    for closed in (1, 2):  # it can be started again
        with pytest.raises(raised), pipe.start() as out:
            next(out)
        assert not running_threads()
        assert source.closed == closed


def test_who_stops_it_cuts_a_close_short() -> None:
    """Another thread closes the elements of a pipeline that has ended by itself."""
    closing, cut = threading.Event(), threading.Event()

    class Sends(el.Sink):
        takes = el.Image()

        def write(self, picture: Any) -> None: ...

        def interrupt(self) -> None:
            cut.set()

        def close(self) -> None:
            closing.set()
            assert cut.wait(60)

    out = el.Pipeline(frames(2), Sends()).start()
    taking = threading.Thread(target=lambda: list(out))
    taking.start()
    assert closing.wait(60)
    out.stop()
    taking.join(60)
    assert out.stopped
    assert cut.is_set()


@pytest.mark.parametrize("threads", [0, 1])
def test_a_call_that_stopping_cuts_short_does_not_fail(threads: int) -> None:
    waits, cut = threading.Event(), threading.Event()

    class Sends(el.Sink):
        takes = el.Image()

        def write(self, picture: Any) -> None:
            waits.set()
            assert cut.wait(60)
            raise BrokenPipeError

        def interrupt(self) -> None:
            cut.set()

    out = el.Pipeline(frames(2), Sends()).start(threads=threads)
    with ThreadPoolExecutor() as pool:
        taking = pool.submit(list, out)
        assert waits.wait(60)
        out.stop()
        assert taking.result(60) == []
    assert out.stopped


@pytest.mark.parametrize("threads", [0, 1])
def test_one_thread_takes_the_frames_and_others_are_refused(threads: int) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def given() -> Iterator[Any]:
        reading.set()
        assert go_on.wait(60)
        yield frame()

    with (
        el.Pipeline(given(), lambda one: one).start(threads=threads) as out,
        ThreadPoolExecutor(1) as pool,
    ):
        taken = pool.submit(list, out)
        assert reading.wait(60)
        while not out._frames_run():
            time.sleep(0.001)
        try:
            with pytest.raises(ElementError, match=r"takes its frames already: .*queue\.Queue"):
                next(out)
        finally:
            go_on.set()
        assert len(taken.result(60)) == 1


def test_starting_many_pipelines_costs_the_same() -> None:
    before = 0
    for number in range(6):
        if number == 2:  # all is imported
            before = atexit._ncallbacks()
        el.Pipeline(frames(1), Collect()).run()
    assert atexit._ncallbacks() == before


def test_ctrl_c_while_an_element_returns_waits_for_it() -> None:
    """Until it comes again."""
    going_on, inside = threading.Event(), threading.Event()
    closed: list[str] = []

    class Busy(el.TransformInplace):
        takes = el.Image(memory="cpu")

        def process(self, picture: Any) -> None:
            inside.set()
            assert going_on.wait(60)

        def close(self) -> None:
            closed.append("closed")

    out = el.Pipeline(frames(3), Busy()).start()
    assert inside.wait(60)
    workers = out._workers
    assert workers is not None
    real, calls = workers.stop, 0

    def struck() -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            going_on.set()
            raise KeyboardInterrupt
        return real()

    workers.stop = struck  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        out.stop()
    assert closed == ["closed"]


_PROGRAM = """
import samebytes as sb
import samebytes.elements as el

def forever():
    while True:
        yield sb.context("cpu").allocate_frame("GRAY8", 8, 8)

class Encoder(el.Sink):
    takes = el.Image(memory="cpu")

    def write(self, picture): ...

    def close(self):
        print("trailer", flush=True)

out = el.Pipeline(forever, Encoder()).start(threads={threads})
next(out)
{end}
"""


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise SystemExit(3)", 3)])
def test_the_end_of_the_program_closes_elements(threads: int, end: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(threads=threads, end=end)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, "trailer\n"), done.stderr


class Tiles(el.Transform):
    """Gives several pictures for each, and raises after those of one."""

    takes = gives = el.Image("GRAY8", memory="cpu")
    concurrent = True
    fails_at: int = -1

    def process(self, picture: Any) -> Iterator[Any]:
        for tile in range(3):
            yield frame(picture.pts * 10 + tile)
        if picture.pts == self.fails_at:
            raise ValueError("after its tiles")


@pytest.mark.parametrize("on_error", ["stop", "drop"])
@pytest.mark.parametrize("threads", [0, 1, 2, 4])
def test_what_an_element_gave_before_it_raised_goes_on(threads: int, on_error: str) -> None:
    out = el.Pipeline(frames(3), Tiles(fails_at=1)).start(threads=threads, on_error=on_error)
    found: list[int | None] = []
    if on_error == "drop":
        found += [picture.pts for picture in out]
        assert found == [0, 1, 2, 10, 11, 12, 20, 21, 22]
        assert out.statistics().of("Tiles").frames_out == 9
    else:
        with pytest.raises(ElementError, match="after its tiles"):
            found.extend(picture.pts for picture in out)
        assert found == [0, 1, 2, 10, 11, 12]


def test_one_thread_hands_on_each_frame_at_once() -> None:
    """Not when the element has given them all: there may be more of them than frames in a pool."""
    taken = threading.Semaphore(0)

    class Endless(Tiles):
        def process(self, picture: Any) -> Iterator[Any]:
            for number in range(100):
                yield frame(number)
                if number > 8:  # what queues take
                    assert taken.acquire(timeout=60)

    with el.Pipeline(frames(1), Endless()).start(threads=1) as out:
        for picture in out:
            taken.release()
            assert picture.pts is not None
