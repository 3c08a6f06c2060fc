# SPDX-License-Identifier: Apache-2.0
"""Rings between processes: who dies, who comes back, who has somebody else's socket, and fork()."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import samebytes
from samebytes.errors import ClosedError, NativeError
from samebytes_dma import (
    EndOfStreamError,
    RingReader,
    RingRefusedError,
    RingTimeoutError,
    RingWriter,
)

from .both_ends import join, ring, sent, served, started, value_of, wait_until

forks = pytest.mark.filterwarnings(
    "ignore:os.fork:RuntimeWarning", "ignore:.*fork:DeprecationWarning"
)

READ = """
import sys, samebytes_dma
with samebytes_dma.RingReader(sys.argv[1], live=len(sys.argv) > 2) as ring:
    for frame in ring:
        view = frame.map("cpu")
        print(frame.pts, view.planes[0].native.min(), view.planes[0].native.max(), flush=True)
        del frame, view
"""
HOLD = """
import sys, time, samebytes_dma
ring = samebytes_dma.RingReader(sys.argv[1])
kept = [ring.read(60) for _ in range(2)]
print("holds", flush=True)
time.sleep(600)
"""


@pytest.fixture
def address(tmp_path: Path) -> str:
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


def said(process: subprocess.Popen[str], lines: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(lines)]


def writer_at(address: str, **options: object) -> RingWriter:
    options = {"format": "GRAY8", "width": 64, "height": 16, "timeout": 60, "slots": 4, **options}
    return RingWriter(address, **options)  # type: ignore[arg-type]


def test_three_readers_in_processes_of_their_own(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    readers = [run(READ, address) for _ in range(3)]
    with writer_at(address) as writer:
        writer.wait_for_readers(3)
        for number in range(50):
            sent(writer, number)
        writer.wait_until_read()
        assert [s.done for s in writer.statistics.readers] == [50] * 3
        processes = {s.process for s in writer.statistics.readers}
        assert processes == {reader.pid for reader in readers}
    for reader in readers:
        assert said(reader, 50) == [f"{n} {n} {n}" for n in range(50)]
        assert reader.wait(60) == 0
    assert not Path(address).exists()


def test_a_reader_that_is_killed_gives_its_slots_back(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    with writer_at(address, slots=2) as writer:
        reader = run(HOLD, address)
        writer.wait_for_readers()
        for number in range(2):
            sent(writer, number)
        assert said(reader, 1) == ["holds"]
        with pytest.raises(RingTimeoutError) as caught:
            writer.acquire(0.05)
        assert caught.value.holders == {reader.pid: 2}
        reader.kill()
        for number in range(5):
            sent(writer, number)
        (departure,) = writer.departures
        assert (departure.reason, departure.statistics.lost) == ("ended", 2)
        assert departure.statistics.process == reader.pid


KEEPS_ITS_SOCKET = """
import os, subprocess, sys, samebytes_dma
ring = samebytes_dma.RingReader(sys.argv[1])
# Somebody else has the socket from now on, and does nothing with it.
number = os.dup(ring._connection.sock.fileno())
os.set_inheritable(number, True)
child = subprocess.Popen(["sleep", "600"], pass_fds=[number], stdout=subprocess.DEVNULL)
kept = [ring.read(60) for _ in range(2)]
print(child.pid, flush=True)
import time
time.sleep(600)
"""


def test_a_reader_whose_socket_another_process_keeps(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    """Its pidfd says that it is gone; the stream does not end."""
    with writer_at(address, slots=2) as writer:
        reader = run(KEEPS_ITS_SOCKET, address)
        writer.wait_for_readers()
        for number in range(2):
            sent(writer, number)
        (child,) = map(int, said(reader, 1))
        try:
            reader.kill()
            sent(writer, 2)
            assert [d.reason for d in writer.departures] == ["ended"]
        finally:
            os.kill(child, signal.SIGKILL)


WRITE = """
import os, subprocess, sys, samebytes_dma
ring = samebytes_dma.RingWriter(sys.argv[1], format="GRAY8", width=64, height=16, slots=4)
ring.wait_for_readers()
if sys.argv[2] == "kept":
    number = os.dup(ring._server.readers[0].sock.fileno())
    os.set_inheritable(number, True)
    child = subprocess.Popen(["sleep", "600"], pass_fds=[number], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
for value in range(3):
    frame = ring.acquire()
    with frame.map("cpu", "w") as view:
        view.planes[0].native[...] = value
    frame.meta.pts = value
    ring.send(frame)
print("sent", flush=True)
import time
time.sleep(600)
"""


@pytest.mark.parametrize("socket_is", ["gone", "kept"])
def test_a_writer_that_is_killed(
    address: str, socket_is: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    """What it sent is read, and stays; then reading says that it is gone."""
    writer = run(WRITE, address, socket_is)
    with RingReader(address, timeout=60) as reader:
        child = int(said(writer, 1)[0]) if socket_is == "kept" else 0
        try:
            assert said(writer, 1) == ["sent"]
            writer.kill()
            writer.wait(60)
            frames = [reader.read() for _ in range(3)]
            with pytest.raises(EndOfStreamError, match="ended without closing it"):
                reader.read()
            assert [value_of(frame) for frame in frames] == [0, 1, 2]
            assert reader.read() is None
        finally:
            if child:
                os.kill(child, signal.SIGKILL)


def test_a_writer_that_is_started_again(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    """With slots of its own; frames of the old one stay as they are."""
    reader = run(READ, address, "live")
    for value in range(3):
        with writer_at(address) as writer:
            writer.wait_for_readers()
            sent(writer, value)
            assert said(reader, 1) == [f"{value} {value} {value}"]
    frames = []
    with writer_at(address) as writer:
        ours = RingReader
        connecting = threading.Thread(target=writer.wait_for_readers, args=(2,))
        connecting.start()
        with ours(address, live=True, timeout=60) as live:
            connecting.join()
            sent(writer, 8)
            frames.append(live.read())
            writer.close()
            with writer_at(address) as again:
                results: list[object] = []
                reading = threading.Thread(target=lambda: results.append(live.read()))
                reading.start()
                again.wait_for_readers(2)
                sent(again, 9)
                reading.join(60)
                assert [value_of(f) for f in (*frames, *results)] == [8, 9]
                assert live.statistics.writers == 2
                results.clear()


def test_a_reader_that_connects_while_the_ring_ends(address: str) -> None:
    """It does not join for nothing: it gets the frames of the next writer."""
    first = writer_at(address)
    held = join(first)  # while it holds a frame of others, closing waits
    first.send(samebytes.context("dma:memfd").allocate_frame("GRAY8", 64, 16))
    frame = held.read()
    closing = threading.Thread(target=first.close)
    results: list[int] = []

    def read() -> None:
        with RingReader(address, timeout=60) as reader:
            results.append(value_of(reader.read()))

    reading = threading.Thread(target=read)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as early:
        early.connect(address)  # it is in the queue when the ring ends
        closing.start()
        early.settimeout(20)
        assert early.recv(1) == b""
    reading.start()
    del frame
    closing.join(60)
    held.close()
    with writer_at(address) as second:
        second.wait_for_readers()
        sent(second, 4)
        reading.join(60)
    assert results == [4]


def test_a_writer_that_left_its_socket(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    writer = run(WRITE, address, "gone")
    with RingReader(address, timeout=60):
        assert said(writer, 1) == ["sent"]
        with pytest.raises(RingRefusedError, match="another process writes"):
            writer_at(address)
        writer.kill()
        writer.wait(60)
    assert Path(address).exists()
    with writer_at(address) as again:
        assert sent(again, 1) == 1
    assert not Path(address).exists()
    Path(address).write_text("a file of the user's")
    with pytest.raises(OSError, match="is not a socket"):
        writer_at(address)
    assert Path(address).read_text() == "a file of the user's"


def test_a_name_without_a_file() -> None:
    name = f"@samebytes-test-{os.getpid()}"
    with writer_at(name) as writer:
        with pytest.raises(RingRefusedError):
            writer_at(name)
        connecting = threading.Thread(target=writer.wait_for_readers)
        connecting.start()
        with RingReader(name, timeout=60) as reader:
            connecting.join()
            sent(writer, 1)
            assert value_of(reader.read()) == 1


def test_only_its_owner_may_connect(address: str) -> None:
    with writer_at(address):
        assert Path(address).stat().st_mode & 0o777 == 0o600


def test_nobody_writes_there(address: str) -> None:
    with pytest.raises(RingTimeoutError, match="nobody writes to the ring"):
        RingReader(address, timeout=0.05)


def test_a_peer_that_stops_reading(address: str, run: Callable[..., subprocess.Popen[str]]) -> None:
    """It fills its socket with nothing that others have to wait for, and is named."""
    with writer_at(address, slots=8, when_full="drop-oldest") as writer:
        stopped, reads = run(READ, address), run(READ, address)
        writer.wait_for_readers(2)
        stopped.send_signal(signal.SIGSTOP)
        try:
            for number in range(100):
                sent(writer, number)
                assert said(reads, 1) == [f"{number} {number} {number}"]
            about = {s.process: s for s in writer.statistics.readers}
            assert about[reads.pid].dropped == 0
            assert about[stopped.pid].dropped >= 100 - 8
        finally:
            stopped.send_signal(signal.SIGCONT)
    with writer_at(address, slots=2, timeout=0.2) as writer:
        stopped = run(READ, address)
        writer.wait_for_readers(timeout=60)
        stopped.send_signal(signal.SIGSTOP)
        for number in range(2):
            sent(writer, number)
        with pytest.raises(RingTimeoutError, match=f"process {stopped.pid} has 2 frames"):
            writer.acquire()
        stopped.kill()


def test_much_metadata_for_a_peer_that_does_not_read() -> None:
    """More than its socket takes: what is left waits with the writer, and arrives."""
    with ring(slots=16) as (writer, reader):
        for number in range(16):
            frame = writer.acquire()
            frame.metadata["text"] = ["x" * 4000] * 12
            frame.meta.pts = number
            writer.send(frame)
        del frame
        (about,) = writer.statistics.readers
        assert about.waiting > 0
        assert about.waiting + about.held == 16
        for number in range(16):
            got = reader.read()
            assert (got.pts, len(got.metadata["text"])) == (number, 12)
            writer.serve()


def test_readers_cannot_write_what_the_kernel_guards() -> None:
    with ring(memory="memfd") as (writer, reader):
        if writer.readers_can_write:
            pytest.skip("this kernel has no F_SEAL_FUTURE_WRITE: Linux 5.1 is needed")
        sent(writer, 7)
        frame = reader.read()
        number = frame.planes[0].handle("dma_fd")
        import mmap

        with pytest.raises(PermissionError):
            mmap.mmap(number, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        with pytest.raises(PermissionError):
            os.pwrite(number, b"x", 0)
        again = os.open(f"/proc/self/fd/{number}", os.O_RDWR)
        try:
            with pytest.raises(PermissionError):
                mmap.mmap(again, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            with pytest.raises(PermissionError):
                os.ftruncate(again, 0)
            with pytest.raises(PermissionError):
                fcntl.fcntl(again, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        finally:
            os.close(again)
        assert value_of(frame) == 7
        sent(writer, 8)  # the writer goes on
        assert value_of(reader.read()) == 8


FULL = """
import resource, samebytes_dma
from samebytes.errors import NativeError
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    samebytes_dma.RingWriter(shape=(2 << 20,), memory="memfd")
except NativeError as error:
    print(error.call, error.code)
ring = samebytes_dma.RingWriter(memory="memfd", slots=2)
import numpy, samebytes
try:
    ring.send(samebytes.tensor(numpy.zeros(2 << 20, "uint8")), copy=True)
except NativeError as error:
    print(error.call, error.code)
small = samebytes.tensor(numpy.zeros(1 << 19, "uint8"))
print(ring.send(small, copy=True), ring.statistics.accepted)
"""


def test_no_memory_for_slots(run: Callable[..., subprocess.Popen[str]]) -> None:
    """An error when slots are allocated, not a signal when they are written."""
    process = run(FULL)
    assert said(process, 3) == ["memfd_create 27", "memfd_create 27", "1 1"]
    assert process.wait(60) == 0


def test_no_descriptors_for_slots() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 3, hard))
    try:
        with pytest.raises((NativeError, OSError)):
            RingWriter(shape=(4096,), memory="memfd", slots=8)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(os.listdir("/proc/self/fd")) == used  # noqa: PTH208 - a count


@forks
def test_fork_while_the_ring_is_open(address: str) -> None:
    """The child has no part in it, and ends nothing of it; its frames give nothing back."""
    with writer_at(address, slots=2) as writer:
        connecting = threading.Thread(target=writer.wait_for_readers)
        connecting.start()
        with RingReader(address, timeout=60) as reader:
            connecting.join()
            sent(writer, 1)
            held, ours = reader.read(), writer.acquire()
            child = os.fork()
            if not child:
                try:
                    for call in (writer.acquire, reader.read, writer.serve):
                        try:
                            call()
                        except ClosedError as error:
                            os._exit(2) if "parent" not in str(error) else None
                        else:
                            os._exit(1)
                    del held, ours
                    writer.close()
                    reader.close()
                    os._exit(0)
                finally:
                    os._exit(99)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            assert Path(address).exists()
            writer.serve()
            assert writer.statistics.readers[0].held == 1
            assert value_of(held) == 1
            del held, ours
            for number in range(5):
                sent(writer, number)
                assert value_of(reader.read()) == number


@forks
def test_a_forked_child_makes_its_own_reader(address: str) -> None:
    with writer_at(address) as writer:
        child = os.fork()
        if not child:
            try:
                with RingReader(address, timeout=60) as reader:
                    os._exit(0 if value_of(reader.read()) == 6 else 1)
            finally:
                os._exit(99)
        writer.wait_for_readers()
        sent(writer, 6)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0


@forks
def test_a_child_that_lives_on_hides_no_end(address: str) -> None:
    """fork() in the writer's process: its sockets are closed in the child."""
    with RingWriter(address, format="GRAY8", width=64, height=16) as writer:
        connecting = threading.Thread(target=writer.wait_for_readers)
        connecting.start()
        with RingReader(address, timeout=60) as reader:
            connecting.join()
            ready, go = os.pipe()
            child = os.fork()
            if not child:
                os.close(go)
                os.read(ready, 1)
                os._exit(0)
            os.close(ready)
            sent(writer, 3)
            frame = reader.read()
            reader.close()
            del frame
            assert served(writer, lambda: not writer.statistics.readers)
            os.close(go)
            os.waitpid(child, 0)


def test_nothing_is_left_open(address: str) -> None:
    def once() -> None:
        with writer_at(address) as writer:
            reader = join(writer)
            for number in range(3):
                sent(writer, number)
                value_of(reader.read())
            reader.close()

    once()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    for _ in range(20):
        once()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count
    assert samebytes.stats().copies == 0


def test_a_reader_that_waits_when_the_ring_is_closed_elsewhere() -> None:
    with ring() as (_, reader):
        results: list[object] = []

        def read() -> None:
            try:
                results.append(reader.read(60))
            except ClosedError as error:
                results.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(0.05)
        reader.close()
        thread.join(20)
        assert not thread.is_alive()
        assert wait_until(lambda: len(results) == 1)


def test_a_stream_socket_is_refused_by_add() -> None:
    from samebytes.errors import UnsupportedObjectError

    ours, theirs = socket.socketpair()
    address = f"@samebytes-{os.getpid()}-add"
    refused = pytest.raises(UnsupportedObjectError, match="keeps packets apart")
    with ours, theirs, writer_at(address) as writer, refused:
        writer.add(ours)
