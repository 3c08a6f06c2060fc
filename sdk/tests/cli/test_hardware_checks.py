# SPDX-License-Identifier: Apache-2.0
"""The checks of `samebytes doctor --hardware-report` on every software device, in this process."""

from __future__ import annotations

import samebytes
from samebytes._hardware.checks import NotOfferedError, checks_of, device_nodes, opened, run_check

# What no software device can do, and who says so.
REFUSED = {
    ("level_zero", "to dma"): "CopyRequiredError",
    ("level_zero", "to sycl"): "CopyRequiredError",
    ("opencl", "to dma"): "NoRouteError",
    ("opencl", "to opencv_umat"): "CopyRequiredError",
    ("opencl", "to sycl"): "CopyRequiredError",
    ("sycl", "from cpu"): "NoRouteError",
}
COPIED = {("cuda", "memory"), ("cuda", "frame"), ("ffmpeg:CUDA", "frame")}


def test_every_check_of_every_device() -> None:
    """Without devices, and with the core alone, there is less to check."""
    for node in device_nodes():
        try:
            if opened(node).device.kind == "CPU":
                continue
        except (NotOfferedError, samebytes.SamebytesError):
            continue
        for check in checks_of(node):
            assert _found(node, check) in (REFUSED.get((node, check), "passed"), "not offered")


def _found(node: str, check: str) -> str:
    try:
        how = run_check(node, check)
    except NotOfferedError:
        return "not offered"
    except samebytes.SamebytesError as error:
        return type(error).__name__
    assert (how == "with a copy") == ((node, check) in COPIED), (node, check)
    return "passed"


def test_devices_of_one_plugin() -> None:
    assert device_nodes(["cpu"]) == []
    installed = [p.name for p in samebytes.installed_plugins()]
    if "level_zero" in installed:
        assert device_nodes(["level_zero"]) == ["level_zero"]
        assert checks_of("level_zero")[:2] == ["memory", "frame"]
