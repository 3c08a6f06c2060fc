# SPDX-License-Identifier: Apache-2.0
"""samebytes-v4l2 on vivid: its frames are the driver's buffers, wherever they are mapped to."""

from __future__ import annotations

import fcntl
import gc
import mmap
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes.elements as el
from samebytes import ImageFormat
from samebytes.errors import (
    BusyError,
    ClosedError,
    ElementError,
    LayoutError,
    PoolTimeoutError,
    UnsupportedObjectError,
)
from samebytes_dma import DMABuffer, DMAContext, KeptMapping

v4l2 = pytest.importorskip("samebytes_v4l2")

pytestmark = pytest.mark.dmabuf

CAMERA, OUTPUT = "/dev/video0", "/dev/video1"
WIDTH, HEIGHT = 320, 180
# linux/videodev2.h, and drivers/media/test-drivers/vivid/vivid-ctrls.c for the control.
QUERYBUF, S_CTRL = 0xC0585609, 0xC008561C
G_FMT, S_FMT, S_INPUT = 0xC0D05604, 0xC0D05605, 0xC0045627
DISCONNECT = (0x00F00000 | 0xF000) + 65
DAMAGE = DISCONNECT + 1
ALTERNATE = 7

RECEIVER = """
import socket, sys
import samebytes_ipc
with socket.socket(fileno=int(sys.argv[1])) as sock, samebytes_ipc.receive(sock) as frame:
    with frame.map("cpu", "rw") as view:
        luma = view.native[0]
        assert luma[1, 2] == 11
        luma[1, 3] = 13
        del luma
"""


@pytest.fixture
def camera() -> Iterator[Any]:
    """vivid's camera, which does not stream yet."""
    with v4l2.Camera(CAMERA) as made:
        made.set_format("NV12", WIDTH, HEIGHT, rate=30)
        yield made


def memory(allocator: str) -> DMAContext:
    """The context whose new memory comes from that allocator."""
    found = samebytes.context(f"dma:{allocator}")
    assert isinstance(found, DMAContext)
    return found


def drivers_own_mappings(camera: Any, count: int) -> list[mmap.mmap]:
    """Each buffer, as mmap() of the camera itself shows it."""
    found = []
    fd = camera._device.fd.fileno()
    for index in range(count):
        # struct v4l2_buffer: index, type, ..., memory at 60, m.offset at 64, length at 72.
        about = bytearray(88)
        struct.pack_into("<II", about, 0, index, 1)
        struct.pack_into("<I", about, 60, 1)
        fcntl.ioctl(fd, QUERYBUF, about)
        (offset,), (length,) = (struct.unpack_from("<I", about, place) for place in (64, 72))
        found.append(mmap.mmap(fd, length, offset=offset))
    return found


def mark(frame: Any) -> None:
    """Write something into the picture that no test picture shows."""
    with frame.map("cpu", "rw") as view:
        luma = view.native[0]
        luma[1, 2:6] = (11, 222, 33, 244)
        del luma


