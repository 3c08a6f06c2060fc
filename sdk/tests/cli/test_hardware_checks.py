# SPDX-License-Identifier: Apache-2.0
"""The checks of `samebytes doctor --hardware-report` on every software device, in this process."""

from __future__ import annotations

import samebytes
from samebytes._hardware.checks import NotOfferedError, checks_of, device_nodes, opened, run_check

# Ways that no software device has; whether a copy would do depends on the plugins there are.
REFUSED = {
    ("level_zero", "to dma"), ("level_zero", "to sycl"), ("opencl", "to dma"),
    ("opencl", "to opencv_umat"), ("opencl", "to sycl"), ("sycl", "from cpu"),
}  # fmt: skip
COPIED = {("cuda", "memory"), ("cuda", "frame"), ("ffmpeg:CUDA", "frame")}
if "vaapi" not in [plugin.name for plugin in samebytes.installed_plugins()]:
    COPIED.add(("ffmpeg:VAAPI", "frame"))  # that plugin alone maps surfaces


def test_every_check_of_every_device() -> None:
    """Without devices, and with the core alone, there is less to check."""
    for node in device_nodes():
        try:
            if opened(node).device.kind == "CPU":
                continue
        except (NotOfferedError, samebytes.SamebytesError):
            continue
        for check in checks_of(node):
            expected = "refused" if (node, check) in REFUSED else "passed"
            assert _found(node, check) in (expected, "not offered"), (node, check)


def _found(node: str, check: str) -> str:
    try:
        how = run_check(node, check)
    except NotOfferedError:
        return "not offered"
    except samebytes.errors.RouteError:
        return "refused"
    assert (how == "with a copy") == ((node, check) in COPIED), (node, check)
    return "passed"


def test_devices_of_one_plugin() -> None:
    assert device_nodes(["cpu"]) == []
    installed = [p.name for p in samebytes.installed_plugins()]
    if "level_zero" in installed:
        assert device_nodes(["level_zero"]) == ["level_zero"]
        assert checks_of("level_zero")[:2] == ["memory", "frame"]
