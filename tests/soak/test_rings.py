# SPDX-License-Identifier: Apache-2.0
"""Seconds of the soak of rings; longer by hand: python3 dev.py soak --kind ring --seconds 1800."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from .rings import RingReport, check_flat, soak

SECONDS = float(os.environ.get("SAMEBYTES_SOAK_SECONDS", "20"))
LONGEST_END = 600
"""Seconds for what comes before and after: less, unless it hangs."""


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc here: run it on Linux")
@pytest.mark.slow
def test_every_frame_is_accounted_for_with_readers_that_are_killed() -> None:
    # Its own process: in that of all tests, memory comes and goes that is not the ring's.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        report = process.submit(soak, SECONDS, 0, 5 * SECONDS).result(5 * SECONDS + LONGEST_END)
    assert not report.wrong, str(report)
    assert report.is_telling, str(report)
    assert report.received_of_killed, str(report)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"descriptors": [*range(100)]}, "descriptors grew"),
        ({"memory": [n << 20 for n in range(100)]}, "memory grew"),
        ({"files": [1] * 70 + [2] * 30}, "files grew"),
    ],
)
def test_what_grows_is_noticed(values: dict[str, Any], expected: str) -> None:
    report = RingReport(**values)
    check_flat(report)
    assert expected in str(report)
