# SPDX-License-Identifier: Apache-2.0
"""Nothing is left over when mappings are dropped: descriptors, device memory, contexts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("devices", "cuda_device")
def test_nothing_is_left_over(tmp_path: Path) -> None:
    """In its own process, since a driver's trace is switched on when it is loaded."""
    pytest.importorskip(
        "samebytes_softdevices",
        reason="missing package samebytes-softdevices: pip install samebytes-softdevices",
    )
    trace = tmp_path / "trace"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.matrix.rounds", str(trace), "3"],
        cwd=ROOT, env={**os.environ, "SOFTNPU_TRACE": str(trace)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # What is made once, such as queues and caches, is made in the first round or the second.
    _, second, third = map(json.loads, done.stdout.splitlines())
    assert trace.read_text().count("mem_alloc") > 100
    assert second["imports of the GPU"] == second["memory of CUDA"] == 0
    assert third == second
