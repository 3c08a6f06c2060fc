# SPDX-License-Identifier: Apache-2.0
"""ring.sink and ring.source: pipelines that go on in other processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata
from samebytes.errors import ClosedError, CopyRequiredError, ElementError
from samebytes_ipc import (
    EndOfStreamError,
    RingReader,
    RingRefusedError,
    RingTimeoutError,
    RingWriter,
)

from .both_ends import join, wait_until, writer_at

OTHER = """
import sys
import samebytes.elements as el

def say(frame):
    print(frame.pts, frame.metadata["name"], frame.map("cpu").planes[0].native.max(), flush=True)
    return frame

el.Pipeline(el.create("ring.source", sys.argv[1], timeout=60.0), say).run(threads=int(sys.argv[2]))
"""


@pytest.fixture
def run() -> Iterator[Any]:
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", OTHER, *arguments], stdout=subprocess.PIPE, text=True
            )
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def pictures(count: int, memory: str = "cpu") -> list[sb.Frame]:
    made = []
    for number in range(count):
        frame = sb.context(memory).allocate_frame("GRAY8", 64, 48)
        with frame.map("cpu", "w") as view:
            view.planes[0].native[...] = number
        frame.meta.pts = number
        frame.metadata["name"] = f"picture {number}"
        made.append(frame)
    return made


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("memory", ["cpu", "dma:memfd"])
def test_a_pipeline_in_two_other_processes(
    address: str, run: Any, memory: str, threads: int
) -> None:
    others = [run(address, str(threads)) for _ in range(2)]
    copies = memory == "cpu"
    sink = el.create("ring.sink", address, copy=copies, readers=2, timeout=60.0)
    out = el.Pipeline(pictures(12, memory), sink).run(threads=threads)
    assert out.of("ring.sink").frames_in == 12
    for other in others:
        said, _ = other.communicate(timeout=60)
        assert said.splitlines() == [f"{n} picture {n} {n}" for n in range(12)]
        assert other.returncode == 0
    assert sb.stats().copies == (12 if copies else 0)
    sb.reset_stats()


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("memory", ["cpu", "dma:memfd"])
def test_the_end_waits_for_a_slow_reader(address: str, memory: str, threads: int) -> None:
    read: list[int] = []

    def slow() -> None:
        with RingReader(address, frames=1, timeout=60.0) as ring:
            for frame in ring:
                time.sleep(0.02)
                read.append(int(frame.map("cpu").planes[0].native[0, 0]))
                del frame  # the writer sends one at a time

    reading = threading.Thread(target=slow)
    reading.start()
    given = pictures(12, memory)
    sink = el.create("ring.sink", address, copy=memory == "cpu", readers=1, timeout=60.0)
    el.Pipeline(given, sink).run(threads=threads)
    for frame in given:  # it has ended, so their memory is the program's again
        with frame.map("cpu", "rw") as view:
            view.planes[0].native[...] = 255
    reading.join(60)
    assert read == list(range(12))
    sb.reset_stats()


@pytest.mark.parametrize("threads", [0, 1])
def test_a_pool_gets_back_what_readers_are_done_with(address: str, threads: int) -> None:
    """While the source waits for it, and gives the sink nothing to write."""
    pool = el.FramePool(
        lambda: sb.context("dma:memfd").allocate_frame("GRAY8", 64, 48), maximum=4, timeout=5
    )
    waits = threading.Semaphore(0)
    read: list[int | None] = []

    def given() -> Iterator[sb.Frame]:
        for number in range(12):
            if number and not number % 4:
                waits.release()
            frame = pool.acquire()
            frame.meta.pts = number
            yield frame
            del frame
        waits.release()

    def read_all_there_are() -> None:
        with RingReader(address, timeout=60.0) as ring:
            for _ in range(3):
                held = [ring.read() for _ in range(4)]
                read.extend(frame.pts for frame in held)
                waits.acquire(timeout=60)
                del held

    reading = threading.Thread(target=read_all_there_are)
    reading.start()
    sink = el.create("ring.sink", address, readers=1, timeout=60.0)
    el.Pipeline(given(), sink).run(threads=threads)
    reading.join(60)
    assert read == list(range(12))
    assert sb.stats().copies == 0


def test_a_sink_that_nobody_closes(address: str) -> None:
    """Its thread ends, and the ring with it."""
    sink: Any = el.create("ring.sink", address)
    sink.open(None)
    serving, ring = sink._serving, weakref.ref(sink.ring)
    del sink
    serving.join(60)
    assert ring() is None


def test_frames_go_on_behind_the_sink(address: str) -> None:
    given = pictures(3)
    pipe = el.Pipeline(given, el.create("ring.sink", address, copy=True), lambda frame: frame)
    assert [f.pts for f in pipe.start()] == [0, 1, 2]
    sb.reset_stats()


@pytest.mark.parametrize("memory", ["cpu", "dma:memfd"])
def test_copies_are_announced(address: str, memory: str) -> None:
    pipe = el.Pipeline(pictures(2, memory), el.create("ring.sink", address, copy=True))
    with pipe.start() as out:
        assert len(list(out)) == 2
        announced = "COPIES each frame into a slot of the ring" in out.explain()
    assert announced == bool(sb.stats().copies) == (memory == "cpu")
    sb.reset_stats()


def test_a_copy_must_be_allowed(address: str) -> None:
    with pytest.raises(ElementError, match=r"'ring.sink'.*cpu to ring needs a copy") as caught:
        el.Pipeline(pictures(1), el.create("ring.sink", address)).run()
    assert isinstance(caught.value.__cause__, CopyRequiredError)


def test_no_readers_come(address: str) -> None:
    sink = el.create("ring.sink", address, readers=1, timeout=0.05)
    with pytest.raises(ElementError, match=r"'ring.sink'.*0 of 1 reader joined"):
        el.Pipeline(pictures(1, "dma:memfd"), sink).run()


@pytest.mark.parametrize("seconds", [float("inf"), 1e300])
def test_a_time_without_end(address: str, seconds: float) -> None:
    """It is how to say that a sink waits for as long as it takes."""
    sink = el.create("ring.sink", address, timeout=seconds)
    assert el.Pipeline(pictures(3, "dma:memfd"), sink).run().of("ring.sink").frames_in == 3


@pytest.mark.parametrize("threads", [0, 1])
def test_no_writer_comes(address: str, threads: int) -> None:
    with pytest.raises((ElementError, RingTimeoutError), match="nobody writes to the ring"):
        el.Pipeline(el.create("ring.source", address, timeout=0.05)).run(threads=threads)


def test_a_writer_that_is_gone(address: str) -> None:
    with RingWriter(address, format="GRAY8", width=64, height=48) as writer:
        pipe = el.Pipeline(el.create("ring.source", address, timeout=60.0))
        joining = threading.Thread(target=writer.wait_for_readers)
        joining.start()
        with pipe.start(threads=0) as out:
            joining.join()
            writer.send(writer.acquire())
            first = next(out)
            # As if it were killed: its sockets are closed, and nothing is said.
            writer._server.close_descriptors()
            with pytest.raises(ElementError, match="ended without closing") as caught:
                next(out)
            assert isinstance(caught.value.__cause__, EndOfStreamError)
            del first
        writer._calls.state = "closed"


@pytest.mark.parametrize("live", [False, True])
def test_stopping_ends_a_read_that_waits(address: str, live: bool) -> None:
    with RingWriter(address, format="GRAY8", width=64, height=48) as writer:
        pipe = el.Pipeline(el.create("ring.source", address, timeout=60.0, live=live))
        joining = threading.Thread(target=writer.wait_for_readers)
        joining.start()
        with pipe.start(threads=1) as out:
            joining.join()
            writer.send(writer.acquire())
            assert next(out) is not None
        assert out.stopped


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("threads", [0, 1])
def test_a_source_waits_while_an_element_is_busy(address: str, threads: int, live: bool) -> None:
    """All slots may be under way, as while a model is compiled for the first frame."""

    def busy(frame: sb.Frame) -> sb.Frame:
        if frame.pts == 0:
            time.sleep(0.5)  # several times as long as the source waits
            send(1)
        return frame

    def send(number: int) -> None:
        filled = writer.acquire()
        filled.meta.pts = number
        writer.send(filled)

    def send_first() -> None:
        writer.wait_for_readers()
        send(0)

    with RingWriter(address, format="GRAY8", width=64, height=48) as writer:
        source = el.create("ring.source", address, timeout=0.1, live=live)
        joining = threading.Thread(target=send_first)
        joining.start()
        with el.Pipeline(source, busy).start(threads=threads) as out:
            assert [next(out).pts for _ in range(2)] == [0, 1]
        joining.join()


def test_times_of_each_stream_go_on_with_the_next_writer(address: str) -> None:
    """The clock of the next writer begins again; frames without a time get none."""
    given: list[tuple[int, int | None]] = [(0, 7), (1, 500), (0, 8), (1, None), (0, 9)]
    read: list[tuple[int | None, int | None]] = []

    def write() -> None:
        with RingWriter(address, format="GRAY8", width=64, height=48, timeout=60.0) as writer:
            writer.wait_for_readers()
            for stream, pts in given:
                frame = writer.acquire()
                frame.meta.pts = pts
                frame.meta.time_base = Fraction(1, 10)
                frame.metadata[metadata.KEY] = [metadata.SourceIdentifier(stream_id=stream)]
                writer.send(frame)

    def writing() -> None:
        for _ in range(2):
            write()

    thread = threading.Thread(target=writing)
    thread.start()
    source = el.create("ring.source", address, timeout=60.0, live=True)
    with el.Pipeline(source).start(threads=0) as out:
        for _ in range(2 * len(given)):
            frame = next(out)
            identifier = metadata.find(frame, metadata.SourceIdentifier)
            assert identifier is not None
            read.append((identifier.stream_id, frame.pts))
            del frame
    thread.join(60)
    assert [pts for stream, pts in read if stream == 0] == [7, 8, 9, 10, 11, 12]
    assert [pts for stream, pts in read if stream == 1] == [500, None, 501, None]


def test_stopping_ends_a_write_that_waits(address: str) -> None:
    with el.Pipeline(
        pictures(20), el.create("ring.sink", address, slots=2, copy=True, readers=1, timeout=60.0),
        lambda frame: None,
    ).start(threads=1) as out:  # fmt: skip
        reader = RingReader(address, timeout=60)
        reader.read()
    assert out.stopped
    reader.close()
    sb.reset_stats()


def test_what_a_source_asks_of_its_reader(address: str, asked: list[float | None]) -> None:
    with writer_at(address) as writer:
        source: Any = el.create("ring.source", address, frames=3, timeout=60.0, spin=0.1)
        opening = threading.Thread(target=source.open, args=(None,))
        opening.start()
        writer.wait_for_readers(1)
        opening.join()
        assert source.pool_size == 3
        asked.clear()
        reading = threading.Thread(target=source.read)
        reading.start()
        assert wait_until(lambda: any(asked))
        source.interrupt()
        reading.join()
        assert asked[0] == 0, "it looks again and again before it sleeps"
        # The default is 10 s.
        assert 10_000 < max(milliseconds or 0 for milliseconds in asked) <= 60_000
        source.close()


def test_the_ring_of_a_sink() -> None:
    """The ring, whose frames can be filled in place, is available while the sink is open."""
    import os

    sink: Any = el.create("ring.sink", f"@samebytes-{os.getpid()}-own")
    with pytest.raises(ClosedError, match="is not open"):
        _ = sink.ring
    sink.open(None)
    sink.ring.send(sb.tensor(np.zeros(4)), copy=True)
    assert sink.ring.statistics.accepted == 1
    sink.close()
    sb.reset_stats()


def test_how_much_of_others_a_sink_remembers_and_how_many_read(address: str) -> None:
    sink: Any = el.create("ring.sink", address, adopt=1, most_readers=1, timeout=0.05)
    sink.open(None)
    sink.ring.timeout = 20
    reader = join(sink.ring)
    with pytest.raises(RingRefusedError, match="1 reader already, which is its limit"):
        join(sink.ring)
    sink.ring.timeout = 0.05
    first, second = pictures(2, "dma:memfd")
    sink.write(first)
    with pytest.raises(RingTimeoutError, match="no slot of 1 is free"):
        sink.write(second)
    reader.close()
    sink.close()
