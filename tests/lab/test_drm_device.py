# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs go into a DRM device and come back."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import samebytes
from samebytes_dma import from_fd

pytestmark = pytest.mark.dmabuf

# drm/drm.h: struct drm_prime_handle is handle, flags, fd; struct drm_gem_close handle, pad.
PRIME_HANDLE_TO_FD, PRIME_FD_TO_HANDLE, GEM_CLOSE = 0xC00C642D, 0xC00C642E, 0x40086409


@pytest.fixture
def drm() -> Iterator[int]:
    """vgem's render node."""
    (node,) = Path("/sys/devices/platform/vgem/drm").glob("renderD*")
    fd = os.open(f"/dev/dri/{node.name}", os.O_RDWR | os.O_CLOEXEC)
    yield fd
    os.close(fd)


def test_memory_goes_round_by_a_drm_device(drm: int) -> None:
    with samebytes.context("dma:heap").allocate((16, 256)) as tensor:
        prime = bytearray(struct.pack("<IIi", 0, 0, tensor.native.buffer.fileno()))
        fcntl.ioctl(drm, PRIME_FD_TO_HANDLE, prime)
        handle, _, _ = struct.unpack("<IIi", prime)
        prime = bytearray(struct.pack("<IIi", handle, os.O_RDWR | os.O_CLOEXEC, -1))
        fcntl.ioctl(drm, PRIME_HANDLE_TO_FD, prime)
        *_, fd = struct.unpack("<IIi", prime)
        try:
            with from_fd(fd, (16, 256)) as back:
                assert os.fstat(fd).st_ino == os.fstat(tensor.native.buffer.fileno()).st_ino
                with tensor.map("cpu", "w") as written:
                    written.native[:] = 7
                with back.map("cpu") as read:
                    assert (read.native == 7).all()
        finally:
            os.close(fd)
            fcntl.ioctl(drm, GEM_CLOSE, struct.pack("<II", handle, 0))
