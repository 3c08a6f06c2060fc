# SPDX-License-Identifier: Apache-2.0
"""Streams of a driver whose answers are made up: vivid fills each buffer, and damages few."""

from __future__ import annotations

import errno
import os
import select
import weakref
from collections.abc import Callable, Iterator
from ctypes import Structure, c_int
from typing import Any

import pytest

import samebytes
from samebytes import Fd
from samebytes.errors import ClosedError, LayoutError
from samebytes_dma import DMABuffer, DMAContext
from samebytes_v4l2 import Camera, CameraTimeoutError, _abi
from samebytes_v4l2._buffers import Buffer, imported, pointed
from samebytes_v4l2._device import Device
from samebytes_v4l2._elements import SourceElement
from samebytes_v4l2._formats import Layout
from samebytes_v4l2._stream import CameraStatistics, Stream, timeout_error

NBYTES = 64 * 32 * 3 // 2
WHOLE, UNCOUNTED, SHORT = (0, NBYTES), (0, 0), (0, NBYTES - 1)
MARKED = (_abi.V4L2_BUF_FLAG_ERROR, NBYTES)
LAYOUT = Layout.of(
    _abi.v4l2_pix_format(
        width=64, height=32, pixelformat=_abi.v4l2_fourcc("NV12"), bytesperline=64,
        sizeimage=NBYTES + 64, field=_abi.V4L2_FIELD_NONE,
    )
)  # fmt: skip


