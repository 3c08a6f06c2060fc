# SPDX-License-Identifier: Apache-2.0
"""Some seconds of a camera's life; half an hour: python3 dev.py soak --kind cameras."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from .cameras import soak

SECONDS = float(os.environ.get("SAMEBYTES_SOAK_CAMERAS", "10"))
LONGEST_END = 200
"""Seconds for what comes before and after: less, unless it hangs."""
LONGEST_STOP = 20.0
"""Seconds that a run may take to stop beside whatever else this machine does; less than those for
which a camera is waited for."""


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc here: run it on Linux")
@pytest.mark.slow
def test_nothing_that_a_camera_does_loses_frames_or_time() -> None:
    # Its own process: memory, descriptors and threads of other tests come and go, and the signals
    # are for its main thread.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        report = process.submit(soak, SECONDS, 0, LONGEST_STOP).result(SECONDS + LONGEST_END)
    assert not report.wrong, str(report)
    assert report.recorded
    assert len(report.moods) > 3
    assert report.ends["failed"]
    assert report.ends["interrupted"] + report.ends["stopped"]
