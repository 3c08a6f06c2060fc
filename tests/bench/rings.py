# SPDX-License-Identifier: Apache-2.0
"""A frame from process to process: from the call that sends it until the other has an array."""

from __future__ import annotations

import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np

import samebytes as sb
import samebytes_ipc as sbi

from .measure import Row
from .on_ray import ray_rows

__all__ = ["PAGE", "ring_rows", "ring_table", "with_table"]

PAGE = Path(__file__).parents[2] / "docs/reference/ring.md"
"""The page with the table."""
_BEGIN = "<!-- written by: python3 dev.py bench rings --write -->\n"
_END = "\n### Beside iceoryx2"

_ROUNDS = 20
# As in a stream: frames of one way follow each other, and the first few of them warm up.
_FRAMES = 20
_WARM = 5
_SLOW_ROUNDS = 1
_TARGET = 60.0
# Nanoseconds: long enough that the other process waits when the frame is sent. This one does not
# sleep: waking up would take longer than what is measured.
_PAUSE = 100_000
_MEMORY = "memfd"

_RING = "the ring"
_SPINNING = "the ring, read with spin=0.001"
_SEND = "samebytes_ipc.send"
_QUEUE = "multiprocessing.Queue"
_HAND = "shared_memory by hand, copied in"
_HAND_IN_PLACE = "shared_memory by hand, filled in place"


def ring_rows() -> list[Row]:
    """Each way in turns, in one run, for two sizes; then Ray's object store."""
    rows = []
    rings = {}
    for name, size in (("1080p", (1920, 1080)), ("4K", (3840, 2160))):
        took = _measured(size)
        medians = {way: statistics.median(times) for way, times in took.items()}
        ours = rings[name] = medians[_RING]
        for way in (_RING, _SPINNING):
            rows += [
                Row(f"{name}: {way}, median", None, medians[way], None, _TARGET),
                Row(f"{name}: {way}, least", None, min(took[way]), None),
            ]
        for way, median in medians.items():
            if way not in (_RING, _SPINNING):
                target = 1.0 if way == _HAND else None
                rows.append(Row(f"{name}: {way}, medians", median, ours, ours / median, target))
    return rows + ray_rows(rings)


def ring_table(rows: list[Row]) -> str:
    """The medians of all ways as a table in Markdown, in microseconds.

    Args:
        rows: as `ring_rows` made them.
    """
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        size, _, rest = row.name.partition(": ")
        way, _, what = rest.rpartition(", ")
        if what in ("median", "medians"):
            found.setdefault(way, {})[size] = row.ours if row.native is None else row.native
    sizes = ("1080p", "4K")
    lines = ["| microseconds | " + " | ".join(sizes) + " |", "|---|" + "---|" * len(sizes)]
    for way, took in found.items():
        lines.append(f"| {way} | " + " | ".join(f"{took[size]:.0f}" for size in sizes) + " |")
    return "\n".join(lines) + "\n"


def with_table(page: str, table: str) -> str:
    """The page with that table in place of the one that it has.

    Args:
        page: its text.
        table: as of `ring_table`.

    Raises:
        ValueError: it has no place for a table.
    """
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError("the page has no place for the table of rings")
    return before + begin + table + end + after


def _measured(size: tuple[int, int]) -> dict[str, list[float]]:
    """Microseconds of each frame of each way."""
    width, height = size
    nbytes = width * height * 3 // 2
    spawn = multiprocessing.get_context("spawn")
    queue: Any = spawn.Queue()
    ours, theirs = spawn.Pipe()
    hand, other_hand = spawn.Pipe()
    address = f"@samebytes-bench-{os.getpid()}-{width}-"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")
    listener.listen(1)
    memory = SharedMemory(create=True, size=nbytes)
    rings = {
        way: sbi.RingWriter(
            address + way, format="NV12", width=width, height=height, memory=_MEMORY
        )
        for way in (_RING, _SPINNING)
    }
    arguments = (address, listener.getsockname(), queue, theirs, other_hand, memory.name)
    process = spawn.Process(target=_other, args=arguments)
    process.start()
    try:
        for ring in rings.values():
            ring.wait_for_readers(timeout=60)
        sock, _ = listener.accept()
        with sock:
            return _rounds(size, rings, sock, queue, ours, hand, memory)
    finally:
        for ring in rings.values():
            ring.close()
        ours.send(None)
        process.join(60)
        listener.close()
        memory.close()
        memory.unlink()


