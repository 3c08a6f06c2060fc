# SPDX-License-Identifier: Apache-2.0
"""`samebytes run`: run the pipeline of a Python file until it ends or is asked to end."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .doctor import seconds
from .logs import log_to_stderr
from .pipeline_file import pipeline_in
from .progress import shown_progress

if TYPE_CHECKING:
    from ..elements import Running

__all__ = ["add_arguments", "run"]

_LEVELS = ("debug", "info", "warning", "error")
_A_WHILE = 1.0
"""The seconds of waiting after which this is reported."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "pipeline",
        metavar="FILE[:NAME]",
        help="a Python file or module, and the name in it of the pipeline or of a function that "
        "returns one (default: pipeline)",
    )
    parser.add_argument("--explain", action="store_true", help="show the plan without running it")
    parser.add_argument("--frames", type=_whole(1), metavar="N", help="stop after N frames")
    parser.add_argument(
        "--threads",
        type=_whole(0),
        default=1,
        metavar="N",
        help="0 runs everything in one thread, 1 each element in a thread of its own, more also "
        "several calls of an element at a time, if it is concurrent (default: 1)",
    )
    parser.add_argument(
        "--queue",
        type=_whole(1),
        default=4,
        metavar="N",
        help="how many frames may wait before each element (default: 4)",
    )
    parser.add_argument(
        "--when-full",
        default="wait",
        metavar="POLICY",
        help="if the queue behind a source is full: wait (the default), drop-oldest or drop-newest",
    )
    parser.add_argument(
        "--on-error",
        default="stop",
        metavar="POLICY",
        help="if an element raises: stop (the default), drop the frame, or end-stream, which also "
        "ends the stream of a source that raises",
    )
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress and no statistics")
    parser.add_argument(
        "--log",
        choices=_LEVELS,
        default="warning",
        help="log from this level on, to stderr (default: warning)",
    )
    parser.add_argument(
        "--listen",
        type=_address,
        metavar="[HOST:]PORT",
        help="serve /healthz, and /metrics for Prometheus; the default HOST is 127.0.0.1",
    )
    parser.add_argument(
        "--still",
        type=seconds,
        default=60.0,
        metavar="S",
        help="report as unhealthy after S seconds without a frame (default: 60)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the pipeline. SIGTERM and Ctrl-C end the streams, so that files are finished."""
    pipe = pipeline_in(options.pipeline)
    log_to_stderr(options.log)
    if options.explain:
        with _says_that_it_waits():
            plan = pipe.explain()
        print(plan)
        return 0
    from .service import Service

    with (
        _leaves_on_sigterm(),
        shown_progress(quiet=options.quiet) as show,
        Service(options.listen, options.pipeline, options.still) as service,
    ):
        started = pipe.start(
            threads=options.threads,
            queue=options.queue,
            when_full=options.when_full,
            on_error=options.on_error,
            stop_on=(signal.SIGTERM, signal.SIGINT),
        )
        with started as running:
            service.watch(running)
            _take(running, options.frames, show)
        statistics = running.statistics()
    if options.json:
        print(json.dumps(statistics.as_dict(), indent=2))
    elif not options.quiet:
        print(statistics, file=sys.stderr)  # stdout is for what the pipeline writes: json.sink
    # SIGTERM, as sent by systemd and Docker, asks for this end; Ctrl-C interrupts.
    return 130 if running.stopped_by == signal.SIGINT else 0


def _take(running: Running, frames: int | None, show: Any) -> None:
    number = 0
    # No variable may hold a frame: a pool may have only a few.
    while number != frames and next(running, None) is not None:
        number += 1
        show(running)
    for stream, error in running.ended_early.items():
        print(f"samebytes: stream {stream} ended early: {error}", file=sys.stderr)


@contextmanager
def _says_that_it_waits() -> Iterator[None]:
    """A block that reports once on standard error that it is waiting, if it takes a while."""

    def say() -> None:
        text = "waiting for a source to announce its frames, as a start would; it may be a camera"
        print(f"samebytes: {text} that is away. Ctrl-C ends this", file=sys.stderr, flush=True)

    timer = threading.Timer(_A_WHILE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _leaves_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the start, as Ctrl-C does; later the pipeline has its own handler.

    Without a handler, SIGTERM is ignored if this is the first process of a container.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _address(text: str) -> str:
    port = text.rpartition(":")[2]
    if not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} has no port: one is 0 to 65535")
    return text


def _whole(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number of at least `least`."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number: it is {least} or more"
            )
        return int(text)

    return number
