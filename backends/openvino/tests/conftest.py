# SPDX-License-Identifier: Apache-2.0
"""Devices of OpenVINO, backends of other distributions, and edges by their names."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import openvino
import pytest

from samebytes.plugins import ProbeResult
from samebytes.testing import missing_device


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


@pytest.fixture
def probe() -> Callable[[], ProbeResult]:
    """The probe that the plugin declares, in this process: `samebytes.probe` runs it in a child."""
    (plugin,) = entry_points(group="samebytes.plugins", name="openvino")
    module, _, name = plugin.load().PLUGIN.probe.partition(":")
    found: Callable[[], ProbeResult] = getattr(import_module(module), name)
    return found


@pytest.fixture
def edge() -> Callable[[str, Any, Any], Any]:
    """One edge by the name of its class, for use by hand: edge(name, source, target)."""

    def make(name: str, source: Any, target: Any) -> Any:
        (plugin,) = entry_points(group="samebytes.plugins", name="openvino")
        declared = plugin.load().samebytes_mappers()
        (spec,) = [spec for spec in declared if spec.mapper.endswith(f":{name}")]
        module, _, kind = spec.mapper.partition(":")
        return getattr(import_module(module), kind)(spec, source, target)

    return make


@pytest.fixture(params=["CPU", "GPU", "NPU"])
def device(request: pytest.FixtureRequest) -> str:
    """A device that OpenVINO sees."""
    name: str = request.param
    found = openvino.Core().available_devices
    if not any(one.partition(".")[0] == name for one in found):
        pytest.skip(missing_device(name))
    return name
