# SPDX-License-Identifier: Apache-2.0
"""Is OpenVINO usable here?"""

from __future__ import annotations

import sys
from typing import Any

import openvino
import pytest

import samebytes as sb
from samebytes.errors import MissingDependencyError
from samebytes_openvino import _probe
from samebytes_openvino._probe import (
    DEVICES_NEED,
    check_for_devices,
    missing_devices,
    probe,
    release,
)
from samebytes_openvino._remote._context import RemoteContext
from samebytes_openvino.intel_gpu import _opencl


def test_it_is() -> None:
    result = probe()
    assert result.usable
    assert "CPU" in result.details["devices"]


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2026.4.1-22982-abc", (2026, 4, 1)), ("2027.0", (2027, 0)), ("custom", ())],
)
def test_versions(version: str, numbers: tuple[int, ...]) -> None:
    assert release(version) == numbers


def test_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "__version__", "2024.6.0-1")
    result = probe()
    assert not result.usable
    assert "older than 2025.0" in result.reason
    assert result.hint


def test_old_enough_for_host_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "__version__", "2025.4.1-20426")
    result = probe()
    assert result.usable
    assert "2026.4 or later" in result.details["no GPU, no NPU"]
    with pytest.raises(MissingDependencyError, match=r"2026\.4 or later.*found 2025\.4\.1"):
        check_for_devices()
    # As contexts of both devices begin.
    with pytest.raises(MissingDependencyError, match="GPU and NPU contexts"):
        RemoteContext(None, None, sb.Device("GPU"), {})


@pytest.mark.skipif(
    release(openvino.__version__) < DEVICES_NEED,
    reason="this OpenVINO is for host memory alone: pip install --upgrade openvino",
)
def test_new_enough_for_devices() -> None:
    check_for_devices()
    assert "no GPU, no NPU" not in probe().details


def test_without_a_cpu_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Core:
        available_devices = ("GPU",)

    monkeypatch.setattr(openvino, "Core", Core)
    result = probe()
    assert not result.usable
    assert result.hint


def test_each_missing_device_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not missing_devices(("CPU", "GPU.0", "GPU.1", "NPU"))
    monkeypatch.setattr(_opencl, "LIBRARY", "libNoSuchOpenCL.so.1")
    monkeypatch.setattr(_probe, "_LEVEL_ZERO", "libno_such_loader.so.1")
    reported = missing_devices(("CPU",))
    assert "apt install ocl-icd-libopencl1" in reported["no GPU"]
    assert "apt install libze1" in reported["no NPU"]
    for kind in ("GPU", "NPU"):
        assert f"samebytes-softdevices run --{kind.lower()} -- COMMAND" in reported[f"no {kind}"]
        assert f'"samebytes-softdevices[{kind.lower()}]"' in reported[f"no {kind}"]


def test_a_loader_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probe, "_LEVEL_ZERO", "libc.so.6")
    assert "too old" in missing_devices(("CPU", "GPU"))["no NPU"]


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
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
