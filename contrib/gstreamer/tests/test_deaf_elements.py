# SPDX-License-Identifier: Apache-2.0
"""Registered elements that ignore interrupt(): whoever stops the pipeline is not held up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import ElementError

from .sample_elements import GRAY, SOURCE

LONGEST = 60.0
"""Seconds for which the elements go on, and a stop must not."""


class Deaf:
    """Goes on until `go_on` is set, whatever it is asked."""

    is_in: threading.Event
    go_on: threading.Event
    said: list[str]

    def interrupt(self) -> None:
        self.said.append("interrupted")

    def close(self) -> None:
        self.said.append("closed")

    def work(self) -> None:
        self.is_in.set()
        self.go_on.wait(LONGEST)
        self.said.append("returned")


class DeafTransform(Deaf, el.TransformInplace):
    takes = el.Image("GRAY8", memory="cpu")

    def process(self, frame: Any) -> None:
        self.work()


class DeafSink(Deaf, el.Sink):
    takes = el.Image("GRAY8", memory="cpu")

    def write(self, frame: Any) -> None:
        self.work()


@pytest.fixture(autouse=True)
def deaf(
    monkeypatch: pytest.MonkeyPatch, patience: Callable[[float], None]
) -> Iterator[type[Deaf]]:
    """The elements are registered; afterwards they return, are closed, and no thread is left."""
    patience(0.3)
    for name, value in (
        ("is_in", threading.Event()), ("go_on", threading.Event()), ("said", list[str]()),
    ):  # fmt: skip
        monkeypatch.setattr(Deaf, name, value, raising=False)
    sbg.register(DeafTransform, name="sb_deaf")
    sbg.register(DeafSink, name="sb_deaf_sink")
    yield Deaf
    assert "returned" not in Deaf.said
    assert "interrupted" in Deaf.said
    Deaf.go_on.set()
    deadline = time.monotonic() + 30
    while "closed" not in Deaf.said and time.monotonic() < deadline:
        time.sleep(0.01)
    assert Deaf.said[-1] == "closed"
    assert Deaf.said.count("closed") == 1


def ends(stop: Callable[[], object]) -> None:
    assert Deaf.is_in.wait(30)
    start = time.monotonic()
    stop()
    assert time.monotonic() - start < LONGEST / 2


def pictures(count: int = 4) -> list[sb.Frame[Any]]:
    return [sb.context("cpu").allocate_frame("GRAY8", 64, 48) for _ in range(count)]


def test_a_source_is_closed() -> None:
    source = sbg.GStreamerSource(f"{SOURCE} ! sb_deaf", timeout=0.1)
    with pytest.raises(sbg.PipelineTimeoutError):
        source.read()
    ends(source.close)


def test_a_sink_is_closed() -> None:
    sink = sbg.GStreamerSink("sb_deaf_sink", caps=GRAY, timeout=0.1)
    sink.write(pictures()[0])

    def close() -> None:
        with pytest.raises(sbg.PipelineTimeoutError, match="did not end"):
            sink.close()

    ends(close)


def test_the_element_of_a_source_is_stopped() -> None:
    source = el.create("gstreamer.source", f"{SOURCE} ! sb_deaf")
    ends(el.Pipeline(source).start().stop)


def test_the_element_of_a_sink_is_stopped() -> None:
    sink = el.create("gstreamer.sink", "sb_deaf_sink", timeout=0.1)
    running = el.Pipeline(pictures(), sink).start()

    def stop() -> None:
        with pytest.raises(ElementError, match="did not end"):
            running.stop()

    ends(stop)
