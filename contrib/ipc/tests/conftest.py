# SPDX-License-Identifier: Apache-2.0
"""Descriptors to wrap, sockets to pass them through, and a check that none is left over."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import samebytes
import samebytes_ipc
from samebytes_ipc._pickle import offers as pickling
from samebytes_ipc._pickle.offers import Offers, offers
from samebytes_ipc._ring import calls, connection, received_frames, server
from samebytes_ipc._sockets import peers

from .both_ends import Poll, started, wait_until

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
        # The threads that answer peers close theirs a moment after the peer has its own.
        wait_until(lambda: len(_open_descriptors()) <= len(before), seconds=5)
    # There may be fewer, if garbage of an earlier test was collected meanwhile.
    after = _open_descriptors()
    assert len(after) <= len(before), (after, before)
    assert samebytes.stats().copies == 0


@pytest.fixture
def offered() -> Callable[[], int]:
    """A function that counts the pickled tensors and frames that this process still offers."""
    return lambda: len(offers)


class OwnUser:
    """The module os, as seen by a process of another user."""

    def __init__(self, user: int) -> None:
        self._user = user

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def getuid(self) -> int:
        return self._user


class Answering:
    """The thread of this process that hands out pickled objects: its users and its time limits."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    @property
    def address(self) -> Any:
        """The address of the socket on which it answers."""
        assert offers._listener is not None
        return offers._listener.getsockname()

    def has_ended(self) -> bool:
        """True if the thread has nothing left to hand out and has ended."""
        return not len(offers) and offers._listener is None

    def wait_for_keys(self, seconds: float) -> None:
        """Set how many seconds it waits for the key of a process that connects."""
        self._patch.setattr(pickling, "_KEY_SECONDS", seconds)

    def be_waited_for(self, seconds: float) -> None:
        """Set how many seconds processes that load a pickle wait for an answer."""
        self._patch.setattr(pickling, "_ANSWER_SECONDS", seconds)

    @contextmanager
    def forgetting_nothing(self) -> Iterator[None]:
        """A block in which every offer stands, however long it takes."""
        with offers._lock:
            yield

    def turns(self) -> list[socket.socket]:
        """A list that gets an entry each time that it accepts a connection, or tries to."""
        noted, accept = list[socket.socket](), Offers._accept

        def counted(asked: Offers, listener: socket.socket) -> None:
            noted.append(listener)
            accept(asked, listener)

        self._patch.setattr(Offers, "_accept", counted)
        return noted

    @contextmanager
    def unable_to_make(self, what: str) -> Iterator[None]:
        """A block in which it gets no "eventfd", "socket" or "thread" from the system."""

        def refused(*_: object) -> None:
            if what == "thread":
                raise RuntimeError("can't start new thread")
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        module, name = {
            "eventfd": (pickling, "eventfd"),
            "socket": (pickling, "_listening"),
            "thread": (threading.Thread, "start"),
        }[what]
        with self._patch.context() as patch:
            patch.setattr(module, name, refused)
            yield

    @contextmanager
    def among(self, own: int, user_of: Callable[[socket.socket], int]) -> Iterator[None]:
        """A block in which this process belongs to user `own`, and others to user_of()."""
        with self._patch.context() as patch:
            patch.setattr(pickling, "os", OwnUser(own))
            patch.setattr(pickling, "user_of", user_of)
            yield


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """The thread that hands out pickled objects."""
    return Answering(monkeypatch)


@pytest.fixture
def pickle_timeout() -> Iterator[Callable[[float], None]]:
    """set_pickle_timeout(), for one test."""
    seconds = offers.seconds
    yield samebytes_ipc.set_pickle_timeout
    samebytes_ipc.set_pickle_timeout(seconds)


@pytest.fixture
def nothing_stays_offered() -> Iterator[None]:
    """Check that the test left no offer behind, and that the thread that answers has ended."""
    yield
    assert wait_until(lambda: not len(offers) and offers._listener is None)


@pytest.fixture
def unjoined_seconds(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set how long a ring waits for processes that connected to join it."""
    return lambda seconds: monkeypatch.setattr(server, "_UNJOINED_SECONDS", seconds)


@pytest.fixture
def connecting_user(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the users to whom connecting processes and the ring's own process seem to belong."""

    def connects(user: int, own: int | None = None) -> None:
        monkeypatch.setattr(server, "user_of", lambda _: user)
        if own is not None:
            monkeypatch.setattr(server, "os", OwnUser(own))

    return connects


@pytest.fixture
def writing_user(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Set the users to whom the writing process and the reader's own process seem to belong."""

    def writes(user: int, own: int) -> None:
        monkeypatch.setattr(peers, "user_of", lambda _: user)
        monkeypatch.setattr(peers, "os", OwnUser(own))

    return writes


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """A list with the milliseconds of each wait of a reader."""
    monkeypatch.setattr(connection, "select", SimpleNamespace(
        poll=Poll, POLLIN=select.POLLIN, POLLOUT=select.POLLOUT
    ))  # fmt: skip
    Poll.asked.clear()
    return Poll.asked


@pytest.fixture
def planes_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list with an entry for each set of planes that a reader made, even for a frame to come."""
    used_by, made = received_frames._used_by, list[int]()

    def noted(*given: Any) -> Any:
        made.append(1)
        return used_by(*given)

    monkeypatch.setattr(received_frames, "_used_by", noted)
    return made


@pytest.fixture
def woken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make calls that wait for a slot look only when they are woken, not from time to time."""
    monkeypatch.setattr(calls, "_NAP", 60.0)


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


@pytest.fixture
def sealed(memfd: Callable[..., int]) -> Callable[..., int]:
    """Make sealed memfds, as a cooperating process does."""

    def make(size: int = 4096) -> int:
        fd = memfd(size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return fd

    return make


@pytest.fixture(params=[socket.SOCK_STREAM, socket.SOCK_SEQPACKET], ids=["stream", "seqpacket"])
def sockets(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection, with a time limit."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, request.param)
    with ours, theirs:
        for end in (ours, theirs):
            end.settimeout(20)
        yield ours, theirs


@pytest.fixture
def streams() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a stream, with a time limit."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.settimeout(20)
        yield ours, theirs


@pytest.fixture
def address(tmp_path: Path) -> str:
    """The path of a socket for a ring."""
    return str(tmp_path / "ring")


@pytest.fixture
def sigpipe() -> Iterator[list[int]]:
    """A list of the SIGPIPEs that came; by default, SIGPIPE ends the process."""
    came: list[int] = []
    before = signal.signal(signal.SIGPIPE, lambda number, _: came.append(number))
    yield came
    signal.signal(signal.SIGPIPE, before)


@pytest.fixture
def run() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process: run(code, *arguments). It is ended with the test in any case."""
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
