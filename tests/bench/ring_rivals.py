# SPDX-License-Identifier: Apache-2.0
"""The ring beside iceoryx2, and beside shared memory with semaphores or packets by hand.

A frame of 1080p is there already: its first eight bytes are written, which say when, and it is sent
to a reader that sleeps until it comes, looks at them, and drops it. Paced, and as fast as it goes.
"""

from __future__ import annotations

import ctypes
import importlib.util
import multiprocessing
import os
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import samebytes_ipc as sbi

from .measure import Row

__all__ = ["calls_of_the_reader", "calls_of_the_writer", "rival_rows"]

_WIDTH, _HEIGHT = 1920, 1080
_NBYTES = _WIDTH * _HEIGHT * 3 // 2
_SLOTS = 8
_ROUNDS = 5
_WARM = 30
_PACED, _PACE = 200, 0.003
_FLAT = 1000
_LONGEST = 60.0
_NUMBER = struct.Struct("=Q")

Send = Callable[[int], object]
"""Sends a frame that begins with this number; 0 ends the stream."""


@dataclass(frozen=True)
class _Pass:
    """One way in one round: microseconds of latency and of the writer's CPU, frames a second."""

    median: float
    paced_cpu: float
    flat_cpu: float
    flat_rate: float


def rival_rows() -> list[Row]:
    """Each way in turns, in one run: ours beside theirs, as the median of the rounds."""
    ways = {"by hand": _by_hand, "packets by hand": _packets, "the ring": _ring}
    if importlib.util.find_spec("iceoryx2") is None:
        print("missing package iceoryx2: pip install iceoryx2; its rows are left out")
    else:
        ways["iceoryx2"] = _iceoryx2
    rounds = [{name: _pass(way, 1) for name, way in ways.items()} for _ in range(_ROUNDS)]
    three = [_pass(_ring, 3) for _ in range(_ROUNDS)]
    rows = []
    for other in [name for name in ways if name != "the ring"]:
        goals = (1.2, 1.2, 3.0, None) if other == "iceoryx2" else (None,) * 4
        for what, goal in zip(_Pass.__dataclass_fields__, goals, strict=True):
            pairs = [(getattr(r[other], what), getattr(r["the ring"], what)) for r in rounds]
            theirs, ours = (statistics.median(one) for one in zip(*pairs, strict=True))
            ratio = statistics.median(b / a for a, b in pairs)
            name = f"1080p, one reader, {_WORDS[what]}, beside {other}"
            unit = "frames/s" if what == "flat_rate" else "us"
            rows.append(Row(name, theirs, ours, ratio, goal, unit))
    one = statistics.median(r["the ring"].flat_cpu for r in rounds)
    ours = statistics.median(each.flat_cpu for each in three)
    rows.append(
        Row("1080p, CPU of the writer, three readers beside one", one, ours, ours / one, 1.5)
    )
    return rows


_WORDS = {
    "median": "until it is there, paced, median",
    "paced_cpu": "CPU of the writer, paced",
    "flat_cpu": "CPU of the writer, flat out",
    "flat_rate": "frames a second, flat out",
}


def _pass(way: Callable[..., Any], readers: int) -> _Pass:
    spawn = multiprocessing.get_context("spawn")
    with way(spawn, readers) as (send, arguments, ready):
        pipes, processes = [], []
        for _ in range(readers):
            here, there = spawn.Pipe()
            processes.append(spawn.Process(target=_read, args=(there, way.__name__, *arguments)))
            processes[-1].start()
            pipes.append(here)
        for pipe in pipes:
            pipe.recv()
        ready()
        for _ in range(_WARM):
            send(time.perf_counter_ns())
        paced_cpu, _ = _timed(send, _PACED, _PACE)
        flat_cpu, seconds = _timed(send, _FLAT, 0)
        send(0)
        took = pipes[0].recv()[_WARM : _WARM + _PACED]
        for process in processes:
            process.join(_LONGEST)
    return _Pass(
        statistics.median(took) / 1e3, paced_cpu / _PACED * 1e6, flat_cpu / _FLAT * 1e6,
        _FLAT / seconds,
    )  # fmt: skip


def _timed(send: Send, frames: int, pace: float) -> tuple[float, float]:
    """The seconds of CPU and of the clock that so many frames take."""
    cpu, began = time.process_time(), time.perf_counter()
    for number in range(frames):
        left = began + number * pace - time.perf_counter()
        if pace and left > 0:
            time.sleep(left)
        send(time.perf_counter_ns())
    return time.process_time() - cpu, time.perf_counter() - began


