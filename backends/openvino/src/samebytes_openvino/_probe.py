# SPDX-License-Identifier: Apache-2.0
"""Can OpenVINO be used on this machine?"""

from __future__ import annotations

from samebytes.plugins import ProbeResult

from ._missing_devices import missing_devices
from ._version import DEVICES_NEED, HOST_NEEDS, release, spelled

__all__ = ["probe"]


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
    if release(version) < HOST_NEEDS:
        return ProbeResult(
            usable=False,
            reason=f"openvino {version} is older than {spelled(HOST_NEEDS)}",
            hint="pip install --upgrade openvino",
            details={"version": version},
        )
    devices = openvino.Core().available_devices
    details = {"version": version, "devices": ", ".join(devices)}
    if release(version) < DEVICES_NEED:
        details["no GPU, no NPU"] = f"their contexts need openvino {spelled(DEVICES_NEED)} or later"
    else:
        details |= missing_devices(devices)
    if "CPU" not in devices:
        return ProbeResult(
            usable=False,
            reason="OpenVINO lists no CPU device",
            hint="pip install --force-reinstall openvino",
            details=details,
        )
    return ProbeResult(usable=True, reason=f"openvino {version}", details=details)
