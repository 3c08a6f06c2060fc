# SPDX-License-Identifier: Apache-2.0
"""Surfaces of VA-API in OpenCL: the way over DMA-BUFs is found by itself, on one GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebytes
import samebytes_gpu_opencl
from samebytes.errors import MissingDependencyError
from samebytes.testing import missing_device

NO_DISPLAY = missing_device("VAAPI")
NO_DEVICE = missing_device("GPU")


@pytest.fixture
def display(device_name: str) -> Any:
    """A VA display on the GPU that the OpenCL device is, as far as can be seen."""
    for package in ("samebytes_dma", "samebytes_vaapi"):
        pytest.importorskip(
            package, reason=f"missing package {package}: pip install {package.replace('_', '-')}"
        )
    if not device_name.startswith("GPU"):
        pytest.skip(NO_DEVICE)
    try:
        return samebytes.context("vaapi")
    except MissingDependencyError:
        pytest.skip(NO_DISPLAY)


def test_the_context_is_that_of_the_displays_gpu(display: Any) -> None:
    derived = display.derive("opencl")
    assert isinstance(derived, samebytes_gpu_opencl.OpenCLContext)
    assert derived is display.derive("opencl")
    assert derived.device.same(display.device) is not False


def test_a_surface_in_opencl(display: Any) -> None:
    frame = display.allocate_frame("NV12", 64, 64)
    frame.meta.pts = 7
    route = samebytes.route(frame, "opencl")
    assert [hop.spec.name for hop in route.hops] == ["vaapi -> dma", "dma -> opencl"]
    samebytes.reset_stats()
    mapped = frame.map("opencl", "rw")
    assert (mapped.pts, mapped.image) == (7, frame.image)
    with mapped.planes[1].map("cpu", "w") as view:
        view.native[...] = 9
    mapped.close()
    assert np.unique(frame.map("cpu").planes[1].native).tolist() == [9]
    assert samebytes.stats().copies == 0
