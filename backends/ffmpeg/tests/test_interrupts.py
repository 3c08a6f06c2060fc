# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise (Ctrl-C) in the middle of mappings: nothing stays lent or counted."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import av
import pytest

import samebytes as sb

pytestmark = pytest.mark.together


def _image() -> sb.Frame:
    return sb.frame(av.VideoFrame(64, 48, "yuv420p")).map("cpu", "rw")


def test_what_was_given_back_keeps_no_other_thread_from_closing() -> None:
    """The main thread, which would sweep, waits for the one that closes."""
    memory = sb.context("cpu").allocate_frame("I420", 64, 48)
    raised: list[BaseException] = []

    def work() -> None:
        try:
            memory.map("ffmpeg", "rw")
            memory.close()
        except BaseException as error:  # for the main thread
            raised.append(error)

    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert not raised
    assert memory.closed


@pytest.mark.usefixtures("default_signals")
def test_a_signal_handler_that_maps_the_same_frame_is_counted(
    references: Callable[[], int],
) -> None:
    """It runs in the middle of what its own thread does, which no lock keeps it from."""
    frame = sb.frame(av.VideoFrame(64, 48, "gray"))
    mapped: list[sb.Frame] = []
    before = signal.signal(signal.SIGALRM, lambda *_: mapped.append(frame.map("cpu")))
    try:
        for number in range(1500):
            own = frame.map("cpu")
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + number % 50 * 1e-6)
            while not mapped:
                del own  # then the frame's entry in the table is one of the dead
                own = frame.map("cpu")
                time.sleep(0)  # for a signal that came to another thread: see `alarms`
            assert references() == 1 + len(mapped)
            del own
            mapped.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_signals_reach_the_program_and_nothing_stays_lent(
    strike: Callable[[Callable[[], object]], None], lent: Callable[[], int]
) -> None:
    source = _image()
    strike(lambda: source.map("ffmpeg"))
    assert lent() == 0
