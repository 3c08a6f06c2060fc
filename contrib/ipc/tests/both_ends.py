# SPDX-License-Identifier: Apache-2.0
"""Both ends of a ring in one process, and writers and readers of the tests' own."""

from __future__ import annotations

import gc
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

import samebytes
from samebytes_ipc import RingReader, RingTimeoutError, RingWriter

PACKETS = socket.SOCK_SEQPACKET


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection of packets."""
    return socket.socketpair(socket.AF_UNIX, PACKETS)


def join(
    writer: RingWriter, ends: tuple[socket.socket, socket.socket] | None = None, **options: Any
) -> RingReader:
    """A reader in this process; the writer serves while it is made."""
    ours, theirs = ends or pair()
    writer.add(ours)
    writer.serve()  # who has just left is not counted any more
    before = len(writer.statistics.readers)
    done = threading.Event()

    def serve() -> None:
        while len(writer.statistics.readers) == before and not done.is_set():
            writer.serve(0.01)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        return RingReader(theirs, **options)
    finally:
        done.set()
        serving.join()


def connect(writer: RingWriter, address: str, **options: Any) -> RingReader:
    """A reader in this process that looks for the writer itself."""
    made: list[RingReader] = []
    before = len(writer.statistics.readers)
    connecting = threading.Thread(target=lambda: made.append(RingReader(address, **options)))
    connecting.start()
    writer.wait_for_readers(before + 1, timeout=20)
    connecting.join()
    return made[0]


@contextmanager
def ring(readers: int = 1, **options: Any) -> Iterator[tuple[Any, ...]]:
    """A writer of small pictures, and so many readers."""
    options = {"format": "GRAY8", "width": 64, "height": 16, "timeout": 20, **options}
    with RingWriter(**options) as writer:
        made = [join(writer, timeout=20) for _ in range(readers)]
        try:
            yield (writer, *made)
        finally:
            for reader in made:
                reader.close()


def writer_at(address: str, **options: object) -> RingWriter:
    """A writer of small pictures, which readers find by its address."""
    options = {"format": "GRAY8", "width": 64, "height": 16, "timeout": 60, "slots": 4, **options}
    return RingWriter(address, **options)  # type: ignore[arg-type]


def sent(writer: RingWriter, value: int) -> int:
    """Fill a slot with a number, and send it."""
    frame = writer.acquire()
    with frame.map("cpu", "w") as view:
        (view.planes[0] if hasattr(view, "planes") else view).native[...] = value
    frame.meta.pts = value
    return writer.send(frame)


def value_of(frame: Any) -> int:
    """The number that a picture is filled with."""
    array = frame.map("cpu").planes[0].native
    assert array.min() == array.max()
    return int(array[0, 0])


class Lent:
    """Memory of others, whose end calls a function."""

    def __init__(self, end: Any) -> None:
        context = samebytes.context("dma:memfd")
        self.frame = context.allocate_frame("GRAY8", 64, 16)
        buffer = self.frame.planes[0].native.buffer
        release = buffer.storage.release

        def both() -> None:
            end()
            release()

        buffer.storage.release = both


class Poll:
    """select.poll(), which notes for how long it is asked to wait."""

    asked: ClassVar[list[float | None]] = []
    held: ClassVar[set[threading.Thread]] = set()
    """Threads that stand still when they are about to wait, until they are not in it any more."""

    def __init__(self) -> None:
        self._real = select.poll()

    def register(self, number: int, events: int) -> None:
        self._real.register(number, events)

    def poll(self, milliseconds: float | None = None) -> object:
        self.asked.append(milliseconds)
        if threading.current_thread() in self.held:
            wait_until(lambda: threading.current_thread() not in self.held)
        return self._real.poll(milliseconds)


class Full:
    """A socket on which nothing can be sent."""

    def __init__(self, code: int) -> None:
        self.code = code

    def sendmsg(self, *_: object) -> int:
        raise OSError(self.code, os.strerror(self.code))

    send = sendmsg


def wait(reader: RingReader) -> None:
    """Have a reader find that nothing has come."""
    with pytest.raises(RingTimeoutError):
        reader.read(0)


def wait_until(true: Callable[[], object], seconds: float = 20) -> bool:
    """True if something becomes true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def served(writer: RingWriter, true: Callable[[], object], seconds: float = 20) -> bool:
    """The same while the writer serves."""

    def look() -> object:
        writer.serve()
        return true()

    return wait_until(look, seconds)


def started(code: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Run code in its own process, not a fork."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], text=True, stdout=subprocess.PIPE, **options
    )


def said(process: subprocess.Popen[str], lines: int) -> list[str]:
    """So many lines that a process printed."""
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(lines)]


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process can open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def same_descriptors() -> Iterator[None]:
    """Check that the same descriptors are open after as before, and no others.

    What earlier tests left to the collector stays meanwhile, whatever it holds open.
    """
    gc.disable()
    try:
        before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone
        yield
        assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above
    finally:
        gc.enable()


def memfds() -> int:
    """Return the number of memfds of samebytes that are open in this process."""
    numbers = os.listdir("/proc/self/fd")  # noqa: PTH208 - names alone
    links = []
    for number in numbers:
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))  # noqa: PTH115 - as above
        except FileNotFoundError:
            continue
    return sum(link.startswith("/memfd:samebytes") for link in links)


@contextmanager
def elsewhere(function: Callable[[], object]) -> Iterator[threading.Thread]:
    """Another thread, which has ended at the end of the block."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    yield thread
    thread.join(20)
    assert not thread.is_alive()


def picture(value: int) -> Any:
    """A frame in memory of its own, of "dma"."""
    made = samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16)
    with made.map("cpu", "w") as view:
        view.planes[0].native[...] = value
    return made
