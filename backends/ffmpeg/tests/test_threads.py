# SPDX-License-Identifier: Apache-2.0
"""Several threads map frames of their own at once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import av
import numpy as np

import samebytes as sb
from samebytes_ffmpeg._loans import held_count, sweep
from samebytes_ffmpeg._reference import references_held


def _together(work: Callable[[int], None], threads: int = 8) -> None:
    start = threading.Barrier(threads, timeout=60)

    def run(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run, n) for n in range(threads)]:
            done.result()


def test_mapping_to_the_cpu() -> None:
    before = references_held()

    def work(number: int) -> None:
        native = av.VideoFrame(64, 48, "yuv420p")
        frame = sb.frame(native)
        for turn in range(200):
            reading = frame.map("cpu")
            frame.map("cpu", "rw").native[0][...] = (number * 7 + turn) % 251
            assert (reading.native[0] == (number * 7 + turn) % 251).all()

    _together(work)
    assert references_held() == before


def test_lending_to_ffmpeg() -> None:
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
    assert held_count() == 0


class Memory:
    """Bytes that can be watched until they go."""

    def __init__(self) -> None:
        self.bytes = np.zeros((8, 8), np.uint8)
        self.__array_interface__ = self.bytes.__array_interface__


def test_frames_made_in_one_thread_end_in_another() -> None:
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
    sweep()
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
