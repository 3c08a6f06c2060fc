# SPDX-License-Identifier: Apache-2.0
"""Can OpenVINO be used on this machine?"""

from __future__ import annotations

import re

from samebytes.plugins import ProbeResult

from ._missing_devices import missing_devices

__all__ = ["MINIMUM", "probe"]

MINIMUM = (2026, 4)
"""The oldest OpenVINO whose behaviour this backend was written for."""


def probe() -> ProbeResult:
    """Look for OpenVINO, its version and its CPU plugin."""
    try:
        import openvino
    except ImportError as error:
        return ProbeResult(
            usable=False,
            reason=f"openvino cannot be imported: {error}",
            hint='pip install "samebytes[openvino]"',
        )
    version = openvino.__version__
    if release(version) < MINIMUM:
        return ProbeResult(
            usable=False,
            reason=f"openvino {version} is older than {'.'.join(map(str, MINIMUM))}",
            hint="pip install --upgrade openvino",
            details={"version": version},
        )
    devices = openvino.Core().available_devices
    details = {"version": version, "devices": ", ".join(devices), **missing_devices(devices)}
    if "CPU" not in devices:
        return ProbeResult(
            usable=False,
            reason="OpenVINO lists no CPU device",
            hint="pip install --force-reinstall openvino",
            details=details,
        )
    return ProbeResult(usable=True, reason=f"openvino {version}", details=details)


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: "2026.4.1-22982-abc" gives (2026, 4, 1)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(n) for n in found[0].split(".")) if found else ()
