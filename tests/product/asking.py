# SPDX-License-Identifier: Apache-2.0
"""Workers on software devices: they are asked for one case after another, and may die."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from .cases import Case
from .rules import known

__all__ = ["Outcome", "outcomes"]

_SECONDS = 180
"""For one case, the first use of every framework included."""
_DEVICES = ("--gpu", "--npu", "--vaapi")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case.

    Attributes:
        case: the case.
        failed: what went wrong; "" where nothing did.
    """

    case: Case
    failed: str

    @property
    def as_known(self) -> bool:
        """True if the table of what fails today says so."""
        entry = known(self.case)
        return bool(entry) == bool(self.failed) or (entry is not None and entry.sometimes)


def outcomes(cases: Iterable[Case]) -> Iterator[Outcome]:
    """Yield the outcome of each case, in their order.

    Args:
        cases: the cases.
    """
    worker = None
    try:
        for case in cases:
            if worker is None:
                worker = _worker()
            failed = _asked(worker, case)
            if failed is None:
                _end(worker)
                failed, worker = _how_it_ended(worker), None
            yield Outcome(case, failed)
    finally:
        if worker is not None:
            _end(worker, seconds=60)


def _worker() -> subprocess.Popen[bytes]:
    software = [sys.executable, "-m", "samebytes_softdevices", "run", *_DEVICES, "--"]
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": "/tmp",  # sockets lie in it, whose names may not be long
        # OpenVINO reports its use to others where it sees no CI.
        "JENKINS_URL": os.environ.get("JENKINS_URL") or "http://localhost/",
    }
    return subprocess.Popen(
        [*software, sys.executable, "-m", "tests.product.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True,
    )  # fmt: skip


def _asked(worker: subprocess.Popen[bytes], case: Case) -> str | None:
    """Return what went wrong; None if the worker hangs or has ended."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    with suppress(BrokenPipeError):
        worker.stdin.write(f"{case}\n".encode())
        worker.stdin.flush()
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        if not selector.select(_SECONDS):
            return None
    line = worker.stdout.readline()
    return str(json.loads(line)) if line else None


def _how_it_ended(worker: subprocess.Popen[bytes]) -> str:
    if worker.returncode == -signal.SIGKILL:
        return f"it did not end in {_SECONDS} seconds"
    return f"it ended the process: {worker.returncode}"


def _end(worker: subprocess.Popen[bytes], seconds: float = 0) -> None:
    assert worker.stdin is not None
    with suppress(BrokenPipeError):
        worker.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        worker.wait(seconds or 1)
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
