# SPDX-License-Identifier: Apache-2.0
"""Can SYCL be used on this machine? If not, what is missing, and how it is got."""

from __future__ import annotations

from samebytes.plugins import ProbeResult

__all__ = ["NO_DEVICE", "probe"]

NO_DEVICE = (
    "Intel GPU: apt install intel-opencl-icd libze-intel-gpu1; CPU: pip install intel-opencl-rt, "
    "and name its libintelocl.so in OCL_ICD_FILENAMES"
)
"""Advice for when SYCL finds no device."""


def probe() -> ProbeResult:
    """Look for dpctl and for devices."""
    try:
        import dpctl
    except ImportError as error:
        return ProbeResult(
            usable=False,
            reason=f"dpctl cannot be imported: {error}",
            hint='pip install "samebytes[sycl]"',
        )
    details = {"dpctl": dpctl.__version__}
    found = dpctl.get_devices()
    if not found:
        return ProbeResult(
            usable=False, reason="SYCL finds no device", hint=NO_DEVICE, details=details
        )
    details["devices"] = ", ".join(f"{d.filter_string}: {d.name.strip()}" for d in found)
    return ProbeResult(usable=True, reason=f"dpctl {dpctl.__version__}", details=details)
