# SPDX-License-Identifier: Apache-2.0
"""Parts of a run side by side, each with its output kept whole.

A part is a process with its own session, so that all that it starts can be ended with it.
"""

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from devtools.results import Result
from devtools.workspace import ROOT, CommandError

LOGS = ROOT / "build" / "logs"

# Fork, because work may be any function; dev.py has no threads.
_FORK = multiprocessing.get_context("fork")
_SECONDS_BETWEEN_LINES = 60.0
_SECONDS_TO_END = 10.0
_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Job:
    """A part of a run. What `work` prints is its output, a CommandError from it a failure."""

    name: str
    work: Callable[[], Sequence[Result]]


def run_jobs(jobs: Sequence[Job], slots: int, *, logs: Path = LOGS) -> list[Result]:
    """Run the jobs, at most `slots` at a time, and start them in this order.

    Alone, a job writes to the terminal; beside others to a file in `logs`, shown when it ends.
    Nothing that a job started lives on after it, nor after an exception here (such as Ctrl-C).

    Returns: the results in the order of the jobs.
    """
    if slots == 1 or len(jobs) == 1:
        return [result for job in jobs for result in _results(job)]
    logs.mkdir(parents=True, exist_ok=True)
    waiting, running = list(jobs), list[_Running]()
    ended: dict[str, Sequence[Result]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < slots:
                job = waiting.pop(0)
                log = logs / f"{job.name.replace(' ', '-')}.log"
                with _signals_later():
                    running.append(_Running.start(job, log))
                print(f"started {job.name}: its output goes to {log}", flush=True)
            done = wait([r.process.sentinel for r in running], _SECONDS_BETWEEN_LINES)
            if not done:
                print("\n".join(r.progress() for r in running), flush=True)
            for one in [r for r in running if r.process.sentinel in done]:
                running.remove(one)
                ended[one.job.name] = one.finish()
    finally:
        for one in running:
            one.interrupt()
        for one in running:
            one.end()
    return [result for job in jobs for result in ended[job.name]]


@contextmanager
def _signals_later() -> Iterator[None]:
    """Keep from this thread what ends the process: one just started is not in its list yet."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _results(job: Job) -> Sequence[Result]:
    try:
        return job.work()
    except CommandError as error:
        return [Result(job.name, False, str(error))]


@dataclass
class _Running:
    """A job in its process."""

    job: Job
    process: ForkProcess
    answer: Connection
    log: Path
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, job: Job, log: Path) -> "_Running":
        receiver, sender = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_child, args=(job, log, sender), name=job.name)
        process.start()
        sender.close()
        return cls(job, process, receiver, log)

    def progress(self) -> str:
        """A line with the running time and the last output."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"running {self.job.name}, {time.monotonic() - self.began:.0f} s: {last[:100]}"

    def finish(self) -> Sequence[Result]:
        """Show the output of the ended process."""
        self.end()
        try:
            results: Sequence[Result] = self.answer.recv()
        except EOFError:
            status = f"its process ended with status {self.process.exitcode}"
            results = [Result(self.job.name, False, f"{status}, see its output")]
        seconds = time.monotonic() - self.began
        print(f"\n======== {self.job.name}: output of {seconds:.0f} s ========", flush=True)
        print(self.log.read_text(errors="replace"))
        print("\n".join(map(str, results)))
        print(f"======== end of {self.job.name} ========\n", flush=True)
        return results

    def interrupt(self) -> None:
        """Ask it and what it started to end, as Ctrl-C does."""
        print(f"stopping {self.job.name}; its output so far: {self.log}", file=sys.stderr)
        self._signal(signal.SIGINT)

    def end(self) -> None:
        """Wait a little, and let nothing live that it started."""
        wait([self.process.sentinel], _SECONDS_TO_END)
        # Before join(): until then no other process can have this number.
        self._signal(signal.SIGKILL)
        self.process.join()

    def _signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:  # it has not come as far as to its own session, or is gone
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)


def _child(job: Job, log: Path, answer: Connection) -> None:
    os.setsid()
    # In a session of its own it gets Ctrl-C from interrupt() alone, which it must not ignore as
    # what a shell starts in the background does.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    # New ones, as the old may lead elsewhere or hold what the parent has yet to write.
    sys.stdout, sys.stderr = open(1, "w", buffering=1), open(2, "w", buffering=1)  # noqa: SIM115
    try:
        answer.send(_results(job))
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
    finally:
        answer.close()
