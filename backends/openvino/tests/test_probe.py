# SPDX-License-Identifier: Apache-2.0
"""Is OpenVINO usable here?"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import openvino
import pytest

import samebytes as sb
from samebytes.errors import MissingDependencyError
from samebytes.plugins import ProbeResult
from samebytes_openvino.intel_gpu import D3DContext

Probe = Callable[[], ProbeResult]
NO_DEVICES = "no GPU, no NPU"


@pytest.fixture
def only_a_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """OpenVINO finds no other device; its devices can be set."""

    class Core:
        available_devices = ("CPU",)

    monkeypatch.setattr(openvino, "Core", Core)
    return Core


def test_it_is(probe: Probe) -> None:
    result = probe()
    assert result.usable
    assert "CPU" in result.details["devices"]
    assert result.reason == f"openvino {openvino.__version__}"


def test_it_is_in_a_child_process() -> None:
    assert sb.probe("openvino", timeout=60).usable


@pytest.mark.parametrize("version", ["2024.6.0-1", "2024.12", "custom"])
def test_too_old(version: str, probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "__version__", version)
    result = probe()
    assert not result.usable
    assert f"openvino {version} is older than 2025.0" in result.reason
    assert result.hint


@pytest.mark.parametrize("version", ["2025.0", "2025.4.1-20426", "2026.3.9"])
def test_old_enough_for_host_memory_alone(
    version: str, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino, "__version__", version)
    result = probe()
    assert result.usable
    assert "2026.4 or later" in result.details[NO_DEVICES]
    # As contexts of both devices begin.
    said = rf"2026\.4 or later, which its GPU and NPU contexts need \(found {version}\)"
    with pytest.raises(MissingDependencyError, match=said):
        D3DContext(None, None, sb.Device("GPU"), {})


@pytest.mark.parametrize("version", ["2026.4", "2026.4.1-22982-abc", "2026.10", "2027.0"])
def test_new_enough_for_devices(
    version: str, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino, "__version__", version)
    assert NO_DEVICES not in probe().details
    assert D3DContext(None, None, sb.Device("GPU"), {}).device.kind == "GPU"


def test_without_a_cpu_plugin(only_a_cpu: Any, probe: Probe) -> None:
    only_a_cpu.available_devices = ("GPU",)
    result = probe()
    assert not result.usable
    assert result.hint


def test_each_missing_device_is_explained(
    only_a_cpu: Any, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    reported = probe().details
    assert "apt install ocl-icd-libopencl1" in reported["no GPU"]
    assert "apt install libze1" in reported["no NPU"]
    for kind in ("GPU", "NPU"):
        assert f"samebytes-softdevices run --{kind.lower()} -- COMMAND" in reported[f"no {kind}"]
        assert f'"samebytes-softdevices[{kind.lower()}]"' in reported[f"no {kind}"]
    only_a_cpu.available_devices = ("CPU", "GPU.0", "GPU.1", "NPU")
    assert not {"no GPU", "no NPU"} & probe().details.keys()


def test_libraries_that_show_no_device(
    only_a_cpu: Any, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert only_a_cpu

    needed = "zeCommandListHostSynchronize"  # of Level Zero's loader, by OpenVINO
    functions = {needed: None}
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(**functions))
    reported = probe().details
    assert "samebytes doctor opencl" in reported["no GPU"]
    assert "shows no NPU" in reported["no NPU"]
    del functions[needed]
    assert "too old" in probe().details["no NPU"]


def test_missing(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    result = probe()
    assert not result.usable
    assert "samebytes[openvino]" in result.hint


def test_public_names() -> None:
    import samebytes_openvino

    for name in samebytes_openvino.__all__:
        found: Any = getattr(samebytes_openvino, name)
        assert found.__doc__
    with pytest.raises(AttributeError, match="InferReqest"):
        _ = samebytes_openvino.InferReqest  # type: ignore[attr-defined]
    assert set(samebytes_openvino.__all__) < set(dir(samebytes_openvino))
