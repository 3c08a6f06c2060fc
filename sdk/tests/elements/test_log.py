# SPDX-License-Identifier: Apache-2.0
"""The log of a pipeline: states, errors, drops and slow elements, without secrets."""

import gc
import json
import logging
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.elements import Seldom, logger
from samebytes.errors import ElementError
from samebytes.plugins import counted

from .pictures import add, frame, numbers

SECRET = "hunter2"
ADDRESS = f"rtsp://camera:{SECRET}@10.0.0.7/live"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    """A function that gives the level and the text of each record so far."""
    with caplog.at_level(logging.INFO, "samebytes"):
        yield lambda: [(one.levelname, one.getMessage()) for one in caplog.records]


def raises(frame: Any) -> None:
    assert frame
    raise ValueError(f"no answer from {ADDRESS}")


def test_states(said: Any) -> None:
    el.Pipeline(numbers(count=3), add()).run()
    texts = [text for _, text in said()]
    assert [text.partition(";")[0].partition(" after")[0] for text in texts] == [
        "numbers -> add: opens",
        "numbers -> add: runs",
        "numbers -> add: ended",
    ]
    assert texts[-1].endswith("3 frames came out, 0 left out, 0 under way")


def test_a_stop_and_a_program_that_raises(said: Any) -> None:
    pipe = el.Pipeline(numbers(count=99), add())
    with pipe.start(threads=0) as out:
        next(out)
    assert "was stopped after" in said()[-1][1]
    with pytest.raises(KeyError), pipe.start(threads=0):
        raise KeyError
    assert "failed after" in said()[-1][1]


@pytest.mark.parametrize("threads", [0, 1])
def test_an_error_is_said_once_and_without_secrets(said: Any, threads: int) -> None:
    pipe = el.Pipeline(numbers(count=3), el.sink(raises)())
    with pytest.raises(ElementError):
        pipe.run(threads=threads)
    errors = [text for level, text in said() if level == "ERROR"]
    assert len(errors) == 1
    assert "no answer from rtsp://...@10.0.0.7" in errors[0]
    assert SECRET not in str(said())


def test_errors_of_many_frames_are_one_record(said: Any) -> None:
    pipe = el.Pipeline(numbers(count=50), el.sink(raises)())
    assert pipe.run(on_error="drop").of("raises").errors == 50
    assert len([text for level, text in said() if level == "WARNING"]) == 1


def test_a_source_that_fails(said: Any) -> None:
    class Broken(el.Source):
        def read(self) -> Any:
            raise OSError(f"{ADDRESS} is gone")

    sources = [numbers(count=2), Broken()]
    el.Pipeline(sources, add()).run(on_error="end-stream")
    (text,) = [text for level, text in said() if level == "ERROR"]
    assert text.startswith("stream 1 ends early: ")
    assert SECRET not in text


def test_an_element_that_cannot_open(said: Any) -> None:
    class Closed(el.Sink):
        def open(self, context: Any) -> None:
            raise OSError(f"{ADDRESS} is closed")

    with pytest.raises(ElementError):
        el.Pipeline(numbers(count=1), Closed()).run()
    assert said()[-1][0] == "ERROR"
    assert "did not start" in said()[-1][1]
    assert SECRET not in said()[-1][1]


def test_a_start_that_a_signal_ends(said: Any) -> None:
    class Slow(el.Sink):
        def open(self, context: Any) -> None:
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        el.Pipeline(numbers(count=1), Slow()).run()
    assert said()[-1] == ("INFO", "numbers -> Slow: ended while it started")


def test_frames_left_out_name_the_slowest_element(said: Any) -> None:
    arrived, full = threading.Event(), threading.Event()

    def nine() -> Iterator[Any]:
        yield frame(0)
        assert arrived.wait(30)
        for number in range(1, 9):
            yield frame(number)
        full.set()

    class Slow(el.Sink):
        def write(self, frame: Any) -> None:
            arrived.set()
            assert full.wait(30)

    pipe = el.Pipeline(nine, add(), Slow())
    row = pipe.run(queue=1, when_full="drop-oldest").of("add")
    (text,) = [text for level, text in said() if level == "WARNING"]
    assert text.startswith(f"{counted(row.dropped, 'frame')} left out before add in ")
    assert "the slowest element is Slow, busy for " in text


def test_records_keep_no_frame(caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    def keeps(frame: Any) -> None:
        seen.append(weakref.ref(frame))
        raises(frame)

    el.Pipeline(numbers(count=2), el.sink(keeps)()).run(on_error="drop")
    assert caplog.records
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_the_logger_hides_secrets_of_others() -> None:
    records: list[logging.LogRecord] = []

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    below, handler = logger("toy"), Keeps()
    logging.getLogger("samebytes").addHandler(handler)
    try:
        below.warning("connecting to %s", ADDRESS)
        below.warning("%d of %d", 1, 2)
        try:
            raise OSError(ADDRESS)
        except OSError:
            below.exception("it broke")
    finally:
        logging.getLogger("samebytes").removeHandler(handler)
    assert records[0].getMessage() == "connecting to rtsp://...@10.0.0.7/live"
    assert records[1].args == (1, 2)  # what has no secret stays as it was
    shown = logging.Formatter().format(records[2])
    assert "OSError" in shown
    assert SECRET not in shown


def test_the_logger_prints_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    logger("toy").error("nobody asked")
    assert capfd.readouterr() == ("", "")


def test_seldom_says_how_often_it_was_silent() -> None:
    time = [0.0]
    seldom = Seldom(10.0, lambda: time[0])
    assert [seldom.may("a"), seldom.may("a"), seldom.may("a"), seldom.may("b")] == [
        "", None, None, "",
    ]  # fmt: skip
    time[0] = 10.0
    assert seldom.may("a") == " (and 2 times more since this was last said)"
    assert seldom.may("b") == ""


def test_statistics_as_json() -> None:
    statistics = el.Pipeline(numbers(count=3), add()).run()
    found = json.loads(json.dumps(statistics.as_dict()))
    assert [one["element"] for one in found["elements"]] == ["numbers", "add"]
    assert found["elements"][1]["frames_in"] == found["latency"]["frames"] == 3
    assert found["lost"] == 0
