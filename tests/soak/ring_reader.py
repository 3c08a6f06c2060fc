# SPDX-License-Identifier: Apache-2.0
"""A reader of the soak of rings: it checks every byte, and may be killed at any time.

It runs for itself: `ring_reader.py ADDRESS SEED live|once`. On its standard output it says of each
writer when its first frame has come and what it has seen at the end, and at its own end what it has
needed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import zlib
from pathlib import Path
from typing import Any, Literal

from samebytes_ipc import EndOfStreamError, RingReader, RingTimeoutError

NUMBER_BITS = 40
"""The frame's number is in the lower bits of its pts, that of its writer above."""


class _Stop:
    """The request of SIGTERM to end. No exception: one that strikes in a finalizer is lost."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


class _Seen:
    """A record of what one writer sent."""

    def __init__(self) -> None:
        self.writer = -1
        self.last = 0
        self.received = 0
        self.wrong: list[str] = []

    def look_at(self, frame: Any) -> None:
        """Check a frame: its place in the stream, and its bytes by their checksum."""
        writer, number = frame.pts >> NUMBER_BITS, frame.pts & ((1 << NUMBER_BITS) - 1)
        if self.writer not in (-1, writer):  # of a live reader
            self.say(None)
            self.received, self.last, self.wrong = 0, 0, []
        if self.writer != writer:
            print(json.dumps({"joined": writer}), flush=True)
        self.writer = writer
        # A writer that waits for its readers leaves nothing out: its numbers are even.
        if number <= self.last or (self.last and writer % 2 == 0 and number != self.last + 1):
            self.wrong.append(f"frame {number} came after {self.last}")
        self.last = number
        self.received += 1
        array = frame.map("cpu").planes[0].native
        found = zlib.crc32(array)
        if found != frame.regions[0].x:
            self.wrong.append(f"frame {number} of writer {writer}: checksum {found}")
        if int.from_bytes(array[0, :8].tobytes(), "little") != frame.pts:
            self.wrong.append(f"frame {number} of writer {writer} is another one")

    def say(self, ring: RingReader | None) -> None:
        """One line of JSON."""
        line = {
            "process": os.getpid(), "writer": self.writer, "received": self.received,
            "missed": ring.statistics.missed if ring is not None else None, "wrong": self.wrong[:3],
        }  # fmt: skip
        print(json.dumps(line), flush=True)


def _needed() -> dict[str, int]:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
    }


def _read(address: str, chance: random.Random, stop: _Stop, *, live: bool) -> None:
    """From one writer to its end, or `live` from all that come."""
    seen = _Seen()
    kept: list[Any] = []
    target: Literal["dma", "cpu"] = chance.choice(("dma", "cpu"))
    with RingReader(address, timeout=1.0, live=live, target=target) as ring:
        try:
            while not stop.asked:
                try:
                    frame = ring.read()
                except RingTimeoutError:
                    kept.clear()
                    continue
                if frame is None:
                    break
                seen.look_at(frame)
                kept.append(frame)
                del frame
                if len(kept) > chance.randrange(3):
                    kept.clear()
        finally:
            kept.clear()
            seen.say(ring)


def main(address: str, seed: int, *, live: bool) -> None:
    """Until SIGTERM comes."""
    chance = random.Random(seed)
    began: dict[str, int] = {}
    start = time.monotonic()
    stop = _Stop()
    while not stop.asked:
        try:
            _read(address, chance, stop, live=live)
        except (EndOfStreamError, RingTimeoutError):
            continue
        if not began and time.monotonic() - start > 10:
            began = _needed()
    print(json.dumps({"began": began, "ended": _needed()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), live=sys.argv[3] == "live")
