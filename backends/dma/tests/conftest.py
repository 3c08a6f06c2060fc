# SPDX-License-Identifier: Apache-2.0
"""Descriptors to wrap, and a check that none is left over."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import samebytes

DMA_BUF_MAKERS = (Path("/dev/udmabuf"), Path("/dev/dma_heap/system"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of real DMA-BUFs unless the kernel can make some."""
    if any(device.exists() for device in DMA_BUF_MAKERS):
        return
    skip = pytest.mark.skip(reason="this kernel makes no DMA-BUFs: python3 dev.py lab")
    for item in items:
        if item.get_closest_marker("dmabuf") is not None:
            item.add_marker(skip)


def _open_descriptors() -> list[str]:
    """The open memfds and DMA-BUFs; drivers that routing asks open their own files."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            links.append(str(entry.readlink()))
    return sorted(link for link in links if link.startswith(("/memfd:", "/dmabuf:")))


@pytest.fixture(autouse=True)
def no_descriptor_left_over() -> Iterator[None]:
    """Check that each test closed the descriptors that it opened, and samebytes its duplicates."""
    before = _open_descriptors()
    samebytes.reset_stats()
    yield
    if len(_open_descriptors()) > len(before):
        gc.collect()  # a traceback that pytest keeps, or a cycle of the test's own
    # There may be fewer, if garbage of an earlier test was collected meanwhile.
    after = _open_descriptors()
    assert len(after) <= len(before), (after, before)
    assert samebytes.stats().copies == 0


@pytest.fixture
def memfd() -> Iterator[Callable[..., int]]:
    """Make memfds of a size in bytes, which the test owns; they are closed after it."""
    made: list[int] = []

    def make(size: int = 4096) -> int:
        fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        made.append(fd)
        os.ftruncate(fd, size)
        return fd

    yield make
    for fd in made:
        os.close(fd)
