# SPDX-License-Identifier: Apache-2.0
"""A live ring between processes at the highest rate that there is: nobody is killed or waits.

The writer replaces what readers have not taken, and every reader checks each frame that it gets:
all of its bytes, by their checksum, and its place in the stream.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .ring_writer import Sender

__all__ = ["LiveReport", "main", "soak"]

_READER = Path(__file__).with_name("ring_reader.py")
_LIVE = 1
_JOIN_SECONDS = 60
_SIZES = {"small": (64, 48), "large": (640, 360)}


@dataclass
class LiveReport:
    """The outcome of a soak of a live ring.

    Attributes:
        sent: frames, in `seconds`.
        received: how many each reader has checked.
        left_out: how many were replaced before each reader took them.
        wrong: what was not as it must be, one line each.
    """

    seconds: float = 0.0
    sent: int = 0
    received: list[int] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.sent} frames in {self.seconds:.0f} s, {self.sent / self.seconds:.0f} a second",
            f"checked by each reader: {self.received}; left out: {self.left_out}",
            *(f"WRONG: {line}" for line in self.wrong),
        ]
        return "\n".join(lines)


def soak(seconds: float, size: tuple[int, int], readers: int = 2) -> LiveReport:
    """Send for so long.

    Args:
        seconds: from when all readers have joined.
        size: of the frames.
        readers: how many processes read.
    """
    report = LiveReport()
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "ring"))
        sender = Sender(_LIVE, address, size)
        running = [
            subprocess.Popen(
                [sys.executable, _READER, address, str(seed), "live"], stdout=subprocess.PIPE
            )
            for seed in range(readers)
        ]
        try:
            sender.ring.wait_for_readers(readers, timeout=_JOIN_SECONDS)
            start = time.monotonic()
            while time.monotonic() - start < seconds:
                sender.send()
            report.seconds, report.sent = time.monotonic() - start, sender.sent
            sender.ring.wait_until_read(_JOIN_SECONDS)
            each = sender.ring.statistics.readers
            sender.ring.close()
            for process in running:
                process.send_signal(signal.SIGTERM)
            said = [_said(process) for process in running]
        finally:
            for process in running:
                process.kill()
                process.wait()
    for one in sorted(each, key=lambda one: one.process):
        lines = said[[process.pid for process in running].index(one.process)]
        received = sum(line["received"] for line in lines)
        report.received.append(received)
        report.left_out.append(one.dropped)
        report.wrong += [text for line in lines for text in line["wrong"]]
        if received != one.done or one.offered != one.done + one.dropped:
            report.wrong.append(f"{received} received: {one}")
        if one.offered != report.sent or sum(line["missed"] or 0 for line in lines) != one.dropped:
            report.wrong.append(f"{report.sent} sent, {lines}: {one}")
    if len(each) != readers:
        report.wrong.append(f"{len(each)} of {readers} readers were there at the end")
    return report


def _said(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Return the lines of a reader about the frames that it had."""
    text, _ = process.communicate(timeout=_JOIN_SECONDS)
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if line.get("received")]


def main(arguments: list[str]) -> None:
    """Run for as long as asked for, half of it with each size, and print the reports."""
    parser = argparse.ArgumentParser(prog="dev.py soak --kind live", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(arguments)
    reports = {name: soak(options.seconds / 2, size) for name, size in _SIZES.items()}
    for name, report in reports.items():
        sys.stdout.write(f"{name}: {report}\n")
    raise SystemExit(os.EX_SOFTWARE if any(r.wrong for r in reports.values()) else 0)