class Driver:
    """Fills a buffer that it has at every DQBUF, with what `picture` says: flags and bytes."""

    def __init__(self) -> None:
        self.picture: Callable[[int], tuple[int, int]] = lambda _: WHOLE
        self.given = 0
        self.most = 1_000_000
        self.calls: list[str] = []
        self._queue: list[int] = []
        self._names = {getattr(_abi, name): name for name in dir(_abi) if "VIDIOC_" in name}

    def ioctl(self, fd: int, request: int, argument: Structure | c_int) -> None:
        """Answer a call."""
        self.calls.append(self._names[request])
        if isinstance(argument, _abi.v4l2_buffer):
            if request == _abi.VIDIOC_QBUF:
                self._queue.append(argument.index)
                return
            if not self._queue:
                raise BlockingIOError
            if self.given == self.most:
                raise OSError(errno.EIO, "nobody ends this")
            argument.index = self._queue.pop(0)
            argument.flags, argument.bytesused = self.picture(self.given)
            argument.sequence = self.given
            self.given += 1


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The driver that answers in this test."""
    made = Driver()
    monkeypatch.setattr(_abi, "ioctl", made.ioctl)
    return made


@pytest.fixture
def device(driver: Driver) -> Iterator[Device]:  # noqa: ARG001 - answers its calls
    """A device of that driver, always ready to be read."""
    made = object.__new__(Device)
    made.path, made.driver, made._process = "/dev/video0", "made-up", os.getpid()
    made.fd = Fd(os.eventfd(1))
    yield made
    made.fd.close()


@pytest.fixture
def buffers(device: Device) -> Iterator[list[Buffer]]:
    """Three buffers of it."""
    memory = samebytes.context("dma:memfd")
    assert isinstance(memory, DMAContext)
    made = pointed(device, LAYOUT, memory, 3)
    yield made
    made.clear()  # pytest keeps the list for longer


@pytest.fixture
def stream(device: Device, buffers: list[Buffer]) -> Iterator[Stream]:
    """A stream over them."""
    made = Stream(device, buffers, LAYOUT, None)
    yield made
    made.stop()
    made._wakes.close()


def test_only_damaged_pictures_end_in_a_time_out(driver: Driver, stream: Stream) -> None:
    driver.picture, driver.most = lambda _: MARKED, 10
    with pytest.raises(CameraTimeoutError, match=r"in 0 s; damaged pictures .* not given: 1$"):
        stream.read(0)
    with pytest.raises(CameraTimeoutError, match=r"not given: 2$"):
        stream.read(0)
    assert stream.statistics == CameraStatistics(0, 0, 2, 3, 0)


def test_a_read_among_damaged_pictures_can_be_interrupted(driver: Driver, stream: Stream) -> None:
    def picture(number: int) -> tuple[int, int]:
        if number == 3:
            stream.interrupt()
        return MARKED

    driver.picture, driver.most = picture, 10
    assert stream.read(240) is None
    assert stream.statistics.damaged == 4


def test_a_whole_picture_comes_after_damaged_ones(driver: Driver, stream: Stream) -> None:
    driver.picture = lambda number: WHOLE if number == 2 else MARKED
    frame = stream.read(240)
    assert frame is not None
    assert frame.metadata["v4l2"]["sequence"] == 2
    assert stream.statistics == CameraStatistics(1, 0, 2, 3, 1)


@pytest.mark.parametrize(("said", "damaged"), [(WHOLE, 0), (UNCOUNTED, 0), (SHORT, 1), (MARKED, 1)])
def test_pictures_that_do_not_fill_the_buffer(
    driver: Driver, stream: Stream, said: tuple[int, int], damaged: int
) -> None:
    driver.picture = lambda number: WHOLE if number else said
    assert stream.read(240) is not None
    assert stream.statistics.damaged == damaged


def test_after_the_stop_a_frame_keeps_its_own_buffer_alone(
    buffers: list[Buffer], stream: Stream
) -> None:
    living = [weakref.ref(buffer.dma.storage) for buffer in buffers]
    buffers.clear()
    frame = stream.read(240)
    stream.stop()
    assert [ref() is not None for ref in living] == [True, False, False]
    assert stream.statistics == CameraStatistics(1, 0, 0, 3, 1)
    with pytest.raises(ClosedError, match="was stopped"):
        stream.read(0)
    del frame
    assert living[0]() is None


def test_a_buffer_is_queued_when_no_device_works_on_it(
    driver: Driver, buffers: list[Buffer], stream: Stream
) -> None:
    for buffer in buffers:
        buffer.dma.storage.wait = lambda: driver.calls.append("wait")
    first, second = stream.read(240), stream.read(240)
    driver.calls.clear()
    del first
    assert driver.calls == ["wait", "VIDIOC_QBUF"]
    stream.stop()
    driver.calls.clear()
    del second
    assert driver.calls == []  # it is the camera's no more


def test_an_interruption_in_a_forked_child_is_not_the_parents(stream: Stream) -> None:
    child = os.fork()
    if child == 0:
        stream.interrupt()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    waiting = select.poll()
    waiting.register(stream._wakes.fileno(), select.POLLIN)
    assert waiting.poll(0) == []
    assert stream.read(240) is not None


def test_a_buffer_that_is_given_twice(device: Device) -> None:
    memory = samebytes.context("dma:memfd")
    assert isinstance(memory, DMAContext)
    one = DMABuffer(memory.allocate_fd(NBYTES))
    same = DMABuffer(Fd(os.dup(one.fileno())))
    other = DMABuffer(memory.allocate_fd(NBYTES))
    for given in ([one, other, one], [one, other, same]):
        with pytest.raises(LayoutError, match="among the buffers twice"):
            imported(device, LAYOUT, given, 3)


def test_a_time_out_says_how_many_are_held_and_damaged() -> None:
    said = str(timeout_error("/dev/video0", 1.5, CameraStatistics(7, 0, 2, 4, 3)))
    assert said == (
        "the camera at /dev/video0 gave no frame in 1.5 s; 3 of its 4 buffers are held, and "
        "drivers may need several to go on; damaged pictures since its start, which are not "
        "given: 2"
    )
    plain = str(timeout_error("/dev/video0", 1.5, CameraStatistics(7, 0, 0, 4, 0)))
    assert plain.endswith("in 1.5 s")


def test_the_element_says_it_too(driver: Driver, device: Device, stream: Stream) -> None:
    driver.picture = lambda number: MARKED if number else WHOLE
    held: Any = stream.read(240)
    camera = object.__new__(Camera)
    camera.path, camera._device, camera._stream = device.path, device, stream
    source = SourceElement(device.path, timeout=0.005)
    source._camera = camera
    with pytest.raises(CameraTimeoutError, match=r"1 of its 3 buffers are held.*damaged pictures"):
        source.read()
    del held
