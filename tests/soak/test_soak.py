# SPDX-License-Identifier: Apache-2.0
"""A minute of the soak of pipelines; longer by hand: python3 dev.py soak --seconds 1800."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from .pipelines import Report, _check_flat, soak

SECONDS = float(os.environ.get("SAMEBYTES_SOAK_SECONDS", "60"))

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="no /proc here")


@needs_proc
@pytest.mark.slow
def test_every_frame_is_accounted_for_and_nothing_grows() -> None:
    report = soak(SECONDS)
    assert not report.wrong, str(report)
    assert report.runs > 5
    assert report.failed
    assert report.reconnected


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
