# SPDX-License-Identifier: Apache-2.0
"""The answers of `samebytes doctor vaapi`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from samebytes.errors import MissingDependencyError
from samebytes_vaapi import VAAPIContext, _displays, _probe


def missing(*_: Any) -> Any:
    raise MissingDependencyError("vaapi", "libva.so.2", "apt install libva2")


def test_what_is_there(context: VAAPIContext, node: str) -> None:
    found = _probe.probe()
    assert found.usable
    assert context.device.name in found.reason
    assert "NV12" in found.details[f"{node} surfaces"].split(", ")
    assert "VA-API 1." in found.details[node]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "exported as DMA-BUFs, in rows; mapped to the CPU"),
        ({"SOFTVA_TILING": "y"}, "tiled 0x100000000000002; copied to the CPU: "),
        ({"SOFTVA_FAIL": "vaExportSurfaceHandle"}, "not exported: vaExportSurfaceHandle failed"),
        ({"SOFTVA_FAIL": "vaCreateSurfaces"}, "no NV12: vaCreateSurfaces failed"),
    ],
)
def test_what_drivers_do(
    software: Callable[..., VAAPIContext], options: dict[str, str], said: str
) -> None:
    assert said in _probe._details("node", software(**options))["node memory"]


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probe, "load", missing)
    found = _probe.probe()
    assert (found.usable, found.reason) == (False, "libva.so.2 is missing")
    assert found.hint == "apt install libva2"


@pytest.mark.usefixtures("device", "render_nodes")
def test_no_node() -> None:
    found = _probe.probe()
    assert not found.usable
    assert "no " in found.reason
    assert "samebytes-softdevices run --vaapi" in found.hint


@pytest.mark.usefixtures("device")
def test_nodes_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_displays.ENVIRONMENT, "/dev/zero")
    found = _probe.probe()
    assert not found.usable
    assert "not a DRM node" in found.reason
    assert found.hint
    monkeypatch.setattr(_displays, "open_drm", missing)
    found = _probe.probe()
    assert (found.usable, found.reason) == (False, "libva.so.2 is missing")
    assert found.details["/dev/zero"] == "libva.so.2 is missing"
