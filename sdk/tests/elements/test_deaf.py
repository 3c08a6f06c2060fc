# SPDX-License-Identifier: Apache-2.0
"""Elements that ignore interrupt(): whoever stops the pipeline is not held up by them."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import ElementError

from .pictures import Log, frame, frames

LONGEST = 60.0
"""Seconds for which the elements go on, and a stop must not."""
THREADS = pytest.mark.parametrize("threads", [1, 3])


class Deaf:
    """Goes on with its third frame until `go_on` is set, whatever it is asked."""

    is_in: threading.Event
    go_on: threading.Event
    said: list[str]
    count = 0

    def interrupt(self) -> None:
        self.said.append("interrupted")

    def close(self) -> None:
        self.said.append("closed")

    def work(self) -> None:
        self.count += 1
        if self.count == 3:
            self.is_in.set()
            self.go_on.wait(LONGEST)
            self.said.append("returned")


class DeafSource(Deaf, el.Source):
    gives = el.Image("GRAY8", memory="cpu")

    def read(self) -> Any:
        self.work()
        return frame(self.count) if self.count < 9 else None


class DeafTransform(Deaf, el.TransformInplace):
    takes = el.Image("GRAY8", memory="cpu")

    def process(self, picture: Any) -> None:
        self.work()


class DeafSink(Deaf, el.Sink):
    takes = el.Image("GRAY8", memory="cpu")

    def write(self, picture: Any) -> None:
        self.work()


@pytest.fixture(params=[DeafSource, DeafTransform, DeafSink])
def pipeline(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """With a deaf element between others that listen; afterwards it returns, and is gone."""
    monkeypatch.setattr("samebytes.elements._threads._PATIENCE", 0.3)
    for name, value in (
        ("is_in", threading.Event()), ("go_on", threading.Event()), ("said", list[str]()),
    ):  # fmt: skip
        monkeypatch.setattr(Deaf, name, value, raising=False)
    deaf = request.param()
    start = [deaf] if isinstance(deaf, el.Source) else [frames(9), deaf]
    yield el.Pipeline(*start, Log([]))
    assert Deaf.said == ["interrupted"]
    Deaf.go_on.set()
    deadline = time.monotonic() + 30
    while threads_left() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not threads_left()
    assert "closed" not in Deaf.said, "it was closed while it worked"


def threads_left() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("samebytes")]


def ends(stop: Callable[[], object]) -> None:
    assert Deaf.is_in.wait(30)
    start = time.monotonic()
    with pytest.raises(ElementError, match="does not return, so its thread runs on"):
        stop()
    assert time.monotonic() - start < LONGEST / 2


@THREADS
def test_stop(pipeline: el.Pipeline, threads: int) -> None:
    running = pipeline.start(threads=threads)
    ends(running.stop)
    running.stop()  # it has been said
    assert "frames" in str(running.statistics())


@THREADS
def test_the_end_of_a_block(pipeline: el.Pipeline, threads: int) -> None:
    def stop() -> None:
        with running:
            pass

    running = pipeline.start(threads=threads)
    ends(stop)


@THREADS
def test_a_task_that_is_cancelled(pipeline: el.Pipeline, threads: int) -> None:
    async def read() -> None:
        async with pipeline.start(threads=threads) as running:
            async for _ in running:
                pass

    async def cancel() -> None:
        task = asyncio.create_task(read())
        while not Deaf.is_in.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or isinstance(task.exception(), ElementError)

    start = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - start < LONGEST / 2


@THREADS
def test_what_nobody_holds(pipeline: el.Pipeline, threads: int) -> None:
    running = pipeline.start(threads=threads)
    assert Deaf.is_in.wait(30)
    start = time.monotonic()
    del running
    gc.collect()
    assert time.monotonic() - start < LONGEST / 2
    deadline = time.monotonic() + 30
    while not Deaf.said and time.monotonic() < deadline:
        time.sleep(0.005)


PROGRAM = """
import sys, time
import samebytes.elements as el
import samebytes.elements._threads
samebytes.elements._threads._PATIENCE = 0.3
class Deaf(el.Source):
    gives = el.Image("GRAY8", memory="cpu")
    def read(self):
        print("is in", flush=True)
        time.sleep(3600)
running = el.Pipeline(Deaf()).start()
sys.stdin.readline()
{end}
"""


@pytest.mark.parametrize(("end", "status"), [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1)])
def test_the_end_of_the_program(end: str, status: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(end=end)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        assert program.stdout is not None
        assert program.stdout.readline() == "is in\n"
        _, errors = program.communicate("go on\n", timeout=60)
        assert program.returncode == status, errors
