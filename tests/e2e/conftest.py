# SPDX-License-Identifier: Apache-2.0
"""Programs as their users run them: each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openvino
import pytest

from samebytes.testing import missing_device

_PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def device() -> Callable[..., None]:
    """Skip a test if OpenVINO sees no device of a kind, or no software device if that is needed."""
    core = openvino.Core()
    names = core.available_devices

    def need(kind: str, software: bool = False) -> None:
        found = [name for name in names if name.partition(".")[0] == kind]
        if software:
            found = [n for n in found if "software" in core.get_property(n, "FULL_DEVICE_NAME")]
        if not found:
            pytest.skip(missing_device(kind))

    return need


@pytest.fixture(scope="session")
def run_program() -> Callable[..., str]:
    """Run a program of this folder to its end, and return its output."""

    def run(name: str, *arguments: Any, **environment: Any) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", _PROGRAMS / name, *map(str, arguments)],
            env={**os.environ, **{key: str(value) for key, value in environment.items()}},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
