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
# Without one of them others copy, or have no way.
TOGETHER = {"cuda", "dma", "ffmpeg", "level_zero", "opencl", "opencv", "sycl", "vaapi"}


def test_every_check_of_every_device() -> None:
    """Without devices, and with the core alone, there is less to check."""
    complete = {plugin.name for plugin in samebytes.installed_plugins()} >= TOGETHER
    for node in device_nodes():
        try:
            if opened(node).device.kind == "CPU":
                continue
        except (NotOfferedError, samebytes.SamebytesError):
            continue
        for check in checks_of(node):
            found, expected = _found(node, check), _expected(node, check)
            if complete and found != "not offered":
                assert found == expected, (node, check)
            # A way that all plugins together lack is not there with fewer of them.
            assert (found, expected) != ("in place", "refused"), (node, check)


def _expected(node: str, check: str) -> str:
    if (node, check) in REFUSED:
        return "refused"
    return "with a copy" if (node, check) in COPIED else "in place"


def _found(node: str, check: str) -> str:
    try:
        how = run_check(node, check)
    except NotOfferedError:
        return "not offered"
    except samebytes.errors.RouteError:
        return "refused"
    return "with a copy" if how == "with a copy" else "in place"


def test_devices_of_one_plugin() -> None:
    assert device_nodes(["cpu"]) == []
    installed = [p.name for p in samebytes.installed_plugins()]
    if "level_zero" in installed:
        assert device_nodes(["level_zero"]) == ["level_zero"]
        assert checks_of("level_zero")[:2] == ["memory", "frame"]
