# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and a task that is cancelled, end every wait of an element for a peer, at once."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import MissingDependencyError, UnknownNameError

LONG = 20.0
"""Seconds until an element gives up by itself, with another error than Ctrl-C's."""


@contextmanager
def silent_peer() -> Iterator[int]:
    """The port of one who accepts connections, and neither speaks nor reads."""
    server = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for connection in held:
            connection.close()


@contextmanager
def deaf_peer() -> Iterator[int]:
    """The port of one who answers no connection: those before it fill what the kernel queues."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
        for one in waiting:
            one.close()


PEERS: dict[str, Callable[[], Any]] = {"silent": silent_peer, "deaf": deaf_peer}


def frames() -> Iterator[sb.Frame]:
    """Noise without an end, which fills every queue."""
    noise = os.urandom(320 * 240)
    number = 0
    while True:
        frame = sb.context("cpu").allocate_frame("I420", 320, 240)
        for plane in frame.planes:
            plane.native.reshape(-1)[:] = memoryview(noise)[: plane.native.size]
        frame.meta.pts = number
        yield frame
        number += 1


WAITS: dict[str, Callable[[int], list[Any]]] = {
    "ffmpeg.source tcp": lambda port: [
        el.create("ffmpeg.source", f"tcp://127.0.0.1:{port}", timeout=LONG)
    ],
    "ffmpeg.source rtsp": lambda port: [
        el.create("ffmpeg.source", f"rtsp://127.0.0.1:{port}/live", timeout=LONG)
    ],
    "ffmpeg.source live": lambda port: [
        el.create("ffmpeg.source", f"http://127.0.0.1:{port}/", timeout=LONG, live=True)
    ],
    "ffmpeg.sink": lambda port: [
        frames(),
        el.create("ffmpeg.sink", f"tcp://127.0.0.1:{port}", format="mpegts", codec="mpeg4"),
    ],
    "ffmpeg.sink rtmp": lambda port: [
        frames(),
        el.create("ffmpeg.sink", f"rtmp://127.0.0.1:{port}/live/key", format="flv"),
    ],
    "ffmpeg.sink http": lambda port: [
        frames(),
        el.create("ffmpeg.sink", f"http://127.0.0.1:{port}/", format="mpegts", codec="mpeg4"),
    ],
    "gstreamer.source tcp": lambda port: [
        el.create("gstreamer.source", f"tcpclientsrc host=127.0.0.1 port={port}", timeout=LONG)
    ],
    "gstreamer.source rtsp": lambda port: [
        el.create("gstreamer.source", f"rtspsrc location=rtsp://127.0.0.1:{port}/x ! decodebin")
    ],
    "gstreamer.sink": lambda port: [
        frames(),
        el.create("gstreamer.sink", f"tcpclientsink host=127.0.0.1 port={port}", timeout=LONG),
    ],
    "ring.source": lambda port: [el.create("ring.source", f"nobody writes {port}", timeout=LONG)],
}
PIPES: dict[str, Callable[[Path], list[Any]]] = {
    "ffmpeg.source": lambda fifo: [el.create("ffmpeg.source", fifo, timeout=LONG)],
    "ffmpeg.sink": lambda fifo: [frames(), el.create("ffmpeg.sink", fifo, format="mpegts")],
    "gstreamer.source": lambda fifo: [
        el.create("gstreamer.source", f"filesrc location={fifo} ! decodebin", timeout=LONG)
    ],
    "gstreamer.sink": lambda fifo: [
        frames(),
        el.create("gstreamer.sink", f"filesink location={fifo}", timeout=LONG),
    ],
    "json.sink": lambda fifo: [frames(), el.create("json.sink", fifo)],
}


def interrupted(items: list[Any], threads: int) -> None:
    """A pipeline gets Ctrl-C, and ends; what a library does not return from is left to a thread."""
    before, ended = set(threading.enumerate()), threading.Event()

    def press() -> None:
        # Whether it waits by then or will soon, the exception is the same. One that comes while a
        # finalizer runs is lost, as everywhere in Python: then it is pressed again.
        seconds = 0.1
        while not ended.wait(seconds):
            os.kill(os.getpid(), signal.SIGINT)
            seconds = 5.0

    timer = threading.Thread(target=press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            el.Pipeline(*items).run(threads=threads)
    finally:
        ended.set()
        timer.join()
    left = set(threading.enumerate()) - before - {timer}
    assert all(one.name.endswith(" waits") for one in left), left


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of a finalizer
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_while_a_peer_is_waited_for(wait: str, peer: str, threads: int) -> None:
    with PEERS[peer]() as port:
        interrupted(made(WAITS[wait], port), threads)


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("wait", PIPES)
def test_ctrl_c_while_a_pipe_has_no_other_end(wait: str, threads: int, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    interrupted(made(PIPES[wait], fifo), threads)
    # For a thread that is still in open().
    os.close(os.open(fifo, os.O_RDWR))


def cancelled(items: list[Any], seconds: float) -> None:
    """A task that starts a pipeline is cancelled, which ends the start and its threads."""
    before = set(threading.enumerate())

    async def start() -> None:
        async with await el.Pipeline(*items).start_async() as out:
            async for _ in out:
                pass

    async def start_and_cancel() -> None:
        task = asyncio.create_task(start())
        await asyncio.sleep(seconds)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=LONG / 2)
        assert done, "it still waits"
        assert task.cancelled()

    asyncio.run(start_and_cancel())
    left = set(threading.enumerate()) - before
    assert all(one.name.endswith(" waits") for one in left), left


SOON = pytest.mark.parametrize("seconds", [0.0, 0.2], ids=["at once", "while it waits"])
"""Seconds until a task is cancelled: what it opens may not have begun to wait."""


@SOON
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("wait", WAITS)
def test_a_task_is_cancelled_while_a_peer_is_waited_for(
    wait: str, peer: str, seconds: float
) -> None:
    with PEERS[peer]() as port:
        cancelled(made(WAITS[wait], port), seconds)


@SOON
@pytest.mark.parametrize("wait", PIPES)
def test_a_task_is_cancelled_while_a_pipe_has_no_other_end(
    wait: str, seconds: float, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    cancelled(made(PIPES[wait], fifo), seconds)
    # For a thread that is still in open().
    os.close(os.open(fifo, os.O_RDWR))


def made(make: Callable[[Any], list[Any]], where: Any) -> list[Any]:
    """The elements, or the test is skipped."""
    try:
        return make(where)
    except (MissingDependencyError, UnknownNameError) as error:
        pytest.skip(f"missing package: {error}")


_IN_ASYNCIO = """
import asyncio, signal, sys
import samebytes.elements as el

# What a shell runs in the background ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    source = el.create("ffmpeg.source", sys.argv[1], timeout=60)
    print("connects", flush=True)
    async with await el.Pipeline(source, lambda frame: frame).start_async() as out:
        async for _ in out:
            pass

asyncio.run(main())
"""


def test_ctrl_c_in_asyncio_while_a_camera_connects() -> None:
    pytest.importorskip(
        "samebytes_ffmpeg", reason="missing package samebytes-ffmpeg: pip install samebytes-ffmpeg"
    )
    with silent_peer() as port:
        command = [sys.executable, "-c", _IN_ASYNCIO, f"tcp://127.0.0.1:{port}"]
        child = subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "connects\n"
        time.sleep(2)  # it connects by then, or imports PyAV: both end
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=LONG)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert time.monotonic() - began < LONG / 2  # on a busy machine