def _read(out: Connection, way: str, *arguments: Any) -> None:
    """In the reader: nanoseconds from the call that sends each frame until it was there."""
    took = []
    for sent in _READERS[way](lambda: out.send(None), *arguments):
        if sent == 0:
            break
        took.append(time.perf_counter_ns() - sent)
    out.send(took)


def calls_of_the_writer() -> dict[str, int]:
    """The calls of functions, Python's and C's, that each step of a frame makes, as medians.

    Unlike times they are the same on a busy machine. One reader, in a process of its own.
    """
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    steps = ("acquire()", "send()")
    counts: dict[str, list[int]] = {step: [] for step in steps}
    address, ring = _writer()
    with ring:
        process = spawn.Process(target=_read, args=(there, "_ring", address))
        process.start()
        here.recv()
        ring.wait_for_readers(1, _LONGEST)
        for number in range(_WARM, -1, -1):
            time.sleep(_PACE)  # the reader gives the frame back
            frame, acquired = _counted(partial(ring.acquire, target="cpu"))
            _NUMBER.pack_into(frame.native[0], 0, number)
            _, sent = _counted(ring.send, frame)
            del frame
            for step, calls in zip(steps, (acquired, sent), strict=True):
                counts[step].append(calls)
        here.recv()
        process.join(_LONGEST)
    return {step: int(statistics.median(calls)) for step, calls in counts.items()}


def calls_of_the_reader() -> dict[str, int]:
    """The same in the reader: from when a packet has come until the frame is there, and after."""
    spawn = multiprocessing.get_context("spawn")
    address = f"@samebytes-bench-{os.getpid()}-{time.monotonic_ns()}"
    process = spawn.Process(target=_write_paced, args=(address,))
    process.start()
    steps = ("read()", "the end of the frame")
    counts: dict[str, list[int]] = {step: [] for step in steps}
    with sbi.RingReader(address, timeout=_LONGEST, target="cpu") as ring:
        while True:
            frame, read = _counted(ring.read, since="poll")
            if frame is None:
                break
            frames = [frame]
            del frame
            _, ended = _counted(frames.clear)
            for step, calls in zip(steps, (read, ended), strict=True):
                counts[step].append(calls)
    process.join(_LONGEST)
    return {step: int(statistics.median(calls)) for step, calls in counts.items()}


def _write_paced(address: str) -> None:
    with sbi.RingWriter(
        address, format="NV12", width=_WIDTH, height=_HEIGHT, slots=_SLOTS, memory="memfd"
    ) as ring:
        ring.wait_for_readers(1, _LONGEST)
        for _ in range(_WARM):
            time.sleep(_PACE)
            ring.send(ring.acquire(target="cpu"))


