# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of the distribution share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

# The variables that software devices set; a test that switches them on must begin without them.
_SET = (
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "OPENCL_LAYERS", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"),
    *("LIBVA_DRIVERS_PATH", "LIBVA_DRIVER_NAME", "SAMEBYTES_VAAPI_DEVICE"),
)


@pytest.fixture
def plain_environment() -> dict[str, str]:
    """The environment without software devices."""
    return {name: value for name, value in os.environ.items() if name not in _SET}


@pytest.fixture
def run(plain_environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command without a device, with additional variables."""

    def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={**plain_environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
