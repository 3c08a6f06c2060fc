# SPDX-License-Identifier: Apache-2.0
"""A camera's frame, as V4L2 exports it, without a copy."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from samebytes_dma import frame_from_fds

pytestmark = pytest.mark.dmabuf

# linux/videodev2.h: the requests, and the sizes of what they take.
S_FMT, REQBUFS, QUERYBUF = 0xC0D05605, 0xC0145608, 0xC0585609
QBUF, DQBUF, EXPBUF = 0xC058560F, 0xC0585611, 0xC0405610
STREAMON, STREAMOFF = 0x40045612, 0x40045613
CAPTURE, MMAP = 1, 1
NV12 = int.from_bytes(b"NV12", "little")
WIDTH, HEIGHT = 320, 180


class Captured(NamedTuple):
    """A frame: its DMA-BUF, bytes in a row, and V4L2's own mapping of the same buffer."""

    fd: int
    pitch: int
    mapping: mmap.mmap


def buffer() -> bytearray:
    """struct v4l2_buffer: index, type, ..., memory at 60, m.offset at 64, length at 72."""
    made = bytearray(88)
    struct.pack_into("<II", made, 0, 0, CAPTURE)
    struct.pack_into("<I", made, 60, MMAP)
    return made


@pytest.fixture
def captured() -> Iterator[Captured]:
    """One frame of vivid's test picture, at rest."""
    camera = os.open("/dev/video0", os.O_RDWR | os.O_CLOEXEC)
    # struct v4l2_format: type, at 8 width, height, pixelformat, field, bytesperline.
    layout = bytearray(208)
    struct.pack_into("<I", layout, 0, CAPTURE)
    struct.pack_into("<IIII", layout, 8, WIDTH, HEIGHT, NV12, 1)
    fcntl.ioctl(camera, S_FMT, layout)
    *size, pixels, _, pitch = struct.unpack_from("<IIIII", layout, 8)
    assert (size, pixels) == ([WIDTH, HEIGHT], NV12)
    fcntl.ioctl(camera, REQBUFS, bytearray(struct.pack("<5I", 1, CAPTURE, MMAP, 0, 0)))
    about = buffer()
    fcntl.ioctl(camera, QUERYBUF, about)
    (offset,), (length,) = (struct.unpack_from("<I", about, place) for place in (64, 72))
    mapping = mmap.mmap(camera, length, offset=offset)
    # struct v4l2_exportbuffer: type, index, plane, flags, fd.
    exported = bytearray(64)
    struct.pack_into("<IIIIi", exported, 0, CAPTURE, 0, 0, os.O_RDWR | os.O_CLOEXEC, -1)
    fcntl.ioctl(camera, EXPBUF, exported)
    fd = struct.unpack_from("<IIIIi", exported)[4]
    kind = struct.pack("<i", CAPTURE)
    fcntl.ioctl(camera, QBUF, buffer())
    fcntl.ioctl(camera, STREAMON, kind)
    fcntl.ioctl(camera, DQBUF, buffer())
    fcntl.ioctl(camera, STREAMOFF, kind)
    yield Captured(fd, pitch, mapping)
    mapping.close()
    os.close(fd)
    os.close(camera)


def test_a_captured_frame_is_the_cameras_own_memory(captured: Captured) -> None:
    fd, pitch, mapping = captured
    offsets = (0, pitch * HEIGHT)
    with frame_from_fds(
        fd, "NV12", WIDTH, HEIGHT, pitches=(pitch, pitch), offsets=offsets
    ) as frame:
        with frame.map("cpu", "rw") as planes:
            luma, chroma = (plane.native for plane in planes)
            assert len(set(luma.ravel().tolist())) >= 8  # vivid shows eight bars of colour
            assert luma.tobytes() == b"".join(
                mapping[row * pitch : row * pitch + WIDTH] for row in range(HEIGHT)
            )
            luma[1, 2], chroma[0, 3, 1] = 11, 12
            del luma, chroma
        assert mapping[pitch + 2] == 11
        assert mapping[offsets[1] + 7] == 12
