# SPDX-License-Identifier: Apache-2.0
"""Several threads map frames of their own at once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import numpy as np

import samebytes as sb
from samebytes.testing import run_program


def _together(work: Callable[[int], None], threads: int = 8) -> None:
    start = threading.Barrier(threads, timeout=60)

    def run(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run, n) for n in range(threads)]:
            done.result()


def test_mapping_to_the_cpu(references: Callable[[], int]) -> None:
    before = references()

    def work(number: int) -> None:
        native = av.VideoFrame(64, 48, "yuv420p")
        frame = sb.frame(native)
        for turn in range(200):
            reading = frame.map("cpu")
            frame.map("cpu", "rw").native[0][...] = (number * 7 + turn) % 251
            assert (reading.native[0] == (number * 7 + turn) % 251).all()

    _together(work)
    assert references() == before


def test_lending_to_ffmpeg(lent: Callable[[], int]) -> None:
    def work(number: int) -> None:
        array = np.full((48, 64), number, np.uint8)
        frame = sb.frame(array, format="GRAY8")
        kept = []
        for turn in range(300):
            kept.append(frame.map("ffmpeg", "rw").native)
            assert set(bytes(kept[-1].planes[0])) == {number}
            if turn % 50 == 49:
                kept.clear()

    _together(work)
    assert lent() == 0


class Memory:
    """Bytes that can be watched until they go."""

    def __init__(self) -> None:
        self.bytes = np.zeros((8, 8), np.uint8)
        self.__array_interface__ = self.bytes.__array_interface__


def test_frames_made_in_one_thread_end_in_another(lent: Callable[[], int]) -> None:
    natives: list[Any] = []
    gone = []
    for _ in range(100):
        memory = Memory()
        gone.append(weakref.ref(memory))
        natives.append(sb.frame(np.asarray(memory), format="GRAY8").map("ffmpeg").native)
        del memory

    def drop(_: int) -> None:
        for _ in range(25):
            natives.pop()

    _together(drop, threads=4)
    assert lent() == 0
    assert not any(ref() is not None for ref in gone)


def test_a_thread_can_close_memory_while_the_main_thread_waits() -> None:
    """The main thread, which would be notified, does not run: closing the frame looks itself."""
    closed = []

    def work() -> None:
        memory = sb.context("cpu").allocate_frame("NV12", 64, 48)
        mapped = memory.map("ffmpeg", "rw")
        end = weakref.ref(memory.storage)
        assert memory.close() is False
        mapped.close()
        closed.append(end() is None)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert closed == [True]


def test_a_program_that_is_profiled_and_encodes(tmp_path: Path) -> None:
    """The encoder's threads give back frames while cProfile watches the main thread."""
    run_program(
        """
        import cProfile, os
        import samebytes as sb, samebytes.elements as el

        def frames():
            for number in range(200):
                made = sb.context("cpu").allocate_frame("I420", 64, 48)
                made.meta.pts = number
                yield made

        profile = cProfile.Profile()
        for threads in (0, 2):
            sink = el.create("ffmpeg.sink", os.environ["OUT"])
            profile.runcall(el.Pipeline(frames(), sink).run, threads=threads)
        assert profile.getstats()
        """,
        OUT=str(tmp_path / "out.mp4"),
    )
