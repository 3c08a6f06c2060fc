# SPDX-License-Identifier: Apache-2.0
"""Parts of a run in parallel, each in a process of its own, with its output kept together."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from devtools.results import Result
from devtools.workspace import ROOT

LOGS = ROOT / "build" / "logs"
_SECONDS_BETWEEN_LINES = 60.0
_SECONDS_TO_END = 10.0


def run_parts(
    parts: Sequence[str],
    slots: int,
    command: Sequence[str | Path],
    *,
    set_up: Callable[[], object] = lambda: None,
    meanwhile: Collection[str] = (),
    logs: Path = LOGS,
) -> list[Result]:
    """Run the command with each part's name, at most `slots` at a time; return results in order.

    All parts but those of `meanwhile` begin after `set_up`. A part's output goes to a file in
    `logs`, shown when it ends, beside its results (`write_results`). Processes that it started in
    its session do not outlive it, nor an exception here (such as Ctrl-C).
    """
    logs.mkdir(parents=True, exist_ok=True)
    running: list[subprocess.Popen[bytes]] = []

    def run(part: str) -> list[Result]:
        log, began = _log(logs, part), time.monotonic()
        _results(logs, part).unlink(missing_ok=True)
        print(f"started {part}: its output goes to {log}", flush=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, part],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        running.append(process)
        while _goes_on(process, _SECONDS_BETWEEN_LINES):
            print(f"running {part}, {time.monotonic() - began:.0f} s", flush=True)
        _signal(process, signal.SIGKILL)
        try:
            read = json.loads(_results(logs, part).read_text())
        except FileNotFoundError:
            why = f"its process ended with status {process.returncode}, see its output"
            read = [asdict(Result(part, False, why))]
        results = [Result(**result) for result in read]
        name = f"{part}: output of {time.monotonic() - began:.0f} s"
        shown = [f"\n======== {name} ========", log.read_text(errors="replace")]
        print(
            "\n".join([*shown, *map(str, results), f"======== end of {part} ========\n"]),
            flush=True,
        )
        return results

    pool = ThreadPoolExecutor(slots)
    try:
        begun = {part: pool.submit(run, part) for part in parts if part in meanwhile}
        set_up()
        begun |= {part: pool.submit(run, part) for part in parts if part not in begun}
        return [result for part in parts for result in begun[part].result()]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            if process.poll() is None:
                _signal(process, signal.SIGINT)
        for process in running:
            _goes_on(process, _SECONDS_TO_END)
            _signal(process, signal.SIGKILL)


def write_results(part: str, results: Sequence[Result], *, logs: Path = LOGS) -> None:
    """Leave the results of a part for the process that runs it."""
    _results(logs, part).write_text(json.dumps([asdict(result) for result in results]))


def _log(logs: Path, part: str) -> Path:
    return logs / f"{part.replace(' ', '-')}.log"


def _results(logs: Path, part: str) -> Path:
    return _log(logs, part).with_suffix(".json")


def _goes_on(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """True if a process has not ended after these seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the session's process group, which keeps its number after the process has ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