def press(control: int) -> None:
    """Have vivid play an accident, by a control; who is unplugged is back when all have closed."""
    other = os.open(CAMERA, os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(other, S_CTRL, struct.pack("<Ii", control, 1))
    os.close(other)


def dma_bufs_open() -> int:
    """The number of descriptors of DMA-BUFs that this process has."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            links.append(str(entry.readlink()))
    return sum(link.startswith("/dmabuf:") for link in links)


MARK = bytes((11, 222, 33, 244))


def array_of(native: Any) -> Any:
    """The array itself, or that of an openvino.Tensor, on the same bytes."""
    return native if isinstance(native, np.ndarray) else native.data


def address(native: Any) -> int:
    """The address of an array or tensor."""
    found: int = array_of(native).ctypes.data
    return found


def test_what_it_says_of_itself(camera: Any) -> None:
    assert camera.driver == "vivid"
    assert "vivid" in repr(camera)
    assert CAMERA in [one.path for one in v4l2.cameras()]
    assert OUTPUT not in [one.path for one in v4l2.cameras()]
    (nv12,) = [one for one in camera.formats() if one.fourcc == "NV12"]
    assert (nv12.format, nv12.compressed, nv12.step) == ("NV12", False, None)
    assert (WIDTH, HEIGHT) in nv12.sizes
    assert 30 in camera.rates("NV12", WIDTH, HEIGHT)
    assert str(camera.image) == "NV12 320x180"
    assert camera.rate == Fraction(30)
    assert len(camera.pitches) == 2


def test_a_frame_is_a_buffer_of_the_drivers(camera: Any) -> None:
    camera.start(2)
    pitch = camera.pitches[0]
    mappings = drivers_own_mappings(camera, camera.statistics.buffers)
    frame = camera.read()
    assert all(plane.native.buffer.is_dma_buf for plane in frame.planes)
    mark(frame)
    (same,) = [m for m in mappings if m[pitch + 2 : pitch + 6] == MARK]
    same[pitch + 2] = 12
    with frame.map("cpu") as view:
        assert view.native[0][1, 2] == 12
        # vivid shows eight bars of colour.
        assert len(set(view.native[0][HEIGHT - 2].tolist())) >= 8
    for mapping in mappings:
        mapping.close()


@pytest.mark.parametrize("target", ["opencv", "openvino"])
def test_other_frameworks_read_and_write_it_where_it_lies(camera: Any, target: str) -> None:
    pytest.importorskip({"opencv": "cv2", "openvino": "openvino"}[target])
    frame = camera.start(2).read()
    samebytes.reset_stats()
    with frame.map("cpu", "rw") as here, frame.map(target, "rw") as there:
        assert [address(n) for n in there.native] == [address(n) for n in here.native]
        written = array_of(there.native[0])
        written.squeeze()[1, 2] = 11  # OpenVINO's has an axis for batches
        assert here.native[0][1, 2] == 11
        del written
    assert samebytes.stats().copies == 0


def test_a_device_imports_each_buffer_once(camera: Any) -> None:
    """VA-API remembers the surfaces of buffers that come round again, not one for each frame."""
    pytest.importorskip("samebytes_vaapi")
    context: Any = samebytes.context("vaapi")
    before = len(context.imports)
    camera.start(2)
    for _ in range(4 * camera.statistics.buffers):
        with camera.read() as frame, frame.map(context):
            pass
    del frame
    assert len(context.imports) == before + camera.statistics.buffers
    camera.stop()
    assert len(context.imports) == before


def test_another_process_reads_and_writes_it_where_it_lies(camera: Any) -> None:
    ipc = pytest.importorskip("samebytes_ipc")
    frame = camera.start(2).read()
    mark(frame)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, "-c", RECEIVER, str(theirs.fileno())]
        child = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        ipc.send(ours, frame)
        assert child.wait(240) == 0
    with frame.map("cpu") as view:
        assert view.native[0][1, 3] == 13


def test_times_and_numbers(camera: Any) -> None:
    camera.start(4)
    first, second = camera.read(), camera.read()
    assert first.meta.time_base == Fraction(1, 1_000_000)
    # By the clock of time.monotonic(); vivid's times are up to a picture's ahead of it.
    assert first.pts < second.pts < (time.monotonic() + 1) * 1_000_000
    assert first.metadata["duration"] == Fraction(1, 30)
    assert first.metadata["v4l2"]["clock"] == "monotonic"
    assert first.metadata["color_matrix"] == "smpte170m"
    step = second.metadata["v4l2"]["sequence"] - first.metadata["v4l2"]["sequence"]
    assert step == 1 + second.metadata["v4l2"]["dropped"]


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


def test_a_camera_starts_again_with_another_format(camera: Any) -> None:
    held = camera.start(2).read()
    with pytest.raises(BusyError, match="streams: stop"):
        camera.set_format("YUY2")
    camera.stop()
    assert str(camera.set_format("YUY2", 640, 360)) == "YUY2 640x360"
    assert camera.start(2).read().format.name == "YUY2"
    assert held.format.name == "NV12"


@pytest.mark.parametrize("own", [False, True])
def test_a_camera_fills_dma_bufs_of_others(camera: Any, own: bool) -> None:
    context = memory("heap")
    if own:
        nbytes = camera.pitches[0] * HEIGHT * 3 // 2
        mine = [
            DMABuffer(context.allocate_fd(nbytes), kept=KeptMapping(writable=True))
            for _ in range(3)
        ]
        camera.start(mine, io="dmabuf")
    else:
        camera.start(3, io="dmabuf", memory=context)
    frame = camera.read()
    buffer = frame.planes[0].native.buffer
    assert buffer.exporter == "system"
    mark(frame)
    if own:
        files = [os.fstat(one.fileno()).st_ino for one in mine]
        place = files.index(os.fstat(buffer.fileno()).st_ino)
        with mmap.mmap(mine[place].fileno(), mine[place].size) as mapping:
            start = camera.pitches[0] + 2
            assert mapping[start : start + 4] == MARK
    del frame
    for _ in range(4):
        picture = camera.read()
    with picture.map("cpu") as view:
        assert len(set(view.native[0][HEIGHT - 2].tolist())) >= 8


def test_buffers_of_others_that_do_not_do(camera: Any) -> None:
    small = [DMABuffer(memory("heap").allocate_fd(4096)) for _ in range(2)]
    with pytest.raises(LayoutError, match="is too small"):
        camera.start(small, io="dmabuf")
    one = small[0]
    same = DMABuffer(samebytes.Fd(os.dup(one.fileno())))
    for twice in ([one, one], [one, same]):
        with pytest.raises(LayoutError, match="among the buffers twice"):
            camera.start(twice, io="dmabuf")
    stand_in = [DMABuffer(memory("memfd").allocate_fd(1 << 20)) for _ in range(2)]
    with pytest.raises(UnsupportedObjectError, match="a memfd is not a DMA-BUF"):
        camera.start(stand_in, io="dmabuf")
    assert camera.start(2).read() is not None  # what failed left nothing behind


def test_a_camera_fills_pages_of_this_process(camera: Any) -> None:
    camera.start(3, io="userptr")
    frame = camera.read()
    assert frame.planes[0].kind == "memfd"
    mark(frame)
    with mmap.mmap(frame.planes[0].handle("dma_fd"), WIDTH * HEIGHT) as mapping:
        start = camera.pitches[0] + 2
        assert mapping[start : start + 4] == MARK
    del frame
    for _ in range(4):
        picture = camera.read()
    with picture.map("cpu") as view:
        assert len(set(view.native[0][HEIGHT - 2].tolist())) >= 8


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


def test_a_camera_that_another_has(camera: Any) -> None:
    camera.start(2)
    with v4l2.Camera(CAMERA) as other:
        with pytest.raises(BusyError, match="fuser -v /dev/video0"):
            other.start(2)
        with pytest.raises(BusyError, match="fuser -v /dev/video0"):
            other.set_format("YUY2", 640, 360)
    assert camera.read() is not None


def test_an_output_is_refused() -> None:
    with pytest.raises(UnsupportedObjectError, match=r"shows pictures.*other nodes: /dev/video0"):
        v4l2.Camera(OUTPUT)


def test_what_a_camera_does_not_have(camera: Any) -> None:
    with pytest.raises(LayoutError, match="has no NV12 321x180; the nearest is NV12 320x180"):
        camera.set_format("NV12", 321, 180)
    assert str(camera.image) == "NV12 320x180"
    with pytest.raises(UnsupportedObjectError, match="has no GBRP; it has "):
        camera.set_format("GBRP")
    assert str(camera.set_format("RGB565")) == "RGB565 320x180"
    with pytest.raises(UnsupportedObjectError, match="has no RGBP; it has "):
        camera.set_format("RGBP")  # planar, which is not V4L2's code of that name
    with pytest.raises(LookupError, match="io of a camera"):
        camera.start(2, io="read")
    with pytest.raises(LayoutError, match="1 to 32 buffers, not 33"):
        camera.start(33)


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


@pytest.fixture
def single_fields() -> Iterator[None]:
    """vivid's television, whose buffers have one field each."""
    with v4l2.Camera(CAMERA) as camera:
        fd = camera._device.fd.fileno()
        fcntl.ioctl(fd, S_INPUT, struct.pack("<i", 1))
        # struct v4l2_format: type at 0, then width, height, pixelformat and field from 8 on.
        about = bytearray(208)
        struct.pack_into("<I", about, 0, 1)
        fcntl.ioctl(fd, G_FMT, about)
        struct.pack_into("<I", about, 20, ALTERNATE)
        fcntl.ioctl(fd, S_FMT, about)
    yield
    with v4l2.Camera(CAMERA) as camera:
        fcntl.ioctl(camera._device.fd.fileno(), S_INPUT, struct.pack("<i", 0))


@pytest.mark.usefixtures("single_fields")
def test_the_element_takes_whole_pictures_where_single_fields_were_set() -> None:
    with v4l2.Camera(CAMERA) as camera, pytest.raises(LayoutError, match="one field"):
        camera.image  # noqa: B018 - a property that raises
    source = el.create("v4l2.source", CAMERA, width=720, height=480, frames=2)
    with el.Pipeline(source).start() as out:
        assert [frame.image.height for frame in out] == [480, 480]


def component(frame: Any, letter: str, x: int, y: int) -> int:
    """A component of a pixel, in eight bits; chroma is that of the sample that it shares."""
    format_: ImageFormat = frame.format
    index = next(i for i, names in enumerate(format_.plane_names) if letter in names)
    names, plane = format_.plane_names[index], format_.planes[index]
    row = np.ascontiguousarray(frame.map("cpu").native[index][y >> plane.y_shift]).ravel()
    pixels = 2 if len(names) == 2 * plane.channels else 1  # packed 4:2:2 names two of them
    group = (x // pixels) >> plane.x_shift
    value: int = int(row[group * len(names) + names.index(letter)]) >> format_.bit_shift
    return value >> (format_.bit_depth - 8)


def test_components_are_where_the_format_says(camera: Any) -> None:
    """vivid's second bar is yellow: the table of codes names each format as vivid fills it."""
    tried = []
    names = dict.fromkeys(one.format for one in camera.formats() if one.format is not None)
    for name in names:
        camera.set_format(name, 640, 360)
        if any(
            plane.dtype == "uint16" and len(plane_names) > 2
            for plane, plane_names in zip(
                camera.image.format.planes, camera.image.format.plane_names, strict=True
            )
        ):
            continue  # a pixel in a word
        frame = camera.start(2).read()
        here = {letter: component(frame, letter, 120, 350)
                for letter in "".join(frame.format.plane_names) if letter in "rgbyuv"}  # fmt: skip
        if frame.format.color_model == "rgb":
            assert min(here["r"], here["g"]) > 128 > 64 > here["b"], (name, here)
        elif frame.format.color_model == "yuv":
            assert here["y"] > 100 > here["u"], (name, here)
            assert 120 < here["v"] < 170, (name, here)
        else:
            assert here["y"] > 100, (name, here)
        tried.append(name)
        del frame
        camera.stop()
    assert {"NV12", "YUY2", "RGB", "BGR", "BGRX", "GRAY8", "I420"} <= set(tried)
