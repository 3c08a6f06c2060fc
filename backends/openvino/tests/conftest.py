# SPDX-License-Identifier: Apache-2.0
"""Backends of other distributions, which tests of the ways to them need."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def level_zero_plugin() -> None:
    """The memory type of Level Zero, or the test is skipped."""
    pytest.importorskip(
        "samebytes_npu_level_zero",
        reason="missing package samebytes-npu-level-zero: pip install samebytes-npu-level-zero",
    )


@pytest.fixture(scope="session")
def opencl_plugin() -> None:
    """The memory type of OpenCL, or the test is skipped."""
    pytest.importorskip(
        "samebytes_gpu_opencl",
        reason="missing package samebytes-gpu-opencl: pip install samebytes-gpu-opencl",
    )