def _rounds(
    size: tuple[int, int], rings: dict[str, sbi.RingWriter], sock: socket.socket, queue: Any,
    ours: Connection, hand: Connection, memory: SharedMemory,
) -> dict[str, list[float]]:  # fmt: skip
    width, height = size
    frame = sb.context(f"dma:{_MEMORY}").allocate_frame("NV12", width, height)
    picture = np.full(width * height * 3 // 2, 7, np.uint8)

    def by_hand() -> None:
        assert memory.buf is not None
        np.copyto(np.frombuffer(memory.buf, np.uint8, picture.size), picture)
        hand.send(0)

    ways: dict[str, Callable[[], object]] = {
        _SEND: lambda: sbi.send(sock, frame),
        _HAND: by_hand,
        _HAND_IN_PLACE: lambda: hand.send(0),
        _QUEUE: lambda: queue.put(picture),
    }
    took: dict[str, list[float]] = {way: [] for way in (*rings, *ways)}
    for number in range(_ROUNDS):
        for way, times in took.items():
            if way == _QUEUE and number >= _SLOW_ROUNDS:
                continue
            ring = rings.get(way, rings[_RING])
            for again in range(_FRAMES):
                filled = ring.acquire()  # what was in it is what is sent
                began = _ask(ours, way)
                if way in rings:
                    ring.send(filled)
                else:
                    ways[way]()
                del filled
                seconds = (ours.recv() - began) / 1000
                if again >= _WARM:
                    times.append(seconds)
    return took


def _ask(ours: Connection, way: str) -> int:
    """Have the other process wait for a frame; the time, when it does."""
    ours.send(way)
    ours.recv()
    until = time.perf_counter_ns() + _PAUSE
    while (now := time.perf_counter_ns()) < until:
        pass
    return now


def _other(
    address: str, listener: bytes, queue: Any, ours: Connection, hand: Connection, name: str
) -> None:
    """In the other process: get frames in the way that is asked for, and say when they were there.

    perf_counter() is CLOCK_MONOTONIC, which is the same in all processes.
    """
    memory = SharedMemory(name=name)
    sock = socket.socket(socket.AF_UNIX)
    ring = sbi.RingReader(address + _RING, timeout=60)
    spinning = sbi.RingReader(address + _SPINNING, timeout=60, spin=0.001)
    sock.connect(listener)

    def from_ring() -> Any:
        return ring.read().map("cpu").planes[0].native

    def from_spinning() -> Any:
        return spinning.read().map("cpu").planes[0].native

    def from_socket() -> Any:
        return sbi.receive(sock).map("cpu").planes[0].native  # type: ignore[union-attr]

    def from_hand() -> Any:
        hand.recv()
        assert memory.buf is not None
        return np.frombuffer(memory.buf, np.uint8)

    ways: dict[str, Callable[[], Any]] = {
        _RING: from_ring,
        _SPINNING: from_spinning,
        _SEND: from_socket,
        _QUEUE: queue.get,
        _HAND: from_hand,
        _HAND_IN_PLACE: from_hand,
    }
    with sock, ring, spinning:
        while (way := ours.recv()) is not None:
            get = ways[way]
            ours.send(0)
            array = get()
            there = time.perf_counter_ns()
            assert array[0].max() in (0, 7)
            del array
            ours.send(there)
    memory.close()
