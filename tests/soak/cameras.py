# SPDX-License-Identifier: Apache-2.0
"""A camera's life for as long as you like: silent, dropping, jumping, changing, locked, gone.

Every run must account for each frame that it accepted, record what it was given, show no password,
end soon when it is stopped, and leave no thread. Memory and descriptors must not grow.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import signal
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import av

import samebytes.elements as el
from samebytes.errors import ElementError

from .connections import QUICK
from .moods import MoodyCamera
from .pipelines import Report, _check_flat, _out_of_order, _resident

__all__ = ["CameraReport", "main", "soak"]

_LONGEST_RUN = 120
"""Seconds after which a run counts as hung."""

PASSWORD = "s3cr" + "et"

_PLACES = ("tcp", "tcp", "tcp", "rtsp", "rtsp", "http", "refused", "unknown")


@dataclass
class CameraReport(Report):
    """As of pipelines.

    Attributes:
        moods: how often the camera was in each.
        ends: how runs ended.
        recorded: frames that were found in the files that were written of them.
        slowest_stop: seconds until a run had ended that was stopped.
    """

    moods: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    recorded: int = 0
    slowest_stop: float = 0.0

    def __str__(self) -> str:
        lines = [
            f"moods: {', '.join(f'{name} {n}' for name, n in sorted(self.moods.items()))}",
            f"ends: {', '.join(f'{name} {n}' for name, n in sorted(self.ends.items()))}",
            f"recorded and found again: {self.recorded} frames",
            f"slowest stop: {self.slowest_stop:.2f} s",
        ]
        first, *rest = super().__str__().splitlines()
        return "\n".join([first, *lines, *rest[2:]])


class _Signals:
    """Ctrl-C that comes while a run lasts, and when it came."""

    def __init__(self) -> None:
        self.came: float | None = None
        self._armed = False

    def __enter__(self) -> _Signals:
        self._before = signal.signal(signal.SIGUSR1, self._handle)
        self._armed = True
        return self

    def __exit__(self, *_: object) -> None:
        self._armed = False

    def forget(self) -> None:
        """No more will come."""
        signal.signal(signal.SIGUSR1, self._before)

    def send(self) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._armed and self.came is None:
            self.came = time.monotonic()
            raise KeyboardInterrupt


def soak(seconds: float, seed: int = 0, longest_stop: float = 1.0) -> CameraReport:
    """Run recorders of such a camera for so long.

    Args:
        seconds: the last one may take a little longer.
        seed: the same seed takes the same pipelines in the same order.
        longest_stop: seconds that a run may take to end when it is stopped.
    """
    report, choices = CameraReport(), random.Random(seed)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while not report.runs or time.monotonic() < until:
            faulthandler.dump_traceback_later(_LONGEST_RUN, exit=True)
            chance = random.Random(choices.random())
            with MoodyCamera(chance.randrange(10**6), steady=chance.random() < 0.5) as camera:
                _one(camera, chance, report, Path(folder), longest_stop)
                report.moods += camera.moods
            gc.collect()
            report.memory.append(_resident())
            report.descriptors.append(len(list(Path("/proc/self/fd").iterdir())))
            report.threads.append(threading.active_count())
    faulthandler.cancel_dump_traceback_later()
    _check_flat(report)
    return report


def _address(camera: MoodyCamera, place: str) -> str:
    user = f"admin:{PASSWORD}@"
    return {
        "tcp": f"tcp://127.0.0.1:{camera.port}",
        "rtsp": f"rtsp://{user}127.0.0.1:{camera.port}/live?token={PASSWORD}",
        "http": f"http://{user}127.0.0.1:{camera.port}/live?token={PASSWORD}",
        "refused": f"rtsp://{user}127.0.0.1:9/live",
        "unknown": f"rtsp://{user}no-such-camera.invalid/live",
    }[place]


def _threads_left() -> list[str]:
    """The threads of ours that do not end soon: a call of FFmpeg's may return a little later."""
    until = time.monotonic() + 5
    while True:
        left = [t.name for t in threading.enumerate() if t.name.startswith("samebytes ")]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.02)


