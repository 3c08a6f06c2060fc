# SPDX-License-Identifier: Apache-2.0
"""The lifetimes of samebytes-v4l2's frames: held, forked, and after the end of the stream."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import ClosedError, ElementError, PoolTimeoutError

from .vivid import CAMERA, DAMAGE, DISCONNECT, HEIGHT, MARK, WIDTH, mark, press

v4l2 = pytest.importorskip("samebytes_v4l2")

pytestmark = pytest.mark.dmabuf


def dma_bufs_open() -> int:
    """The number of descriptors of DMA-BUFs that this process has."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            links.append(str(entry.readlink()))
    return sum(link.startswith("/dmabuf:") for link in links)


def test_a_buffer_goes_back_with_its_last_holder(camera: Any) -> None:
    camera.start(2)
    frame = camera.read()
    array = frame.map("cpu").native[0]
    part = array[4:, 8:]
    assert camera.statistics.held == 1
    del frame, array
    assert camera.statistics.held == 1
    before = part.copy()
    for _ in range(4):  # the other buffer comes round
        camera.read()
    assert (part == before).all()
    del part
    assert camera.statistics.held == 0


def test_who_holds_all_buffers_gets_an_error_that_says_so(camera: Any) -> None:
    camera.start(2)
    count = camera.statistics.buffers
    held = [camera.read() for _ in range(count)]
    with pytest.raises(PoolTimeoutError, match=f"all {count} of its buffers are held"):
        camera.read(timeout=0.3)
    assert camera.statistics.held == count
    held.pop()
    later = camera.read()
    # Meanwhile vivid counted on, and had nowhere to put its pictures.
    assert later.metadata["v4l2"]["dropped"] > 0
    assert camera.statistics.dropped >= later.metadata["v4l2"]["dropped"]


def test_frames_outlive_the_camera(camera: Any) -> None:
    frame = camera.start(2).read()
    mark(frame)
    camera.close()
    with frame.map("cpu") as view:
        assert view.native[0][1, 2:6].tobytes() == MARK
    with pytest.raises(ClosedError):
        camera.read()


def test_a_late_frame_is_not_queued_in_the_next_stream(camera: Any) -> None:
    old = camera.start(2).read()
    camera.stop()
    new = [camera.start(2).read()]
    del old
    assert camera.statistics.held == 1
    before = new[0].map("cpu").native[0].copy()
    for _ in range(4):
        camera.read()
    assert (new[0].map("cpu").native[0] == before).all()


def test_an_unplugged_camera(camera: Any) -> None:
    camera.start(2)
    frame = camera.read()
    mark(frame)
    press(DISCONNECT)
    with pytest.raises(v4l2.CameraGoneError, match=r"gone .*unplugged"):
        camera.read()
    with frame.map("cpu") as view:
        assert view.native[0][1, 2:6].tobytes() == MARK
    del frame, view
    camera.close()
    with v4l2.Camera(CAMERA) as again:
        assert again.start(2).read() is not None


def test_an_unplugged_camera_ends_the_pipeline_and_is_named() -> None:
    source = el.create("v4l2.source", CAMERA, width=WIDTH, height=HEIGHT, rate=30.0)
    with el.Pipeline(source).start() as out:
        next(out)
        press(DISCONNECT)
        with pytest.raises(ElementError, match=f"the camera at {CAMERA} is gone") as caught:
            list(out)
    assert isinstance(caught.value.__cause__, v4l2.CameraGoneError)
    again = el.create("v4l2.source", CAMERA, frames=2)
    with el.Pipeline(again).start() as out:
        assert len(list(out)) == 2


def test_to_drop_a_frame_waits_for_no_stop(camera: Any) -> None:
    """However long the driver takes to stop: of a bad cable that can be seconds."""
    frame = camera.start(2).read()
    device = camera._device
    call, stopping, dropped = device.call, threading.Event(), threading.Event()

    def slow(request: str, argument: Any) -> None:
        if request == "VIDIOC_STREAMOFF":
            stopping.set()
            assert dropped.wait(60)
        call(request, argument)

    device.call = slow
    thread = threading.Thread(target=camera.stop)
    thread.start()
    assert stopping.wait(60)
    del frame
    dropped.set()
    thread.join()
    assert camera.start(2).read() is not None


def test_a_wait_is_ended_by_another_thread(camera: Any) -> None:
    camera.start(2)
    held = [camera.read() for _ in range(camera.statistics.buffers)]
    timer = threading.Timer(0.2, camera.interrupt)
    timer.start()
    assert camera.read(timeout=240) is None
    timer.join()
    assert camera.read() is None
    camera.stop()
    del held
    assert camera.start(2).read() is not None


def test_a_forked_child_gives_no_buffer_back(camera: Any) -> None:
    camera.start(2)
    frame = camera.read()
    with frame.map("cpu") as view:
        before = view.native[0].copy()
    child = os.fork()
    if child == 0:
        del frame, view
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for _ in range(4):
        camera.read()
    with frame.map("cpu") as view:
        assert (view.native[0] == before).all()


def test_a_forked_child_does_not_touch_the_stream(camera: Any) -> None:
    camera.start(2)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            camera.interrupt()
            for use in (camera.read, camera.start, camera.set_format, lambda: camera.image):
                with pytest.raises(ClosedError, match="the process that forked this one"):
                    use()
            camera.stop()
            with pytest.raises(ClosedError, match="the process that forked this one"):
                camera.start(2)
            camera.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    for _ in range(4):
        assert camera.read() is not None


def test_damaged_pictures_are_left_out(camera: Any) -> None:
    press(DAMAGE)
    frame = camera.start(2).read()
    assert camera.statistics.damaged == 1
    del frame
    assert camera.statistics.held == 0


def test_after_the_stop_a_frame_keeps_its_own_buffer_alone(camera: Any) -> None:
    gc.collect()  # what other tests left
    before = dma_bufs_open()
    camera.start(3)
    count = camera.statistics.buffers
    assert dma_bufs_open() == before + count
    frame = camera.read()
    camera.stop()
    assert dma_bufs_open() == before + 1
    with frame.map("cpu") as view:
        assert len(set(view.native[0][HEIGHT - 2].tolist())) >= 8
    del frame, view
    assert dma_bufs_open() == before