def _counted(
    step: Callable[..., Any], *arguments: Any, since: str | None = None
) -> tuple[Any, int]:
    """The result of a step, and the number of calls that it made, itself among them.

    Args:
        step: the function.
        arguments: of it.
        since: count from the return of the last C function of that name.
    """
    calls = 0

    def note(_frame: object, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "c_return" and argument.__name__ == since:
            calls = 0
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        return step(*arguments), calls
    finally:
        sys.setprofile(None)


def _writer() -> tuple[str, sbi.RingWriter]:
    address = f"@samebytes-bench-{os.getpid()}-{time.monotonic_ns()}"
    return address, sbi.RingWriter(
        address, format="NV12", width=_WIDTH, height=_HEIGHT, slots=_SLOTS, memory="memfd"
    )


@contextmanager
def _ring(_: Any, readers: int) -> Iterator[Any]:
    address, ring = _writer()
    with ring:

        def send(number: int) -> None:
            frame = ring.acquire(target="cpu")
            _NUMBER.pack_into(frame.native[0], 0, number)
            ring.send(frame)

        yield send, (address,), lambda: ring.wait_for_readers(readers, _LONGEST)


def _read_ring(ready: Callable[[], object], address: str) -> Iterator[int]:
    ready()
    with sbi.RingReader(address, timeout=_LONGEST, target="cpu") as ring:
        for frame in ring:
            yield _NUMBER.unpack_from(frame.native[0])[0]
            del frame


@contextmanager
def _by_hand(spawn: Any, _: int) -> Iterator[Any]:
    memory = SharedMemory(create=True, size=_NBYTES * _SLOTS)
    free, filled = spawn.Semaphore(_SLOTS), spawn.Semaphore(0)
    try:
        numbers = [memory.buf[at : at + 8].cast("Q") for at in _starts()]  # type: ignore[index]
        turn = 0

        def send(number: int) -> None:
            nonlocal turn
            free.acquire()
            numbers[turn % _SLOTS][0] = number
            turn += 1
            filled.release()

        yield send, (memory.name, free, filled), lambda: None
        numbers.clear()
        del send
    finally:
        memory.close()
        memory.unlink()


def _read_by_hand(ready: Callable[[], object], name: str, free: Any, filled: Any) -> Iterator[int]:
    memory = SharedMemory(name=name)
    numbers = [memory.buf[at : at + 8].cast("Q") for at in _starts()]  # type: ignore[index]
    ready()
    turn = 0
    while True:
        filled.acquire()
        number = numbers[turn % _SLOTS][0]
        turn += 1
        free.release()
        if number == 0:
            numbers.clear()
            memory.close()
        yield number


@contextmanager
def _packets(_: Any, _readers: int) -> Iterator[Any]:
    """The packets of a ring, one that gives each back, and no more: the least that Python takes."""
    address = f"\0samebytes-bench-{os.getpid()}-{time.monotonic_ns()}"
    memory = SharedMemory(create=True, size=_NBYTES * _SLOTS)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(address)
            listener.listen()
            numbers = [memory.buf[at : at + 8].cast("Q") for at in _starts()]  # type: ignore[index]
            turn = waiting = 0
            peers: list[socket.socket] = []

            def send(number: int) -> None:
                nonlocal turn, waiting
                if waiting == _SLOTS:
                    peers[0].recv(_DONE)
                    waiting -= 1
                    with suppress(BlockingIOError):
                        while True:
                            peers[0].recv(_DONE, socket.MSG_DONTWAIT)
                            waiting -= 1
                numbers[turn % _SLOTS][0] = number
                turn += 1
                waiting += 1
                peers[0].send(_FRAME.pack(turn))

            yield send, (memory.name, address), lambda: peers.append(listener.accept()[0])
            numbers.clear()
            peers.pop().close()
            del send
    finally:
        memory.close()
        memory.unlink()


_FRAME = struct.Struct("<Q26x")
_DONE = 10
"""Bytes of a frame of a ring, and of what gives it back."""


def _read_packets(ready: Callable[[], object], name: str, address: str) -> Iterator[int]:
    memory = SharedMemory(name=name)
    numbers = [memory.buf[at : at + 8].cast("Q") for at in _starts()]  # type: ignore[index]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect(address)
        ready()
        while True:
            (turn,) = _FRAME.unpack(sock.recv(_FRAME.size))
            number = numbers[(turn - 1) % _SLOTS][0]
            sock.send(bytes(_DONE))
            if number == 0:
                numbers.clear()
                memory.close()
            yield number


def _starts() -> range:
    return range(0, _NBYTES * _SLOTS, _NBYTES)


def _services(name: str) -> Any:
    import iceoryx2  # type: ignore[import-not-found,import-untyped,unused-ignore]

    iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
    node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)
    named = node.service_builder(iceoryx2.ServiceName.new(name))
    frames = (
        named.publish_subscribe(iceoryx2.Slice[ctypes.c_uint8])
        .subscriber_max_buffer_size(_SLOTS)
        .subscriber_max_borrowed_samples(_SLOTS)
        .enable_safe_overflow(False)
        .open_or_create()
    )
    return iceoryx2, node, frames, named.event().open_or_create()


def _number_in(payload: Any) -> Any:
    return ctypes.cast(payload.as_ptr(), ctypes.POINTER(ctypes.c_uint64))


@contextmanager
def _iceoryx2(_: Any, _readers: int) -> Iterator[Any]:
    name = f"samebytes-bench-{os.getpid()}-{time.monotonic_ns()}"
    iceoryx2, node, frames, event = _services(name)
    publisher = (
        frames.publisher_builder()
        .initial_max_slice_len(_NBYTES)
        .max_loaned_samples(_SLOTS)
        .backpressure_strategy(iceoryx2.BackpressureStrategy.RetryUntilDelivered)
        .create()
    )
    notifier = event.notifier_builder().create()

    def send(number: int) -> None:
        sample = publisher.loan_slice_uninit(_NBYTES)
        _number_in(sample.payload())[0] = number
        sample.assume_init().send()
        notifier.notify()

    yield send, (name,), lambda: None
    del node


def _read_iceoryx2(ready: Callable[[], object], name: str) -> Iterator[int]:
    iceoryx2, _node, frames, event = _services(name)
    subscriber = frames.subscriber_builder().create()
    listener = event.listener_builder().create()
    ready()
    while True:
        listener.timed_wait(iceoryx2.Duration.from_secs(int(_LONGEST)))
        while (sample := subscriber.receive()) is not None:
            number = int(_number_in(sample.payload())[0])
            sample.delete()
            yield number


_READERS: dict[str, Callable[..., Iterator[int]]] = {
    "_ring": _read_ring,
    "_by_hand": _read_by_hand,
    "_packets": _read_packets,
    "_iceoryx2": _read_iceoryx2,
}