def _one(
    camera: MoodyCamera, chance: random.Random, report: CameraReport, folder: Path,
    longest_stop: float,
) -> None:  # fmt: skip
    place = chance.choice(_PLACES)
    camera.speaks_rtsp = place == "rtsp"
    options = QUICK | ({"rtsp_transport": "tcp"} if camera.speaks_rtsp else {})
    source = el.create(
        "ffmpeg.source", _address(camera, place), live=True, reconnect=chance.choice([0, 2, 20]),
        pause=0.005, timeout=chance.choice([0.2, 0.5, 30.0]), threads=1,
        frames=chance.choice([None, chance.randrange(1, 120)]), options=options,
    )  # fmt: skip
    path = folder / f"recorded.{chance.choice(['mkv', 'mp4', 'ts'])}"
    sink = el.create("ffmpeg.sink", path, codec="mpeg4")
    pipe = el.Pipeline(source, sink)
    started: dict[str, Any] = {
        "threads": chance.choice([0, 1, 1]),
        "queue": chance.choice([1, 4]),
        "when_full": chance.choice(["wait", "drop-oldest"]),
    }
    how = chance.choice(["end", "stop", "signal"])
    after = chance.random() * 1.5
    what = f"{place}, {started}, {how} after {after:.2f} s, {source.changed_parameters}"
    texts = [repr(source), repr(pipe)]
    out: el.Running | None = None
    came, ended, timers = 0, "of itself", []
    stopped: list[float] = []
    latest: dict[int, Fraction] = {}

    def stop() -> None:
        stopped.append(time.monotonic())
        if out is not None:
            out.stop()

    signals = _Signals()
    try:
        with signals:
            # Whatever comes of it, this ends: a camera may be silent forever.
            timers.append(threading.Timer(after if how == "signal" else 4.0, signals.send))
            timers[0].start()
            out = pipe.start(**started)
            if how == "stop":
                timers.append(threading.Timer(after, stop))
                timers[1].start()
            with out:
                for frame in out:
                    came += 1
                    problem = _out_of_order(frame, latest)
                    if problem:
                        report.wrong.append(f"{what}: {problem}")
                    del frame
    except KeyboardInterrupt:
        ended = "interrupted"
    except ElementError as error:
        ended = "failed"
        texts += traceback.format_exception(error)
    now = time.monotonic()
    for timer in timers:
        timer.cancel()
        timer.join()
    signals.forget()
    for asked in (signals.came, *stopped[:1]):
        if asked is not None and now > asked:
            report.slowest_stop = max(report.slowest_stop, now - asked)
            if now - asked > longest_stop:
                report.wrong.append(f"{what}: it took {now - asked:.2f} s to stop")
    report.ends["stopped" if stopped and ended == "of itself" else ended] += 1
    report.runs += 1
    report.failed += ended == "failed"
    if out is not None:
        texts += [out.explain(), str(out.statistics())]
        _check(out, path, came, interrupted=ended == "interrupted", report=report, what=what)
    if PASSWORD in "".join(texts):
        report.wrong.append(f"{place}: the password is shown")
    if left := _threads_left():
        report.wrong.append(f"{what}: left {left}")
    path.unlink(missing_ok=True)


def _check(
    out: el.Running, path: Path, came: int, *, interrupted: bool, report: CameraReport, what: str
) -> None:
    """Each frame that was accepted is accounted for, and what was recorded can be read."""
    rows = out.statistics()
    given, sink = rows.of("ffmpeg.source"), rows.of("ffmpeg.sink")
    report.frames += came
    # The signal may come between a frame and its being counted.
    slack = 1 if interrupted else 0
    off = given.frames_out - (came + sink.errors + sink.dropped + rows.lost)
    if not -slack <= off <= slack:
        report.wrong.append(
            f"{what}: {given.frames_out} sent, {came} came, {sink.errors} raised, "
            f"{sink.dropped} left out, {rows.lost} lost"
        )
    if not sink.frames_out:
        return
    # FFmpeg does not find the format of a whole transport stream of seven to nine packets.
    format_ = "mpegts" if path.suffix == ".ts" else None
    with av.open(str(path), format=format_) as container:
        found = sum(1 for _ in container.decode(video=0))
    report.recorded += found
    if not sink.frames_out <= found <= sink.frames_out + slack:
        report.wrong.append(f"{what}: {sink.frames_out} written, {found} found in the file")


def main(arguments: list[str] | None = None) -> None:
    """Run for as long as asked for, and print the report."""
    parser = argparse.ArgumentParser(prog="dev.py soak --kind cameras", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    report = soak(options.seconds, options.seed)
    print(report)
    raise SystemExit(1 if report.wrong else 0)
