# SPDX-License-Identifier: Apache-2.0
"""The part of the matrix that needs real DMA-BUFs: `python3 dev.py lab tests/matrix`."""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from typing import Any

import pytest

import samebytes
import samebytes_ipc
from samebytes import Access, Frame
from samebytes.testing import missing_device

from .proof import assert_same_bytes, write
from .sources import IMAGES, SOURCES

pytestmark = pytest.mark.dmabuf
SIZE = (64, 32)
TARGETS = ("cpu", "ffmpeg", "opencv", "dma", "vaapi", "ffmpeg:DRM", "gstreamer")


@pytest.fixture(autouse=True, scope="module")
def _contexts_end() -> Iterator[None]:
    """FFmpeg's pool keeps surfaces as long as its device is known."""
    yield
    samebytes.refresh()
    gc.collect()


@pytest.fixture(autouse=True)
def _devices() -> None:
    probe = samebytes.context("dma").allocate((4096,)).native.buffer
    if not probe.is_dma_buf:
        pytest.skip("this kernel makes no DMA-BUFs: python3 dev.py lab")
    try:
        samebytes.context("vaapi")
    except samebytes.SamebytesError:
        pytest.skip(missing_device("VAAPI"))


def _made(source: str, format_: str) -> Frame:
    """A frame in memory that is a DMA-BUF."""
    if source == "ffmpeg:DRM":
        made = samebytes.context("dma").allocate_frame(format_, *SIZE).map(source, "rw")
    elif source == "dma":
        made = samebytes.context("dma").allocate_frame(format_, *SIZE)
    else:
        item: Any = SOURCES[source].make(IMAGES[format_])
        made = item
    return made


@pytest.mark.parametrize("access", ["r", "rw"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["dma", "vaapi", "ffmpeg:VAAPI", "ffmpeg:DRM"])
def test_the_same_dma_buf(source: str, target: str, access: Access) -> None:
    item = _made(source, "NV12")
    described = item if source == "dma" else item.map("dma", "rw")
    assert all(plane.native.buffer.is_dma_buf for plane in described.planes)
    expected = write(item, 5)
    samebytes.reset_stats()
    assert_same_bytes(item, item.map(target, access), access, expected)
    assert samebytes.stats().copies == 0


def test_a_dma_buf_that_is_sent_comes_back_as_itself() -> None:
    item = _made("vaapi", "NV12").map("dma", "rw")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        samebytes_ipc.send(ours, item)
        received = samebytes_ipc.receive(theirs)
    assert isinstance(received, Frame)
    assert all(plane.native.buffer.is_dma_buf for plane in received.planes)
    expected = write(item, 5)
    assert_same_bytes(item, received, "rw", expected)
