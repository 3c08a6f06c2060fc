# SPDX-License-Identifier: Apache-2.0
"""Some seconds of the soak of pipelines; longer by hand: python3 dev.py soak --seconds 1800."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

import samebytes as sb
from samebytes import metadata

from .pipelines import Report, _check_flat, _out_of_order, soak

SECONDS = float(os.environ.get("SAMEBYTES_SOAK_SECONDS", "25"))
LONGEST_END = 600
"""Seconds for what comes before and after: less, unless it hangs."""

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="no /proc here: run it on Linux")


@needs_proc
@pytest.mark.slow
def test_every_frame_is_accounted_for_and_nothing_grows() -> None:
    # Its own process: in that of all tests, memory, descriptors and threads come and go that are
    # not the pipelines'.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        report = process.submit(soak, SECONDS).result(SECONDS + LONGEST_END)
    assert not report.wrong, str(report)
    assert report.runs > 5
    assert report.failed
    assert report.reconnected
    assert report.broken_off


def test_frames_in_disorder_are_noticed() -> None:
    latest: dict[int, Fraction] = {}
    for stream, pts, expected in (
        (0, 1, ""), (1, 0, ""), (0, 2, ""),
        (1, 0, "stream 1: the frame of 0 s comes after that of 0 s"),
        (0, 1, "stream 0: the frame of 1 s comes after that of 2 s"),
    ):  # fmt: skip
        frame = sb.context("cpu").allocate_frame("GRAY8", 16, 8)
        frame.meta.pts = pts
        metadata.add(frame, metadata.SourceIdentifier(stream_id=stream))
        found = _out_of_order(frame, latest)
        assert found.startswith(expected) if expected else not found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"descriptors": [5, 6, 7]}, "descriptors: 5 at first, 7 at the end"),
        ({"threads": [1, 2]}, "threads: 1 at first, 2 at the end"),
        ({"memory": [n << 20 for n in range(100)]}, "memory grew by"),
    ],
)
def test_what_grows_is_noticed(values: dict[str, Any], expected: str) -> None:
    report = Report(**values)
    _check_flat(report)
    assert expected in str(report)
