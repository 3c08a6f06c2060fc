# SPDX-License-Identifier: Apache-2.0
"""The devices that tests of several distributions share."""

from __future__ import annotations

from collections.abc import Iterator

import openvino
import pytest

import samebytes
from samebytes.testing import missing_device

_DEVICE_NODES = (
    "dma", "opencl", "opencv_umat", "level_zero", "openvino:GPU", "openvino:NPU",
    "vaapi", "ffmpeg:DRM", "ffmpeg:VAAPI", "gstreamer", "sycl",
)  # fmt: skip


@pytest.fixture(scope="session")
def devices() -> Iterator[None]:
    """All devices, whose contexts live as long as the tests; without them, tests are skipped."""
    found = openvino.Core().available_devices
    for kind in ("GPU", "NPU"):
        if not any(name.startswith(kind) for name in found):
            pytest.skip(missing_device(kind))
    try:
        samebytes.context("vaapi")
    except samebytes.SamebytesError:
        pytest.skip(missing_device("VAAPI"))
    held = [samebytes.context(node) for node in _DEVICE_NODES]
    yield
    held.clear()


@pytest.fixture(scope="session")
def cuda_device() -> Iterator[None]:
    """A CUDA device, whose context lives as long as the tests; without it, tests are skipped."""
    try:
        held = samebytes.context("cuda")
    except samebytes.SamebytesError:
        pytest.skip(missing_device("CUDA"))
    yield
    del held


@pytest.fixture(autouse=True)
def no_copies_yet() -> None:
    """Reset the statistics, so that each test counts its own copies."""
    samebytes.reset_stats()
