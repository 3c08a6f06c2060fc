# SPDX-License-Identifier: Apache-2.0
"""The memory of samebytes-v4l2's frames: the driver's buffers, or memory that the camera fills."""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import LayoutError, UnsupportedObjectError
from samebytes_dma import DMABuffer, DMAContext, KeptMapping

from .vivid import HEIGHT, MARK, WIDTH, mark

pytest.importorskip("samebytes_v4l2")

pytestmark = pytest.mark.dmabuf

QUERYBUF = 0xC0585609  # linux/videodev2.h

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


def array_of(native: Any) -> Any:
    """The array itself, or that of an openvino.Tensor, on the same bytes."""
    return native if isinstance(native, np.ndarray) else native.data


def address(native: Any) -> int:
    """The address of an array or tensor."""
    found: int = array_of(native).ctypes.data
    return found


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
