# SPDX-License-Identifier: Apache-2.0
"""Threads that share contexts and routes: each its own frames, all of them at once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

import av
import cv2
import numpy as np
import pytest

import samebytes

THREADS = 6
ROUNDS = 60
REFRESHED_ROUNDS = 8  # nearly each map finds every plugin again, which takes 50 ms alone


pytestmark = pytest.mark.usefixtures("switching_often")


def in_threads(work: Callable[[int], None]) -> None:
    """Run `work(number)` in several threads that begin at the same moment."""
    start = threading.Barrier(THREADS, timeout=60)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_frames_through_all_frameworks() -> None:
    """Routes are compiled by many threads at once, and serve each its own bytes."""
    samebytes.refresh()

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            native = av.VideoFrame(64, 32, "nv12")
            frame = samebytes.frame(native)
            y, uv = frame.map("opencv", "rw")
            cv2.rectangle(y.native, (0, 0), (63, 31), number * 40 + turn % 40, -1)
            expected = number * 40 + turn % 40
            assert memoryview(native.planes[0])[0] == expected
            for target in ("cpu", "openvino"):
                assert np.asarray(frame.map(target).planes[0]).flat[-1] == expected
            assert uv.shape == (16, 32, 2)

    in_threads(work)


def test_close_against_a_holder_in_another_thread() -> None:
    """close() says whether the memory is gone, whoever drops when."""

    def work(_: int) -> None:
        for turn in range(ROUNDS):
            tensor = samebytes.context("cpu").allocate((16, 16))
            array = np.asarray(tensor)
            array[...] = turn
            holder, end = [array], weakref.ref(tensor.storage)
            del array
            dropping = threading.Thread(target=holder.clear)
            dropping.start()
            gone = tensor.close()
            assert end() is None or not gone
            dropping.join()
            assert end() is None

    in_threads(work)


def test_refresh_while_mapping() -> None:
    """refresh() in one thread does not disturb the mappings of others."""
    stop = threading.Event()

    def refresh() -> None:
        while not stop.wait(0.01):
            samebytes.refresh()

    refreshing = threading.Thread(target=refresh)
    refreshing.start()
    try:

        def work(number: int) -> None:
            array = np.full((8, 8), number, np.uint8)
            for _ in range(REFRESHED_ROUNDS):
                mapped = samebytes.tensor(array).map("opencv").map("openvino")
                assert mapped.native.data[7, 7] == number

        in_threads(work)
    finally:
        stop.set()
        refreshing.join()


def test_copies_are_counted_once_each() -> None:
    """The count of copies is right although many threads copy."""
    samebytes.reset_stats()

    def work(number: int) -> None:
        array = np.full((8, 6), number, np.uint8).T
        for _ in range(ROUNDS):
            copied = samebytes.tensor(array).map("opencv", copy=True)
            assert copied.native[5, 7] == number

    in_threads(work)
    assert samebytes.stats().copies == THREADS * ROUNDS
