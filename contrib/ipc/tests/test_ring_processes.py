# SPDX-License-Identifier: Apache-2.0
"""Rings between processes: who dies, who comes back, and how they find each other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import samebytes
from samebytes.errors import ClosedError
from samebytes_ipc import EndOfStreamError, RingReader, RingRefusedError, RingTimeoutError

from .both_ends import join, ring, said, sent, value_of, wait_until, writer_at

READ = """
import sys, samebytes_ipc
with samebytes_ipc.RingReader(sys.argv[1], live=len(sys.argv) > 2) as ring:
    for frame in ring:
        view = frame.map("cpu")
        print(frame.pts, view.planes[0].native.min(), view.planes[0].native.max(), flush=True)
        del frame, view
"""
HOLD = """
import sys, time, samebytes_ipc
ring = samebytes_ipc.RingReader(sys.argv[1])
kept = [ring.read(60) for _ in range(2)]
print("holds", flush=True)
time.sleep(600)
"""


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


KEEP = """
import signal, sys, samebytes_ipc
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
with samebytes_ipc.RingReader(sys.argv[1]) as ring:
    kept = [ring.read(60) for _ in range(2)]
    print("has", flush=True)
    assert ring.read(60) is None
    kept.clear()
print("lives", flush=True)
"""


def test_a_reader_with_the_systems_sigpipe_keeps_frames_beyond_the_end(
    address: str, run: Callable[..., subprocess.Popen[str]]
) -> None:
    """As programs have it whose output ends with that of a pipe."""
    with writer_at(address) as writer:
        reader = run(KEEP, address)
        writer.wait_for_readers()
        for number in range(2):
            sent(writer, number)
        assert said(reader, 1) == ["has"]
    assert said(reader, 1) == ["lives"]
    assert reader.wait(60) == 0


WRITE = """
import os, subprocess, sys, samebytes_ipc
ring = samebytes_ipc.RingWriter(sys.argv[1], format="GRAY8", width=64, height=16, slots=4)
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
    """Frames that the writer sent are read, and stay; then reading says that it is gone."""
    writer = run(WRITE, address, socket_is)
    with RingReader(address, timeout=60) as reader:
        child = int(said(writer, 1)[0]) if socket_is == "kept" else 0
        try:
            assert said(writer, 1) == ["sent"]
            writer.kill()
            writer.wait(60)
            frames = [reader.read() for _ in range(3)]
            with pytest.raises(EndOfStreamError, match="without closing it, or before this reader"):
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


@pytest.mark.together
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
        with pytest.raises(RingTimeoutError, match=f"process {stopped.pid} has 2 of the slots"):
            writer.acquire()
        stopped.kill()


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
