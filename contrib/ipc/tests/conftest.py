# SPDX-License-Identifier: Apache-2.0
"""Descriptors to wrap, sockets to pass them through, and a check that none is left over."""

from __future__ import annotations

import fcntl
import gc
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import samebytes
from samebytes_ipc._pickle.offers import offers

from .both_ends import started

DMA_BUF_MAKERS = (Path("/dev/udmabuf"), Path("/dev/dma_heap/system"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of real DMA-BUFs run where the kernel makes some."""
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
    """Every test closes what it opened, and samebytes what it duplicated."""
    before = _open_descriptors()
    samebytes.reset_stats()
    yield
    if len(_open_descriptors()) > len(before):
        gc.collect()  # a traceback that pytest keeps, or a cycle of the test's own
    # Fewer, if something that an earlier test left to the collector is gone by now.
    after = _open_descriptors()
    assert len(after) <= len(before), (after, before)
    assert samebytes.stats().copies == 0


@pytest.fixture
def offered() -> Callable[[], int]:
    """How many pickled tensors and frames this process still offers to whoever unpickles them."""
    return lambda: len(offers)


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


@pytest.fixture
def sealed(memfd: Callable[..., int]) -> Callable[..., int]:
    """Makes memfds as a friend does."""

    def make(size: int = 4096) -> int:
        fd = memfd(size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return fd

    return make


@pytest.fixture(params=[socket.SOCK_STREAM, socket.SOCK_SEQPACKET], ids=["stream", "seqpacket"])
def sockets(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection, which do not wait forever."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, request.param)
    with ours, theirs:
        for end in (ours, theirs):
            end.settimeout(20)
        yield ours, theirs


@pytest.fixture
def streams() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The same, of a stream."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.settimeout(20)
        yield ours, theirs


@pytest.fixture
def address(tmp_path: Path) -> str:
    """A place where a ring can be."""
    return str(tmp_path / "ring")


@pytest.fixture
def run() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """run(code, *arguments): ended with the test, whatever comes."""
    running: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
        running.append(started(code, *arguments, **options))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()
