# SPDX-License-Identifier: Apache-2.0
"""Seconds of a live ring at its highest rate; longer: python3 dev.py soak --kind live."""

from __future__ import annotations

import os
import sys

import pytest

from .live import soak

SECONDS = float(os.environ.get("SAMEBYTES_SOAK_LIVE", "3"))


@pytest.mark.skipif(sys.platform != "linux", reason="rings are of Linux: run it there")
@pytest.mark.parametrize("size", [(64, 48), (640, 360)])
def test_every_frame_is_right_or_left_out(size: tuple[int, int]) -> None:
    report = soak(SECONDS, size)
    assert not report.wrong, str(report)
    assert all(received > 50 for received in report.received), str(report)
    assert sum(report.left_out), str(report)
