# SPDX-License-Identifier: Apache-2.0
"""The table of the references to AVFrames, which threads and finalizers change at any time."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import av
import pytest

import samebytes as sb
from samebytes_ffmpeg import FFmpegFrame, _reference
from samebytes_ffmpeg._avutil import PYAV
from samebytes_ffmpeg._pyav import frame_address
from samebytes_ffmpeg._reference import _own, own_reference, references_held, shared_at, writable_at


class Cyclic:
    """Goes with the collector, and maps a frame then."""

    def __init__(self, kept: list[object]) -> None:
        self.me = self
        self.kept = kept

    def __del__(self) -> None:
        self.kept.append(sb.frame(av.VideoFrame(16, 16, "gray")).map("cpu"))


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize("allocated", range(50, 650, 50))
def test_frames_that_finalizers_map_while_the_table_is_swept(
    monkeypatch: pytest.MonkeyPatch, allocated: int
) -> None:
    kept: list[object] = [sb.frame(av.VideoFrame(16, 16, "gray")).map("cpu") for _ in range(600)]
    frame = sb.frame(av.VideoFrame(16, 16, "gray"))
    monkeypatch.setattr(_reference, "_most", 0)  # the next mapping sweeps
    gc.collect()
    before = len(kept)
    Cyclic(kept)
    gc.set_threshold(allocated)
    frame.map("cpu").close()
    gc.set_threshold(0)
    gc.collect()
    assert len(kept) == before + 1


def test_references_are_counted_while_empty_entries_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads map frames whose entries come and go: every reference is counted while it lives."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    before, raised = references_held(), list[BaseException]()

    def work() -> None:
        try:
            for _ in range(300):
                monkeypatch.setattr(_reference, "_most", 0)
                native = av.VideoFrame(64, 48, "gray")
                address, data = frame_address(native), native.planes[0].buffer_ptr
                two = [own_reference(native, address, data) for _ in range(2)]
                assert writable_at(PYAV, address, data)
                del two[0]
                assert writable_at(PYAV, address, data)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not raised, raised
    assert references_held() == before
    assert len(_own) < 10


@pytest.mark.pyav17
def test_one_that_is_given_back_and_still_counted_may_hide_nobody() -> None:
    """It is uncounted a moment after: until then the frame seems shared."""
    frame = sb.frame(av.VideoFrame(64, 48, "yuv420p"))
    assert isinstance(frame, FFmpegFrame)
    address, data = frame.handle("av_frame"), frame.planes[0].handle()
    reading = frame.map("cpu", "r")
    counted = _own[address, data]
    counted.append(counted[0])
    assert frame.readonly
    assert not writable_at(PYAV, address, data)
    assert shared_at(PYAV, address, data)
    del counted[1]
    assert frame.writable
    assert writable_at(PYAV, address, data)
    assert not shared_at(PYAV, address, data)
    reading.close()


def test_it_is_uncounted_before_its_frame_goes() -> None:
    """PyAV frees the frame without the interpreter's lock, and its address is used again."""
    native = av.VideoFrame(64, 48, "yuv420p")
    frame = sb.frame(native)
    counted = []

    class Owner:
        def __del__(self) -> None:
            counted.append(references_held())

    before = references_held()
    reference = own_reference(Owner(), frame.handle("av_frame"), frame.planes[0].handle())
    assert references_held() == before + 1
    del reference
    assert counted == [before]
