# SPDX-License-Identifier: Apache-2.0
"""Tests talk to this machine only: OpenVINO's telemetry is off in them."""

from __future__ import annotations

import subprocess
import sys

IMPORT = """
import threading
import openvino
try:
    from openvino_telemetry import Telemetry
except ImportError:  # an installation without it sends nothing
    raise SystemExit(0)
assert not Telemetry().consent
assert threading.active_count() == 1, threading.enumerate()
"""


def test_importing_openvino_in_a_test_sends_nothing() -> None:
    subprocess.run([sys.executable, "-c", IMPORT], check=True, timeout=60)
