# SPDX-License-Identifier: Apache-2.0
"""A cluster of two nodes, in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

import pytest

pytest.importorskip("ray", reason="missing package ray: pip install ray")

_FOLDER = Path(__file__).parent / "cluster"
_SECONDS = 240


class Driver(Protocol):
    """A function that runs one of tests/cluster/scenarios.py in the process connected to Ray."""

    def __call__(self, scenario: str) -> None:
        """Run the scenario, which must not raise."""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Start the cluster when the first test needs it, and end it.

    Ray stays out of this process: other tests would fork the threads that it leaves running.
    """
    folder = tmp_path_factory.mktemp("ray")
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        # It holds sockets, whose paths must be short.
        "RAY_TMPDIR": "/tmp",
        "PYTHONPATH": os.pathsep.join([str(_FOLDER), os.environ.get("PYTHONPATH", "")]),
        "SAMEBYTES_RAY_TESTS": str(folder),
    }
    with subprocess.Popen(
        [sys.executable, str(_FOLDER / "driver.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        start_new_session=True, cwd=folder,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        answers: SimpleQueue[str] = SimpleQueue()

        def listen() -> None:
            for line in process.stdout or ():
                answers.put(line)
            answers.put("")

        threading.Thread(target=listen, daemon=True).start()

        def answer() -> str:
            try:
                return answers.get(timeout=_SECONDS)
            except Empty:
                return ""

        def run(scenario: str) -> None:
            assert process.stdin is not None
            print(scenario, file=process.stdin, flush=True)
            found = answer()
            assert found, f"{scenario} did not end, or ended its process"
            text = json.loads(found)
            assert not text, text

        try:
            assert answer() == "ready\n", "the cluster did not start"
            yield run
            process.stdin.close()
            process.wait(60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
