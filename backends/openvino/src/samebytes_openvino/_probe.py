# SPDX-License-Identifier: Apache-2.0
"""The OpenVINO of this machine: its version, its devices, and why there is no GPU or NPU."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Collection, Mapping

from samebytes.errors import MissingDependencyError
from samebytes.plugins import ProbeResult

__all__ = [
    "DEVICES_NEED",
    "HOST_NEEDS",
    "check_for_devices",
    "missing_devices",
    "probe",
    "release",
    "spelled",
]


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


# The plugins are linked to these libraries, and need this function of the second one.
_LEVEL_ZERO = "ze_loader.dll" if sys.platform == "win32" else "libze_loader.so.1"
_NEEDED = "zeCommandListHostSynchronize"  # Level Zero 1.9, ze_api.h


def missing_devices(found: Collection[str]) -> Mapping[str, str]:
    """For "GPU" and "NPU", unless they are among the devices: what is missing, and what to do."""
    kinds = {name.partition(".")[0] for name in found}
    reasons = {"GPU": _why_no_gpu, "NPU": _why_no_npu}
    return {
        f"no {kind}": f"{why()}. For tests without one: samebytes-softdevices run --{kind.lower()} "
        f'-- COMMAND (pip install "samebytes-softdevices[{kind.lower()}]")'
        for kind, why in reasons.items()
        if kind not in kinds
    }


def _why_no_gpu() -> str:
    from .intel_gpu._opencl import LIBRARY  # most never need it

    if _load(LIBRARY) is None:
        return f"{LIBRARY} cannot be loaded: apt install ocl-icd-libopencl1 intel-opencl-icd"
    return (
        f"{LIBRARY} is there, and OpenVINO's GPU plugin takes no device that it shows: install "
        "Intel's driver (apt install intel-opencl-icd), and see `samebytes doctor opencl`"
    )


def _why_no_npu() -> str:
    loader = _load(_LEVEL_ZERO)
    if loader is None:
        return f"{_LEVEL_ZERO} cannot be loaded: apt install libze1, and Intel's NPU driver"
    if not hasattr(loader, _NEEDED):
        return (
            f"{_LEVEL_ZERO} is too old for OpenVINO's NPU plugin (it lacks {_NEEDED}): install a "
            "Level Zero loader of 1.9 or later, which Intel's NPU driver brings"
        )
    return f"{_LEVEL_ZERO} is there, and shows no NPU: see `samebytes doctor level_zero`"


def _load(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


HOST_NEEDS = (2025, 0)
"""For host memory and the CPU."""

DEVICES_NEED = (2026, 4)
"""For remote tensors: what the GPU and NPU plugins do was observed from this version on."""


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: "2026.4.1-22982-abc" gives (2026, 4, 1)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(n) for n in found[0].split(".")) if found else ()


def spelled(numbers: tuple[int, ...]) -> str:
    """The numbers as OpenVINO writes them: "2026.4"."""
    return ".".join(map(str, numbers))


def check_for_devices() -> None:
    """Raise where OpenVINO is too old for remote contexts and tensors.

    Raises:
        MissingDependencyError: it is; host memory can still be used.
    """
    import openvino

    if release(openvino.__version__) < DEVICES_NEED:
        raise MissingDependencyError(
            "openvino",
            f"openvino {spelled(DEVICES_NEED)} or later, which its GPU and NPU contexts need "
            f"(found {openvino.__version__})",
            f'pip install --upgrade "openvino>={spelled(DEVICES_NEED)}"',
        )
