# SPDX-License-Identifier: Apache-2.0
"""Memory that is lent comes back once, from any thread, and at the end of the interpreter."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from gi.repository import Gst

import samebytes as sb
import samebytes_gstreamer as sbg
from samebytes.plugins import sweep_loans
from samebytes.testing import GuardedMemory, assert_steady


class Memory:
    """Bytes that can be watched until they go."""

    def __init__(self, nbytes: int = 64) -> None:
        self.bytes = np.zeros(nbytes, np.uint8)
        self.__array_interface__ = self.bytes.__array_interface__


def lend() -> tuple[Any, weakref.ref[Memory]]:
    memory = Memory()
    array = np.asarray(memory).reshape(8, 8)
    return sb.frame(array, format="GRAY8").map("gstreamer").native, weakref.ref(memory)


def run_on() -> None:
    """Some Python code: what comes back is dropped as the main thread runs it."""
    for _ in range(3):
        gc.isenabled()


def test_given_back_with_the_buffer() -> None:
    buffer, memory = lend()
    assert memory() is not None
    del buffer
    run_on()
    assert memory() is None


def test_a_memory_keeps_the_bytes_without_its_buffer() -> None:
    buffer, memory = lend()
    part = buffer.get_memory(0).share(8, 8)
    del buffer
    gc.collect()
    assert memory() is not None
    del part
    run_on()
    assert memory() is None


def test_all_planes_come_back_before_the_frame_does() -> None:
    guard = GuardedMemory()
    image = sb.ImageInfo.of("I420", 16, 8)
    arrays = guard.arrays([sb.TensorInfo(p.dtype, p.shape, p.strides)
                           for p in image.plane_layouts()])  # fmt: skip
    buffer = sb.frame(list(arrays), format="I420").map("gstreamer", "rw").native
    del arrays
    parts = [buffer.get_memory(n) for n in range(buffer.n_memory())]
    del buffer
    gc.collect()
    while parts:
        assert not guard.released
        parts.pop()
    sweep_loans()
    assert guard.releases == 1


def test_dropped_by_threads_of_gstreamer() -> None:
    """The last holder is a streaming thread: a queue drops what a sink has taken."""
    gone = []
    with sbg.GStreamerSink("queue ! identity ! fakesink sync=false") as sink:
        for _ in range(50):
            memory = Memory()
            gone.append(weakref.ref(memory))
            sink.write(sb.frame(np.asarray(memory).reshape(8, 8), format="GRAY8"))
            del memory
    sweep_loans()
    assert not any(ref() is not None for ref in gone)


def test_lent_and_dropped_by_many_threads(lent: Callable[[], int]) -> None:
    start = threading.Barrier(8, timeout=60)

    def work(number: int) -> None:
        start.wait()
        array = np.full((8, 8), number, np.uint8)
        frame = sb.frame(array, format="GRAY8")
        kept = []
        for turn in range(200):
            kept.append(frame.map("gstreamer", "rw"))
            assert (kept[-1].map("cpu").native[0] == number).all()
            if turn % 50 == 49:
                kept.clear()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, n) for n in range(8)]:
            done.result()
    assert lent() == 0


def test_a_thread_can_close_memory_while_the_main_thread_waits() -> None:
    closed = []

    def work() -> None:
        memory = sb.context("cpu").allocate_frame("NV12", 64, 48)
        mapped = memory.map("gstreamer", "rw")
        end = weakref.ref(memory.storage)
        assert memory.close() is False
        mapped.close()
        closed.append(end() is None)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert closed == [True]


def test_a_pool_does_not_fill_what_is_looked_at() -> None:
    """Arrays keep the buffer, and so its memory out of the pool."""
    source = sbg.GStreamerSource(
        "videotestsrc num-buffers=12 pattern=ball ! video/x-raw,format=GRAY8,width=64,height=64"
    )
    arrays, copies = [], []
    with source:
        for frame in source:
            array = frame.map("cpu").native[0]
            arrays.append(array)
            copies.append(array.copy())
            del frame
    assert len(arrays) == 12
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_nothing_stays_of_pipelines() -> None:
    def once() -> None:
        with sbg.GStreamerSource(
            "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=16,height=16"
        ) as source:
            for frame in source:
                frame.map("cpu")

    assert_steady(once, 30)


@pytest.mark.parametrize(
    "end",
    [
        "pass",
        "import os; os.write(1, b'')",
        "raise SystemExit(0)",
        "del buffer, frame",
    ],
)
@pytest.mark.together
def test_the_interpreter_ends_while_gstreamer_holds_memory(end: str) -> None:
    program = f"""
from fractions import Fraction
import numpy as np, samebytes as sb, samebytes_gstreamer as sbg
frame = sb.frame(np.zeros((480, 640), np.uint8), format="GRAY8")
sink = sbg.GStreamerSink("queue max-size-buffers=0 ! fakesink sync=true", max_buffers=100)
frame.meta.time_base = Fraction(1)
for number in range(20):
    frame.meta.pts = number
    sink.write(frame)
source = sbg.GStreamerSource("videotestsrc is-live=true ! videoconvert ! queue")
frame = source.read()
mapped = frame.map("cpu").native
buffer = sb.frame(np.zeros((8, 8), np.uint8), format="GRAY8").map("gstreamer").native
{end}
"""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_gi_objects_that_outlive_the_package() -> None:
    program = """
import builtins, numpy as np, samebytes as sb
builtins.kept = [sb.frame(np.zeros((8, 8), np.uint8), format="GRAY8").map("gstreamer")]
builtins.kept += [builtins.kept[0].map("cpu"), builtins.kept[0].native]
"""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_sample_of_its_own_outlives_everything() -> None:
    pipeline = Gst.parse_launch(
        "videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=16,height=8 ! appsink name=s"
    )
    pipeline.set_state(Gst.State.PLAYING)
    mapped = sb.frame(pipeline.get_by_name("s").try_pull_sample(5 * Gst.SECOND)).map("cpu")
    expected = mapped.native[0].copy()
    pipeline.set_state(Gst.State.NULL)
    del pipeline
    gc.collect()
    np.testing.assert_array_equal(mapped.native[0], expected)


def test_exceptions_of_other_libraries_are_caught() -> None:
    """libunwind, which comes with GStreamer, must not take their unwinding over."""
    pytest.importorskip("openvino", reason="missing package openvino: pip install openvino")
    program = """
import samebytes as sb
sb.context("gstreamer")
import openvino
try:
    openvino.Core().read_model("there is no such file.xml")
except RuntimeError:
    print("caught")
"""
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "caught\n"), ended.stderr
