# SPDX-License-Identifier: Apache-2.0
"""Nothing is left over when mappings are dropped: descriptors, device memory, contexts."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .sources import IMAGES, SOURCES

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


@pytest.mark.usefixtures("devices")
def test_a_surface_that_is_published_while_others_read_it_is_freed() -> None:
    """There is a driver of OpenCL that never frees a buffer which is mapped again too early."""

    def publish() -> None:
        surface = SOURCES["vaapi"].make(IMAGES["NV12"])
        buffers = surface.map("opencl", "rw")
        reading, writing = buffers.map("cpu", "r"), buffers.map("cpu", "w")
        writing.flush()
        writing.close()
        del reading

    def mapped() -> int:
        gc.collect()
        return Path("/proc/self/maps").read_text().count("/memfd:")

    for _ in range(3):
        publish()
    before = mapped()
    for _ in range(10):
        publish()
    assert mapped() == before
