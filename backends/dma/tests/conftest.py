# SPDX-License-Identifier: Apache-2.0
"""Descriptors to wrap, and a check after every test that none is left over."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import samebytes


def _open_descriptors() -> int:
    """How many memfds and DMA-BUFs are open; drivers that routing asks open files of their own."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing has itself been a descriptor
            links.append(str(entry.readlink()))
    return sum(link.startswith(("/memfd:", "/dmabuf:")) for link in links)


@pytest.fixture(autouse=True)
def no_descriptor_left_over() -> Iterator[None]:
    """Every test closes what it opened, and samebytes what it duplicated."""
    gc.collect()
    before = _open_descriptors()
    samebytes.reset_stats()
    yield
    if _open_descriptors() != before:
        gc.collect()  # a traceback that pytest keeps, or a cycle of the test's own
    assert _open_descriptors() == before
    assert samebytes.stats().copies == 0


@pytest.fixture
def memfd() -> Iterator[Callable[..., int]]:
    """Makes memfds of a size in bytes, which the test owns; they are closed after it."""
    made: list[int] = []

    def make(size: int = 4096) -> int:
        fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        made.append(fd)
        os.ftruncate(fd, size)
        return fd

    yield make
    for fd in made:
        os.close(fd)
