# SPDX-License-Identifier: Apache-2.0
"""A ring under load: one writer and three readers as fast as they can, killed at random.

Bytes are right by checksum, every frame that was accepted is accounted for with each reader, and
memory, descriptors and files do not grow. The writer ends now and then too, every third one by
SIGKILL, and the next one takes its place, with other slots and the other policy.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from samebytes_ipc import Departure, RingTimeoutError

from .ring_writer import LONGEST_WAIT, Sender, is_live

__all__ = ["RingReport", "main", "soak"]

_READER = Path(__file__).with_name("ring_reader.py")
_ROOT = Path(__file__).parents[2]
_READERS = 3
_END_SECONDS = 60
# How often the next to end is any reader, and not one of those that read.
_ANY = 0.1
# For how many seconds a writer is read before it is killed, however late it has begun.
_READ_ON = 1.0
_WARM = 0.3
_GROWTH = 8 << 20
_OF_ONE_READER = 3
"""Descriptors."""
_ENOUGH = 100
"""Frames that are sent, and that readers check."""


@dataclass
class RingReport:
    """A record of what a soak of rings saw.

    Attributes:
        seconds: how long it ran.
        writers, accepted: how many rings there were that lived to their end, and the frames that
            they took.
        offered, done, dropped, lost: summed over all readers of those.
        received: what those readers said that they checked, of those that could say it.
        killed, asked, paused: readers that were sent SIGKILL, SIGTERM, SIGSTOP.
        killed_reading: those of the killed that had had a frame of the writer of the time.
        killed_writers, received_of_killed: writers that were sent SIGKILL, and what readers said
            that they checked of theirs.
        wrong: what was not as it must be, one line each.
        memory, descriptors, files: of the writer's process, and files where rings have their
            sockets, each second, and 60 times in what is shorter than a minute. Slots are memfds,
            which are files nowhere.
    """

    seconds: float = 0.0
    writers: int = 0
    accepted: int = 0
    offered: int = 0
    done: int = 0
    dropped: int = 0
    lost: int = 0
    received: int = 0
    killed: int = 0
    asked: int = 0
    paused: int = 0
    killed_reading: int = 0
    killed_writers: int = 0
    received_of_killed: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    @property
    def is_telling(self) -> bool:
        """True if there was enough of all that a soak is about."""
        struck = self.killed_reading and self.killed_writers and self.lost
        return bool(struck and self.accepted > _ENOUGH and self.received > _ENOUGH)

    def __str__(self) -> str:
        lines = [
            f"{self.seconds:.0f} s: {self.writers} writers accepted {self.accepted} frames",
            f"{self.accepted / max(self.seconds, 1e-9):.0f} frames a second",
            f"readers: {self.killed} killed, {self.asked} asked to end, {self.paused} paused",
            f"of the killed {self.killed_reading} were reading at the time",
            f"{self.killed_writers} more writers were killed",
            f"of theirs {self.received_of_killed} frames were checked",
            f"of {self.offered} offers to readers {self.done} were given back",
            f"{self.dropped} were left out, and {self.lost} lost with a reader",
            f"{self.received} were checked by readers that lived to say so",
        ]
        for name in ("memory", "descriptors", "files"):
            values = getattr(self, name)
            if values:
                lines.append(
                    f"{name}: {values[0]} at first, {max(values)} at most, {values[-1]} at last"
                )
        return "\n".join([*lines, *(f"WRONG: {line}" for line in self.wrong or ())])


class _Readers:
    """The processes that read, and what they say."""

    def __init__(self, address: str, chance: random.Random, report: RingReport) -> None:
        self._address = address
        self._chance = chance
        self._report = report
        self._selector = selectors.DefaultSelector()
        self._running: list[subprocess.Popen[bytes]] = []
        # The writer of which each has had a frame last, while it reads on.
        self._joined: dict[subprocess.Popen[bytes], int] = {}
        # By writer: the processes that were killed while they read from it.
        self.killed: dict[int, set[int]] = {}
        self._parts: dict[int, bytes] = {}
        # By process and writer: what a reader said that it received.
        self.said: Counter[tuple[int, int]] = Counter()
        self.spared = self._start("once")

    def _start(self, mode: str) -> subprocess.Popen[bytes]:
        seed = self._chance.randrange(1 << 30)
        process = subprocess.Popen(
            [sys.executable, str(_READER), self._address, str(seed), mode], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, process)
        return process

    def reading(self, writer: int) -> list[subprocess.Popen[bytes]]:
        """The readers that have had a frame of a writer."""
        return [p for p in self._running if self._joined.get(p) == writer]

    def anybody_reads(self, writer: int) -> bool:
        """True if any reader, the spared one included, has had a frame of a writer."""
        return writer in self._joined.values()

    def step(self, writer: int) -> None:
        """Keep as many as there should be, and end one now and then.

        Mostly one that reads: on a busy machine they would all end before they have begun.
        """
        self.listen()
        while len(self._running) < _READERS - 1:
            self._running.append(self._start(self._chance.choice(["once", "live"])))
        reading = self.reading(writer)
        among = self._running if self._chance.random() < _ANY else reading
        if not among:
            return
        victim = self._chance.choice(among)
        happens = self._chance.random()
        if happens < 0.6:
            victim.send_signal(signal.SIGKILL)
            victim.wait(_END_SECONDS)
            self._report.killed += 1
            if victim in reading:
                self._report.killed_reading += 1
                self.killed.setdefault(writer, set()).add(victim.pid)
            self._forget(victim)
        elif happens < 0.8:
            self._end(victim)
            self._forget(victim)
        else:
            victim.send_signal(signal.SIGSTOP)
            self._report.paused += 1
            # It goes on by itself: the writer may wait for it meanwhile.
            subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -CONT {victim.pid}"]).wait(_END_SECONDS)

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        self._running.remove(process)
        self._joined.pop(process, None)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGTERM)
        self._report.asked += 1
        deadline = time.monotonic() + _END_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            self.listen(0.01)
        if process.poll() is None:
            self._report.wrong.append(f"reader {process.pid} does not end")
            process.kill()
        # SIGTERM itself ends one that has only just been started.
        elif process.returncode not in (0, -signal.SIGTERM):
            self._report.wrong.append(f"reader {process.pid} ended with {process.returncode}")
        self.listen()

    def end_all(self) -> None:
        """All of them end when they are asked to."""
        for process in (*self._running, self.spared):
            self._end(process)
        self._running.clear()
        self._selector.close()

    def listen(self, seconds: float = 0) -> None:
        """Take what they say."""
        for key, _ in self._selector.select(seconds):
            process: subprocess.Popen[bytes] = key.data
            data = os.read(key.fd, 1 << 16)
            *lines, rest = (self._parts.pop(key.fd, b"") + data).split(b"\n")
            for line in lines:
                self._take(process, json.loads(line))
            if data:
                self._parts[key.fd] = rest
            else:
                assert process.stdout is not None
                self._selector.unregister(process.stdout)
                process.stdout.close()

    def _take(self, process: subprocess.Popen[bytes], said: dict[str, Any]) -> None:
        if "joined" in said:
            self._joined[process] = said["joined"]
        elif "received" in said:
            # A live one has joined the next writer: it says so with its next line.
            self._joined.pop(process, None)
            self.said[said["process"], said["writer"]] += said["received"]
            self._report.received += said["received"]
            self._report.wrong += [f"reader {process.pid}: {line}" for line in said["wrong"]]
        elif process is self.spared and said["began"]:
            for name in ("memory", "descriptors"):
                began, ended = said["began"][name], said["ended"][name]
                allowed = _GROWTH if name == "memory" else 0
                if ended - began > allowed:
                    self._report.wrong.append(f"reader: {name} grew from {began} to {ended}")


class _Writer:
    """One ring, and what is known of its readers when it ends."""

    def __init__(self, number: int, address: str) -> None:
        self.number = number
        self.live = is_live(number)
        self._sender = Sender(number, address)
        self.ring = self._sender.ring
        self.departures: list[Departure] = []
        self._last: Departure | None = None

    def send(self) -> None:
        """One frame."""
        self._sender.send()
        self._collect()

    @property
    def sent(self) -> int:
        """The number of frames that it has sent."""
        return self._sender.sent

    def _collect(self) -> None:
        found = list(self.ring.departures)
        if found and found[-1] is not self._last:
            new = found if self._last is None else found[found.index(self._last) + 1 :]
            self.departures += new
            self._last = found[-1]

    def end(self, readers: _Readers, report: RingReport) -> None:
        """Close it and check what became of the frames."""
        ring = self.ring
        deadline = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < deadline:
            readers.listen()
            try:
                ring.wait_until_read(0.1)
            except RingTimeoutError:
                continue
            break
        self._collect()
        statistics = ring.statistics
        ring.close()
        about = f"writer {self.number}"
        if statistics.accepted != self.sent:
            report.wrong.append(f"{about}: {self.sent} sent, {statistics.accepted} accepted")
        each = [*[d.statistics for d in self.departures], *statistics.readers]
        for one in each:
            report.offered += one.offered
            report.done += one.done
            report.dropped += one.dropped
            report.lost += one.lost
            if one.offered != one.done + one.dropped + one.lost + one.waiting + one.held:
                report.wrong.append(f"{about}: {one} does not add up")
            if one.waiting or one.held:
                report.wrong.append(f"{about}: {one} is not done")
            if one.dropped and not self.live:
                report.wrong.append(f"{about}: {one} left frames out")
        report.wrong += [f"{about}: {d.error}" for d in self.departures if d.error is not None]
        report.accepted += self.sent
        report.writers += 1
        # What is offered to a reader that stays is all that was accepted since it joined.
        for one in statistics.readers:
            if one.offered > self.sent or one.lost:
                report.wrong.append(f"{about}: {one} of {self.sent}")
        for process in readers.killed.get(self.number, set()) - {one.process for one in each}:
            report.wrong.append(f"{about}: reader {process} was killed, and is not accounted for")
        self.done_by = Counter[int]()
        for one in each:
            self.done_by[one.process] += one.done


class _KilledWriter:
    """A writer in a process of its own, which SIGKILL ends: it cannot say what it has sent.

    Readers check what comes of it like all else, and join the next one.
    """

    def __init__(self, number: int, address: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.ring_writer", address, str(number)], cwd=_ROOT
        )
        self.number = number

    def send(self) -> None:
        """It does so itself, in its process."""
        time.sleep(0.01)

    def end(self, readers: _Readers, report: RingReport) -> None:
        """Kill it while somebody reads."""
        deadline = time.monotonic() + LONGEST_WAIT
        while not readers.anybody_reads(self.number) and time.monotonic() < deadline:
            readers.listen(0.01)
        deadline = time.monotonic() + _READ_ON
        while time.monotonic() < deadline:
            readers.listen(0.01)
        if self._process.poll() is not None:
            report.wrong.append(f"writer {self.number} ended with {self._process.returncode}")
        self._process.kill()
        self._process.wait(_END_SECONDS)
        report.killed_writers += 1


def soak(seconds: float, seed: int = 0, at_most: float = 0.0) -> RingReport:
    """Run for so long.

    Args:
        seconds: how long, about.
        seed: of what happens when.
        at_most: how long, in seconds, where a busy machine has shown too little before.
    """
    report, chance = RingReport(), random.Random(seed)
    # Short runs have their writers, and the looks that show growth, as long ones do.
    longest, between = max(3.0, min(15.0, seconds / 6)), min(1.0, seconds / 60)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "ring"))
        readers = _Readers(address, chance, report)
        done: dict[int, Counter[int]] = {}
        number, next_look = 0, start
        try:
            while (now := time.monotonic() - start) < seconds or (
                now < at_most and not report.is_telling
            ):
                killed = number % 3 == 2
                writer = _KilledWriter(number, address) if killed else _Writer(number, address)
                end = start + (seconds if now < seconds else at_most)
                until = min(time.monotonic() + chance.uniform(2, longest), end)
                next_event = time.monotonic() + 0.5
                while (now := time.monotonic()) < until:
                    faulthandler.dump_traceback_later(2 * LONGEST_WAIT, exit=True)
                    writer.send()
                    if now > next_event:
                        readers.step(number)
                        next_event = now + chance.uniform(0.05, 1.0)
                    if now > next_look and not killed:  # that one's ring is not in this process
                        _look(report, folder)
                        next_look = now + between
                writer.end(readers, report)
                if isinstance(writer, _Writer):
                    done[number] = writer.done_by
                number += 1
            readers.end_all()
        finally:
            faulthandler.cancel_dump_traceback_later()
        for (process, of), received in readers.said.items():
            if of in done and done[of][process] != received:
                report.wrong.append(
                    f"reader {process} received {received} frames of writer {of}, which got "
                    f"{done[of][process]} back"
                )
            elif of >= 0 and of not in done:
                report.received_of_killed += received
    report.seconds = time.monotonic() - start
    check_flat(report)
    return report


def _look(report: RingReport, folder: str) -> None:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    report.memory.append(pages * os.sysconf("SC_PAGE_SIZE"))
    report.descriptors.append(len(list(Path("/proc/self/fd").iterdir())))
    report.files.append(len(list(Path(folder).iterdir())))


def check_flat(report: RingReport) -> None:
    """Note what has grown."""
    for name, allowed in (("memory", _GROWTH), ("descriptors", _OF_ONE_READER), ("files", 0)):
        values = getattr(report, name)
        warm = values[int(len(values) * _WARM) :]
        if len(warm) < 10:
            continue
        # A leak grows all the time. What is open at a moment depends on who is just joining.
        half = len(warm) // 2
        growth = float(np.median(warm[half:]) - np.median(warm[:half]))
        if growth > allowed:
            report.wrong.append(f"{name} grew by {growth:g} between the halves of the soak")


def main(arguments: list[str]) -> None:
    """Run for as long as asked for, and print the report."""
    parser = argparse.ArgumentParser(prog="dev.py soak --kind ring", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    report = soak(options.seconds, options.seed)
    print(report)
    raise SystemExit(1 if report.wrong else 0)
